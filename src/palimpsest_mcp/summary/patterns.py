"""Marks of ours in `summary.md`, as patterns: the writer guards other text against them, the reader looks for them."""

from __future__ import annotations

import re
from typing import get_args

from ..models.summaries import Verb

SPAN = r"`[^`]*`"
STEP = re.compile(
    rf"({'|'.join(get_args(Verb))})(?: (\d+) times)?(?: (?:to|from) ({SPAN}))?"
    rf"(?: \((?=\S)((?:{SPAN} ?)*)(?:and (\d+) more)?\))?$"
)
"""Verb, times, other, names, further names: one step of a file's trail."""
LEFT_OUT = re.compile(rf"… and (\d+) more(?:: {SPAN})?$")
CLOSED = re.compile(r"\[[xX ]\] |… and ")
UNRESOLVED = re.compile("not resolved$")
KNOWN_PROGRESS = re.compile("- (Todos|Last asked|Last said): (.*)$", re.DOTALL)
"""Lines of Current State that code wrote."""
