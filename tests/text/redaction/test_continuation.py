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


def test_what_is_left_below_full_lines_of_a_key_goes_too(redactor: RuleRedactor) -> None:
    key = "gh" + "p_" + Forge(41).of(36)
    text = f"token {key[:17]}\n      {key[17:34]}\n      {key[34:]}\ndone"
    assert redactor.redact(text).text.split("\n", 1)[0].startswith("token [redacted:")
    assert not survives(key, redactor.redact(text).text) and redactor.redact(text).text.endswith("]\ndone")


@pytest.mark.parametrize("following", ["DEBUG=true", "done", "next: value", "exit 0", "3f2b8c1e7a4d4c11 fix parser"])
def test_below_a_line_of_eighty_columns_that_ends_in_a_key_the_next_thing_stays(
    redactor: RuleRedactor, following: str
) -> None:
    line = "a token of this service: ".rjust(80 - len(TOKEN), "#")
    assert len(line + TOKEN) == 80
    assert redactor.redact(f"{line}{TOKEN}\n{following}").text.endswith(f"]\n{following}")
