"""What the system's errors mean for a caller, in words. Only errno goes in: never stored text."""

from __future__ import annotations

import errno

from ..errors import StoreUnusable, WriteFailed

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FORBIDDEN = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_TOO_MANY = frozenset({errno.EMFILE, errno.ENFILE})


def write_failed(error: OSError, what: str) -> WriteFailed:
    """A failed write or flush. `what` names what was to be written, such as `the ledger`."""
    if error.errno in _FULL:
        return WriteFailed(
            f"The disk is full, so {what} was not written.", next="Free some space, then run the same again."
        )
    if error.errno in _FORBIDDEN:
        return WriteFailed(
            f"The store does not allow writing ({error_name(error)}), so {what} was not written.",
            next="Make the store's folder writable, or name another with --home or PALIMPSEST_HOME.",
        )
    if error.errno in _TOO_MANY:
        return WriteFailed(
            f"Too many files are open, so {what} was not written.", next="Raise the limit (ulimit -n), then try again."
        )
    return WriteFailed(
        f"Writing {what} failed ({error_name(error)}).", next="Check the disk with the system's tools, then try again."
    )


def unreadable(error: OSError, what: str) -> StoreUnusable:
    """A failed read of something that must be known before going on."""
    return StoreUnusable(
        f"Reading {what} failed ({error_name(error)}).",
        next="Check the disk and the permissions of the store's folder, then try again.",
    )


def error_name(error: OSError) -> str:
    """Such as `EACCES`; the kind of error where the system names none."""
    return errno.errorcode.get(error.errno or 0, type(error).__name__)
