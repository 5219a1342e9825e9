"""Writes docs/errors.md from the error tree: python docs/make_errors.py

The sentences are the docstrings of `palimpsest_mcp.errors`, so that code and page cannot disagree.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from palimpsest_mcp.errors import PalimpsestError

PAGE = Path(__file__).resolve().parent / "errors.md"
HEAD = """\
# Errors and exit statuses

<!-- Written by docs/make_errors.py from the error tree; do not edit. -->

Every failure that was foreseen is one sentence, a stable `code` and a next step, and ends the command with a
status of its own. The command line writes it to standard error: as two lines, or with `--json` as `{"code",
"message", "next"}`. A tool answers with the same three as an error that the model can read. Library code
catches the class, from `palimpsest_mcp.errors`. No message quotes stored text.

`nothing_to_do`, `partial` and `target_not_reached` are results, not errors: the status is in the report, and
the command ends with 0. A pass that ends as `failed` ends with the status of its error. `verify` ends with 33
when it found damage.

| exit status | code | class | what happened |
|---:|---|---|---|
| 0 | | | done, or a result that says why there was nothing to do |
| 1 | `internal_error` | any other exception | not foreseen; only its kind is named, its text may quote stored text |
"""
TAIL = """\
| 130 | `interrupted` | `KeyboardInterrupt` | stopped from the keyboard; what was acknowledged is kept |
"""


def coded(base: type[PalimpsestError] = PalimpsestError) -> list[type[PalimpsestError]]:
    """Every class below `base` that has a code of its own, by exit status."""
    found = [sub for sub in base.__subclasses__() if "code" in vars(sub)]
    found += [deeper for sub in base.__subclasses__() for deeper in coded(sub)]
    return sorted(set(found), key=lambda cls: cls.exit_status)


def row(error: type[PalimpsestError]) -> str:
    """The table's row: the first paragraph of the docstring, and the attributes where it has any."""
    text = inspect.cleandoc(error.__doc__ or "")
    sentence, _, attributes = text.partition("\n\nAttributes:\n")
    said = re.sub(r" \([A-Z]\d+\)", "", " ".join(sentence.split("\n\n")[0].split()))  # where our own rules stand
    if attributes:
        facts = [line.strip().rstrip(".").partition(": ") for line in attributes.splitlines()]
        said += " It carries " + "; ".join(f"`{name}`, {text}" for name, _, text in facts) + "."
    return f"| {error.exit_status} | `{error.code}` | `{error.__name__}` | {said} |\n"


def page() -> str:
    """The whole page."""
    return HEAD + "".join(row(error) for error in coded()) + TAIL


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
