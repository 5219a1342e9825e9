from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.text.redaction.personal import Checks, Phones
from palimpsest_mcp.text.redaction.redactor import RuleRedactor


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("mail li.wei88@qq.com", "email"), ("mailto:li.wei88@qq.com?subject=x", "email"),
        ("call +44 20 7946 0958", "phone"),
        ("Phone: 030 901820-12", "phone"), ("pay 5412 7453 7518 5387", "card"), ("DE89 3704 0044 0532 0130 00",
        "iban"),
        ("SSN 536-22-8145", "national-id"), ("PESEL 44051401359", "national-id"), ("born on 14.03.1987",
        "birth-date"),
        ("client 81.2.69.142 logged in", "ip-address"),
    ],
)  # fmt: skip
def test_personal_data_is_masked(redactor: RuleRedactor, text: str, kind: str) -> None:
    assert redactor.redact(text).counts == {kind: 1}


@pytest.mark.parametrize(
    "text",
    [
        "git@github.com:acme/w.git", "https://user@example.com/path", "noreply@anthropic.com", "user@example.com",
        "icon@2x.png", "left-pad@1.3.0", "pay 5412 7453 7518 5388", "id: 5412745375185387",
        "DE89 3704 0044 0532 0130 01",
        "536-22-81456", "RFC 9110 2022-06", "released 14.03.1987", "listening on 81.2.69.142:443",
        "Chrome/120.0.6099.224", "client 10.0.0.5", "+0100", "+12345678 lines", "1763622000123", "phone 12",
    ],
)  # fmt: skip
def test_what_only_looks_personal_stays(redactor: RuleRedactor, text: str) -> None:
    assert redactor.redact(text).text == text


def test_a_number_behind_another_is_found(redactor: RuleRedactor) -> None:
    assert redactor.redact("order 2026 5412 7453 7518 5387 paid").counts == {"card": 1}


def test_without_number_plans_the_length_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra `pii` is not installed; `rules` says so."""
    monkeypatch.setattr(Phones, "present", property(lambda self: False))
    from palimpsest_mcp.text.redaction.redactor import open_redactor

    redactor = open_redactor(b"k" * 32)
    assert any("palimpsest-mcp[pii]" in line for line in redactor.rules)
    assert redactor.redact("call +44 20 7946 0958").counts == {"phone": 1}
    assert redactor.redact("call +44 20").counts == {}


def test_without_check_digits_of_national_ids_forms_and_names_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra `pii` is not installed; `rules` says so. Cards and accounts are checked all the same."""
    monkeypatch.setattr(Checks, "present", property(lambda self: False))
    from palimpsest_mcp.text.redaction.redactor import open_redactor

    redactor = open_redactor(b"k" * 32)
    assert any("national ids without check digits" in line and "palimpsest-mcp[pii]" in line for line in redactor.rules)
    assert redactor.redact("pay 5412 7453 7518 5387 from DE89 3704 0044 0532 0130 00").counts == {"card": 1, "iban": 1}
    assert redactor.redact("pay 5412 7453 7518 5388 from DE89 3704 0044 0532 0130 01").counts == {}
    assert redactor.redact("her SSN is 219-09-9999").counts == {"national-id": 1}
    assert redactor.redact("see RFC 9110 and SIN 046 454 286").counts == {}


@given(st.text("0123456789", min_size=1, max_size=24), st.text("ABCDEFGHZ0123456789 ", min_size=1, max_size=40))
def test_cards_and_accounts_are_checked_as_the_library_checks_them(digits: str, account: str) -> None:
    from stdnum import luhn
    from stdnum.iso7064 import mod_97_10

    from palimpsest_mcp.text.redaction import personal

    assert personal._luhn(digits) == luhn.is_valid(digits)  # pyright: ignore[reportPrivateUsage]
    compact = account.replace(" ", "")
    theirs = 15 <= len(compact) <= 34 and mod_97_10.is_valid(compact[4:] + compact[:4])
    assert personal._mod_97(account) == theirs  # pyright: ignore[reportPrivateUsage]
