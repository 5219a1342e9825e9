"""How texts are read: each reader claims the lines that it understands, in this order; prose takes what is left."""

from __future__ import annotations

from ..records import Reader
from . import delimited, fixed, html, json, ruled
from .log import LOG
from .prose import PROSE
from .tests import TESTS
from .trace import TRACE

__all__ = ["PROSE", "READERS"]

READERS: tuple[Reader, ...] = (
    json.READER,
    html.READER,
    TESTS,
    TRACE,
    LOG,
    ruled.READER,
    delimited.READER,
    fixed.READER,
)
"""Asked in this order: the more exact a form is, the earlier."""
