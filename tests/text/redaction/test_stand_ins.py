"""A stand-in exempts only where it is the whole value: a key that happens to hold one is a key."""

from __future__ import annotations

import pytest
from drawn_from import drawn
from surviving import survives

from palimpsest_mcp.text.redaction.redactor import RuleRedactor
from palimpsest_mcp.text.redaction.rules import Rule, default_rules

from ...conftest import first_of

WORDS = [
    "example",
    "EXAMPLE",
    "1234567890",
    "xxxxxx",
    "XXXXXXXX",
    "____",
    "------",
    "000000000000",
    "abcdefgh",
    "your",
    "changeme",
    "placeholder",
    "dummy",
    "sample",
    "redacted",
    "replace",
    "insert",
    "hidden",
    "fake",
    "todo",
    "here",
    "test",
    "....",
    "****",
]
LEFT = 12  # characters of the value beside the word and the vendor's prefix: no short value is asked for here


def held(rule: Rule, text: str, word: str, where: float) -> tuple[str, str] | None:
    """The text with the word in the value's start, middle or end, as far as the rule's form allows, and that value."""
    raw = text.encode()
    match = rule.pattern.search(raw)
    assert match, (rule.id, text)
    left, right = next(
        (span for n in range(1, rule.pattern.groups + 1) if (span := match.span(n))[0] >= 0), match.span()
    )
    head = max((len(k) for k in rule.keywords if raw[left:right].lower().startswith(k.encode())), default=0)
    first, last = left + head, right - len(word)
    if last - first < LEFT:
        return None
    for place in sorted(range(first, last + 1), key=lambda p: abs(p - (first + where * (last - first)))):
        changed = raw[:place] + word.encode() + raw[place + len(word) :]
        again = rule.pattern.search(changed)
        if again and any(again.span(n) == (left, right) for n in range(rule.pattern.groups + 1)):
            return changed.decode(), changed[left:right].decode()
    return None


def beside_a_keyword(rule: Rule, value: str) -> str:
    near = [word for word in rule.keywords if word in value.lower()] or [""]
    return f"{'' if near[0] or not rule.keywords else rule.keywords[0]} see {value}\n"


@pytest.mark.parametrize("where", first_of([0.5, 0.0, 1.0]), ids=["middle", "start", "end"])
def test_a_key_of_any_rule_that_holds_a_stand_in_is_masked(redactor: RuleRedactor, where: float) -> None:
    tried, shown = set[str](), list[tuple[str, str, str]]()
    for rule in default_rules().rules:
        text = beside_a_keyword(rule, drawn(rule.source, 3))
        if not redactor.redact(text).counts:
            continue  # drawn too plain to be told from a word; the labelled sets say how many of each kind are
        for word in WORDS:
            if not (written := held(rule, text, word, where)):
                continue
            tried.add(rule.id)
            redacted = redactor.redact(written[0])
            if not redacted.counts or survives(written[1].replace(word, " "), redacted.text):
                shown.append((rule.id, word, written[0]))
    assert len(tried) >= 0.8 * len(default_rules().rules), {r.id for r in default_rules().rules} - tried
    assert shown == []


@pytest.mark.parametrize(
    "text",
    [
        "ghp_" + "x" * 36,
        "sk_test_example",
        "AIzaSyabcdefghijklmnopqrstuvwxyz1234567",
        "xoxb-123456789012-1234567890123-" + "X" * 24,
        "GITHUB_TOKEN=ghp_your_token_here",
        "sk-ant-api03-your-key-here",
        "api_key: your-openai-api-key-goes-here",
        "password=changeme",
        "AKIAIOSFODNN7EXAMPLE",
        "token: <paste the token for production here>",
        "SECRET_KEY=replace_with_your_secret_key",
        "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
        "api_key=example1",
        "glpat-" + "_" * 20,
    ],
)
def test_a_stand_in_that_is_the_whole_value_stays(redactor: RuleRedactor, text: str) -> None:
    assert redactor.redact(text).text == text


@pytest.mark.parametrize(
    "value", ["ChangeMe!C8UBq2Wd", "Example2024!pQ7xKz", "xxxxqT8vW2mLz9Rb", "1234567890aVkQwPzT", "kQ9vexampleW7zTb4n"]
)
def test_a_password_that_holds_a_stand_in_is_masked(redactor: RuleRedactor, value: str) -> None:
    assert not survives(value, redactor.redact(f"DB_PASSWORD={value}\n").text)
    assert not survives(value, redactor.redact(f'{{"password": "{value}"}}').text)
