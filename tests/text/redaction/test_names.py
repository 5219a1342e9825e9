from __future__ import annotations

import pytest

from palimpsest_mcp.text.redaction.literals import secret_name, words_of


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("password", "password"), ("DB_PASSWORD", "password"), ("userPasswd2", "password"), ("dbpass", "password"),
        ("mypassword", "password"), ("POSTGRES_PASSWORD_PROD", "password"), ("密码", "password"), ("wpa-psk",
        "password"),
        ("client_secret", "secret"), ("SECRET_KEY_BASE", "api-key"), ("appSecret", "secret"), ("totp_seed", "secret"),
        ("api_key", "api-key"), ("apikey", "api-key"), ("X-Api-Key", "api-key"), ("awsSecretAccessKey", "api-key"),
        ("STRIPE_KEY", "api-key"), ("jwt.signing.key", "api-key"), ("accountKey", "api-key"), ("privateKey",
        "api-key"),
        ("access_token", "token"), ("authtoken", "token"), ("GITHUB_PAT", "token"), ("X-Auth-Token", "token"),
        ("csrfmiddlewaretoken", "csrf-token"), ("_csrf", "csrf-token"), ("XSRF-TOKEN", "csrf-token"),
        ("PHPSESSID", "session"), ("session_id", "session"), ("X-Amz-Signature", "signature"), ("mnemonic",
        "seed-phrase"),
        ("APP_SECRET_B64", "secret"), ("KUBE_TOKEN_v2", "token"), ("DB_PASSWORD_V12", "password"),
    ],
)  # fmt: skip
def test_these_names_mean_a_secret(name: str, kind: str) -> None:
    found = secret_name(name)
    assert found and found.kind == kind


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens", "token_count", "next_page_token", "eosToken", "cached_tokens", "tokenizer", "token_type",
        "password_file", "PASSWORD_MIN_LENGTH", "forgotPassword", "has_password", "secret_name", "secretArn",
        "key", "cache_key", "primaryKey", "public_key", "sort-key", "keyboard", "monkey", "hotkey", "key_id",
        "author", "compass", "bypass", "passed", "auth_url", "session", "session_count", "signed", "seed", "path",
        "b64", "v2", "tokens_v2_count",
    ],
)  # fmt: skip
def test_these_names_do_not(name: str) -> None:
    assert secret_name(name) is None


def test_a_name_is_read_word_by_word() -> None:
    assert words_of("dbAccessKey_2") == ["db", "access", "key", "2"]
    assert words_of("HTTPProxy-Auth.token") == ["http", "proxy", "auth", "token"]
