from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from key_material import Forge
from labelled_passwords import PLAIN_WORDS

from palimpsest_mcp.text.redaction.passwords import Form, is_conspicuous, is_password

FORMS: tuple[Form, ...] = ("string", "plain", "inline")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "value", ["hunter" + "2", "Tr0ub4dor" + "&3", "letmein", "123456", "päss" + "wört9", "!x9" + "kQ2"]
)
def test_a_password_may_be_short_and_readable(value: str, form: Form) -> None:
    assert is_password(value, form)


@pytest.mark.parametrize(
    "value", ["!x9Kd7qLw2Zt", "(x9Kd7qLw2Zt", "a(x9Kd7qLw2Zt", "&x9Kd7qLw2Zt", "$x9Kd7qLw2Zt", "*x9Kd7qLw2Zt"]
)
def test_the_first_sign_says_nothing_about_a_string(value: str) -> None:
    assert is_password(value, "string")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "value",
    [
        "${DB_PASSWORD}", "$DB_PASSWORD", "{{ vault_pw }}", "%(password)s", "<your-password>", "changeme",
        "xxxxxxxx", "********", "None", "[REDACTED]", "/run/secrets/db", "op://vault/item/password", "${{ secrets.X }}",
        "YOUR_PASSWORD", "example-secret-1", "v1.2.3",
        "required", "string", "must be at least 12 characters", "abc", "%DB_PASSWORD%", "@DB_PASSWORD@", *PLAIN_WORDS,
    ],
)  # fmt: skip
def test_a_reference_a_stand_in_or_a_plain_word_is_no_password(value: str, form: Form) -> None:
    assert not is_password(value, form)


@pytest.mark.parametrize(
    "value",
    ["os.environ['PW']", "get_password(user)", "self.password", "!Ref", "config.db.main.value", "str(uuid.uuid4())"],
)
def test_code_is_a_reference_only_without_quotes(value: str) -> None:
    assert not is_password(value, "plain") and not is_password(value, "inline")


def test_the_default_of_a_reference_may_be_a_password() -> None:
    assert is_password("${DB_PASSWORD:-" + Forge(1).password() + "}", "string")


def test_in_prose_only_what_is_conspicuous_is_taken_for_a_password() -> None:
    assert is_conspicuous(Forge(4).password())
    assert not any(
        map(is_conspicuous, ["characters", "SHA-256", "2026-11-20", "oauth2", "step2", "RFC9110", "HTTP/1.1"])
    )


@given(st.text(max_size=80))
def test_any_text_can_be_judged(value: str) -> None:
    value = value.encode("utf-8", "replace").decode()
    assert all(is_password(value, form) in (True, False) for form in FORMS) and is_conspicuous(value) in (True, False)
