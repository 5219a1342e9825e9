"""Texts made to be slow. Work is measured in processor time and compared with a text four times as long."""

from __future__ import annotations

import time

import pytest

from palimpsest_mcp.text.redaction.redactor import RuleRedactor

from ...conftest import first_of

SIZE = 1 << 14


def seconds(redactor: RuleRedactor, text: str) -> float:
    started = time.process_time()
    redactor.redact(text)
    return time.process_time() - started


@pytest.mark.parametrize(
    "piece",
    first_of([
        "a", "password=", "password: ", '"password":"', "-----BEGIN PRIVATE KEY-----", "ghp_", "a@",
        "4539 1488 ", "%3D", "\\",
        "&quot;", "://a:", "[redacted:", "Cookie: a=b;", "cookie=", "+1 2 3 ", "secret_", "\x00", "\ud800",
        "the password is ", "x://a:b@c#@", "x://a:b#", "password=<<A\n", "password:\n",
        '"password":{"a":"b",', "htpasswd -b ", "WIFI:S:a;",
    ], kept=3),
)  # fmt: skip
def test_time_grows_with_the_text_and_no_faster(redactor: RuleRedactor, piece: str) -> None:
    text = piece * (SIZE // len(piece))
    seconds(redactor, text)  # the automata are built
    short = min(seconds(redactor, text) for _ in range(2))
    assert seconds(redactor, text * 4) < 10 * short + 0.0625, "four times the text, with room for a busy machine"
