"""How texts are read: each reader claims the lines that it understands, in this order; prose takes what is left."""

from __future__ import annotations

from ..records import Reader
from .prose import PROSE

__all__ = ["PROSE", "READERS"]

READERS: tuple[Reader, ...] = ()
