from __future__ import annotations

import pytest
from key_material import Forge
from surviving import survives

from palimpsest_mcp.text.redaction.redactor import RuleRedactor

TOKEN = "gh" + "p_" + Forge(40).of(36)


@pytest.mark.parametrize("gap", ["\n", "\r\n", "\n    ", "\\\n", '"\n    "', '" +\n  "', "\\n", "\n> ", "\n     8\t"])
def test_a_key_wrapped_into_the_next_line_goes_whole(redactor: RuleRedactor, gap: str) -> None:
    redacted = redactor.redact(f"token {TOKEN[:22]}{gap}{TOKEN[22:]} is old").text
    assert not survives(TOKEN, redacted) and redacted.endswith("] is old")


@pytest.mark.parametrize(
    "following",
    [
        "DB_PORT=5432",
        "next: value",
        "commit 3f2b8c1e7a4d",
        "3f2b8c1e7a4d4c119b2e fix parser",
        "and then words",
        "",
        "$ ls",
    ],
)
def test_a_line_that_begins_something_else_stays(redactor: RuleRedactor, following: str) -> None:
    assert redactor.redact(f"token {TOKEN}\n{following}").text.endswith(f"]\n{following}")
