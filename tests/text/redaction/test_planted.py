"""Every labelled secret again, inside what texts come in: JSON, HTML, listings, cut, over lines, over items."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from urllib.parse import quote, unquote

import pytest
from labelled_positives import Positive, positives
from surviving import survives

from palimpsest_mcp.text.redaction.redactor import RuleRedactor

WHOLE = [p for p in positives(5) if p.secret in p.text and not set("\n\\") & set(p.secret)]
LONG = [p for p in WHOLE if len(p.secret) >= 24 and " " not in p.secret]


def in_json(text: str) -> str:
    return json.dumps({"result": [{"type": "text", "text": text}], "id": 7})


def in_json_twice(text: str) -> str:
    return in_json(in_json(text))


def in_json_three_times(text: str) -> str:
    return in_json(in_json_twice(text))


def in_a_dictionary(text: str) -> str:
    return repr({"out": text})


def in_html(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"


def in_a_listing(text: str) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(text.split("\n"), 1))


def in_a_diff(text: str) -> str:
    return "\n".join("+" + line for line in text.split("\n"))


def in_colour(text: str) -> str:
    return "\n".join(f"\x1b[31m{line}\x1b[0m" for line in text.split("\n"))


def in_prose(text: str) -> str:
    return f"Running it gave: {text}. Then it stopped."


@pytest.mark.parametrize(
    ("wrapped", "share"),
    [
        (in_json, 0.99),
        (in_json_twice, 0.99),
        (in_json_three_times, 0.97),
        (in_a_dictionary, 0.99),
        (in_html, 0.97),
        (in_a_listing, 0.99),
        (in_a_diff, 0.99),
        (in_colour, 0.99),
        (in_prose, 0.99),
    ],
)
def test_a_planted_secret_is_gone_from(redactor: RuleRedactor, wrapped: Callable[[str], str], share: float) -> None:
    missed = [p for p in WHOLE if survives(p.secret, redactor.redact(wrapped(p.text)).text)]
    assert len(missed) <= (1 - share) * len(WHOLE), [(p.kind, p.text[:60]) for p in missed]


def test_a_planted_secret_is_gone_from_a_url(redactor: RuleRedactor) -> None:
    def shown(p: Positive) -> str:
        return unquote(redactor.redact(f"https://x.io/?q={quote(p.text, safe='')}&z=1").text).removeprefix("https://")

    missed = [p for p in WHOLE if survives(p.secret, shown(p))]
    assert len(missed) <= 0.03 * len(WHOLE), [(p.kind, p.text[:60]) for p in missed]


@pytest.mark.parametrize("parts", [2, 3])
def test_a_secret_split_over_items_is_gone_from_all(redactor: RuleRedactor, parts: int) -> None:
    for p in WHOLE if parts == 2 else LONG:
        start, step = p.text.index(p.secret), len(p.secret) // parts
        cuts = [0, *(start + step * i for i in range(1, parts)), len(p.text)]
        texts = [p.text[left:right] for left, right in zip(cuts, cuts[1:], strict=False)]
        assert not survives(p.secret, "|||".join(r.text for r in redactor.redact_all(texts))), p.kind


@pytest.mark.parametrize("end", ["", "… [truncated 1234 characters]"])
def test_most_long_secrets_are_seen_when_half_of_them_is_cut_off(redactor: RuleRedactor, end: str) -> None:
    """Redacting comes before truncating; this is for texts that came truncated."""
    missed = 0
    for p in LONG:
        half = p.secret[: len(p.secret) // 2]
        missed += survives(half, redactor.redact(p.text[: p.text.index(p.secret) + len(half)] + end).text)
    assert missed <= 0.15 * len(LONG)


def test_most_long_secrets_are_seen_when_they_are_wrapped(redactor: RuleRedactor) -> None:
    missed = 0
    for p in LONG:
        at = p.text.index(p.secret) + len(p.secret) // 2
        missed += survives(p.secret, redactor.redact(f"{p.text[:at]}\n{p.text[at:]}").text)
    assert missed <= 0.2 * len(LONG)


@pytest.mark.parametrize("width", [64, 76, 80])
@pytest.mark.parametrize("indent", ["", "    "])
def test_nearly_all_long_secrets_are_seen_in_lines_that_a_terminal_wrapped(
    redactor: RuleRedactor, width: int, indent: str
) -> None:
    """One that the wrapping does not reach is not counted."""
    split = missed = 0
    for p in LONG:
        lines = [line for line in p.text.split("\n") if line]
        wrapped = "\n".join(
            ("" if at == 0 else indent) + line[at : at + width] for line in lines for at in range(0, len(line), width)
        )
        if p.secret not in wrapped:
            split += 1
            missed += survives(p.secret, redactor.redact(wrapped).text)
    assert split > 50 and missed <= 0.1 * split
