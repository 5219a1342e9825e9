"""Writes a file that the user named: whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import InvalidArgument, WriteFailed
from ..store.beside import replace_beside


def check_out(path: Path) -> None:
    """Before any work: the folder must be there and the path must not be one.

    Raises:
        InvalidArgument: it cannot become a file.
    """
    if path.is_dir():
        raise InvalidArgument("--out names a folder.", next="Name a file in it.")
    if not path.absolute().parent.is_dir():
        raise InvalidArgument("The folder of --out does not exist.", next="Make it first, or name another place.")


def write_json(path: Path, value: Any) -> None:
    """Write to a file beside it, flush, then take its place: a reader sees the old file or the new one.

    Text is kept readable as UTF-8; only where a string has half a surrogate pair is the file ASCII.

    Raises:
        WriteFailed: the disk refused; what stood there still stands.
    """
    try:
        data = json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        data = json.dumps(value).encode()
    try:
        replace_beside(path, data + b"\n")
    except OSError as error:
        raise WriteFailed(
            f"--out could not be written ({error.strerror}); what stood there before still does.",
            next="Make room or name another place; the compaction itself is in the store.",
        ) from error
