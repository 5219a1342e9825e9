"""How texts are read: each reader claims the lines that it understands, in this order; prose takes what is left."""

from __future__ import annotations

from ..records import Reader
from . import delimited, fixed, html, ruled
from .prose import PROSE

__all__ = ["PROSE", "READERS"]

READERS: tuple[Reader, ...] = (html.READER, ruled.READER, delimited.READER, fixed.READER)
"""Asked in this order: the more exact a form is, the earlier."""
