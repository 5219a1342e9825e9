"""Files outside our store, which users and hosts own: replaced whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace_beside(path: Path, data: bytes) -> None:
    """Write to a file beside it, flush, then take its place: a reader sees the old file or the new one.
    Permissions stay; those of a new file are its owner's alone.

    Raises:
        OSError: what stood there still stands.
    """
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    descriptor, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name[:40]}.")
    beside = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(mode)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


__all__ = ["replace_beside"]
