"""Words of languages, as data: a language is added here, in the tables of these files, and nowhere else.

`claims` (what did not hold, failed or went well), `excuses` (what a model says in place of a summary), `names` and
`passwords` (what is called a secret), `orders` (how people lay something down), `focus` (how they ask for every line of
a kind).
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any


def word_lists(name: str) -> dict[str, Any]:
    """The tables of one file."""
    return tomllib.loads(resources.files(__package__ or "").joinpath(f"{name}.toml").read_text("utf-8"))
