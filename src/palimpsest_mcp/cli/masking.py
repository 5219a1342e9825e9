"""What the command line prints goes through here: by the store's key once one was open, before by none that lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..ports.text import Redactor
    from ..services.surface import Surface

_opened: Surface | None = None


def mask_by(redactor: Redactor | None) -> None:
    """Mask by a store's redactor from now on; None: by none, as a run begins."""
    global _opened
    if redactor is None:
        _opened = None
        return
    from ..services.surface import Surface

    _opened = Surface(redactor)


def masked(value: Any) -> Any:
    """A text, or every text in a JSON value, with its secrets masked."""
    if _opened is not None:
        return _opened.value(value)
    from ..services.surface import storeless

    return storeless().value(value)


__all__ = ["mask_by", "masked"]
