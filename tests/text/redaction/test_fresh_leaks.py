from __future__ import annotations

import pytest
from labelled_fresh import NOTHING_SECRET, Labelled, fresh_leaks
from surviving import leaks

from palimpsest_mcp.text.redaction.redactor import RuleRedactor


@pytest.mark.parametrize("leak", fresh_leaks(), ids=lambda leak: f"{leak.kind}: {leak.text[:40]!r}")
def test_a_secret_that_once_leaked_is_gone(redactor: RuleRedactor, leak: Labelled) -> None:
    assert not leaks(leak.secret, leak.text, redactor.redact(leak.text).text)


@pytest.mark.parametrize("text", NOTHING_SECRET)
def test_what_only_looks_like_it_stays(redactor: RuleRedactor, text: str) -> None:
    assert not redactor.redact(text).counts
