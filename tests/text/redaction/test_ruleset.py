"""How much work a text may cost, whatever stands in it. Work is counted; seconds are in the benchmark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from key_material import BASE32, DIGITS, Forge

from palimpsest_mcp.text.redaction import rules
from palimpsest_mcp.text.redaction.patterns import Marker
from palimpsest_mcp.text.redaction.redactor import RuleRedactor
from palimpsest_mcp.text.redaction.rules import RuleSet, default_rules, entropy
from palimpsest_mcp.text.redaction.scan import Scanner

from ...conftest import LONG, first_of

RULES = default_rules().rules
SIZE = 2048 if LONG else 1024
KEYWORDS = sorted({word for rule in RULES if rule.prefix for word in rule.keywords})
TOKEN = "gh" + "p_" + Forge(60).of(36)


def redactor(work: int) -> RuleRedactor:
    return RuleRedactor(Scanner([RuleSet(RULES, work=work)]), Marker(b"k" * 32))


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Bytes of every candidate that was judged."""
    sizes: list[int] = []

    def counted(text: bytes) -> float:
        sizes.append(len(text))
        return entropy(text)

    monkeypatch.setattr(rules, "entropy", counted)
    yield sizes


def test_what_cannot_be_checked_is_withheld_and_counted_never_shown() -> None:
    text = "xoxb-" * 2000 + f" token {TOKEN} end"
    redacted = redactor(work=50_000).redact(text)
    assert redacted.counts == {"withheld": 1} and TOKEN not in redacted.text
    shown, _, mark = redacted.text.partition("[redacted:withheld:")
    assert text.startswith(shown) and len(mark) == 9 and mark.endswith("]")
    assert redactor(work=50_000).redact(redacted.text).text == redacted.text


def test_what_stands_before_the_end_of_the_work_is_masked_as_ever() -> None:
    redacted = redactor(work=50_000).redact(f"token {TOKEN} first\n" + "xoxb-" * 2000)
    assert redacted.counts == {"gh-token": 1, "withheld": 1} and redacted.text.startswith("token [redacted:gh-token:")


@pytest.mark.parametrize("name", ["test_{}", "/tmp/backup_{}.txt", "mcp__{}__x", "pat_{} of bob"])
def test_a_key_is_known_behind_a_name_that_ends_in_an_underscore(name: str) -> None:
    forge = Forge(62)
    keys = [
        TOKEN,
        "AK" + "IA" + forge.of(16, BASE32),
        "AI" + "za" + forge.of(35),
        "sk-" + "ant-api03-" + forge.of(93),
        "xox" + "b-" + forge.of(12, DIGITS) + "-" + forge.of(24),
        forge.jwt(),
        "github" + "_pat_" + forge.of(22) + "_" + forge.of(6_000),
    ]
    for key in keys:
        text = redactor(work=50_000).redact(name.format(key)).text
        assert key[8:20] not in text and key[-12:] not in text, text
        assert text.startswith(name.partition("{")[0]), text


def test_ordinary_texts_are_never_withheld() -> None:
    forge = Forge(61)
    log = "".join(
        f"INFO sk-learn 1.2 task-{i} api-{forge.hex(6)} key_{i} app-server re_{i} max_tokens={i} my_key_{i}\n"
        for i in range(2000)
    )
    assert redactor(work=0).redact(log).text == log


@pytest.mark.parametrize("suffix", first_of(["", "1-", " x "]))
def test_for_no_keyword_more_than_512_bytes_of_a_candidate_are_judged(judged: list[int], suffix: str) -> None:
    """`"xoxb-" * 20000` took 114 s, for the rest of the text was measured at each of them."""
    rules = RuleSet(RULES, work=1 << 30)
    for word in KEYWORDS:
        judged.clear()
        text = ((word + suffix) * (SIZE // len(word + suffix))).encode()
        list(rules.find(0, text, [(0, len(text))]))
        assert max(judged, default=0) <= 512, word
        assert len(judged) <= 4 * (text.count(word.encode()) + 1), word


def test_a_long_key_is_found_once_and_to_its_end(judged: list[int]) -> None:
    key = "xo" + "xb-" + "-xoxb-".join(Forge(62).of(30) for _ in range(200))
    redacted = redactor(work=1 << 30).redact(f"see {key} end")
    assert redacted.text.startswith("see [redacted:") and redacted.text.endswith("] end") and len(redacted.text) < 60
    assert len(judged) < 100
