"""How texts are read: each reader claims the lines that it understands, in this order; prose takes what is left."""

from __future__ import annotations

from ..records import Reader
from . import code, delimited, diff, fixed, html, json, notebook, ruled
from .log import LOG
from .prose import PROSE
from .tests import TESTS
from .trace import TRACE

__all__ = ["PROSE", "READERS"]

READERS: tuple[Reader, ...] = (
    notebook.READER,
    json.READER,
    html.READER,
    diff.READER,
    TESTS,
    TRACE,
    LOG,
    ruled.READER,
    delimited.READER,
    fixed.READER,
    code.READER,
)
"""Asked in this order: the more exact a form is, the earlier."""
