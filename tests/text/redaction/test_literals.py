from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from key_material import ALNUM, BASE32, HEX, URLSAFE, Forge

from palimpsest_mcp.text.redaction.literals import is_secret, is_stand_in, looks_random


@pytest.mark.parametrize("alphabet", [ALNUM, HEX, BASE32, URLSAFE, string.ascii_lowercase + string.digits])
def test_99_of_100_drawn_keys_look_random(alphabet: str) -> None:
    forge = Forge(1)
    drawn = [forge.of(24, alphabet) for _ in range(300)]
    assert sum(map(looks_random, drawn)) >= 297


@pytest.mark.parametrize(
    "value",
    [
        "NextToken", "user_password_hash", "my-app-credentials-v2", "AbstractProxyFactoryBean", "o200k_base",
        "us-east-1",
        "claude-sonnet-4-20250514", "2026-11-20T08:12:55Z", "v1.2.3-beta.4+build.5", "scram-sha-256",
        "AWS4-HMAC-SHA256",
        "/usr/lib/python3.11/secrets.py", "server-2026.key", "1234567890123456", "left-pad@1.3.0", "utf8mb4",
        "application/json", "getUserTokenById", "https-proxy-agent", "SharedAccessSignature", "x86_64-linux-gnu",
    ],
)  # fmt: skip
def test_words_and_names_do_not_look_random(value: str) -> None:
    assert not looks_random(value)


@pytest.mark.parametrize(
    "value",
    [
        "${DB_PASSWORD}", "$TOKEN", "<your-password>", "YOUR_API_KEY", "changeme", "xxxxxxxx", "********",
        "None", "null",
        "process.env.API_KEY", "os.environ[", "{{ vault_pw }}", "%(password)s", "%s", "{token}", "[REDACTED]", "...",
        "sk-ant-...", "example-secret-1", "/run/secrets/db", "!Ref", "self.password",
        "arn:aws:secretsmanager:x", "aaaa",
        "${{ secrets.X }}", "`pass show x`", "get_secret(", "https://idp.acme.io/token",
    ],
)  # fmt: skip
def test_a_stand_in_or_a_reference_is_no_secret(value: str) -> None:
    assert is_stand_in(value)
    assert not is_secret(value, "random", quoted=True)


def test_a_uuid_proves_a_key_but_not_a_session() -> None:
    uuid = Forge(2).uuid()
    assert is_secret(uuid, "random", quoted=False) and not is_secret(uuid, "strong", quoted=False)
    assert not is_secret(Forge(3).hex(40), "strong", quoted=False)


@given(st.text(max_size=80))
def test_any_text_can_be_judged(value: str) -> None:
    value = value.encode("utf-8", "replace").decode()
    assert is_secret(value, "random", quoted=True) in (True, False)
    assert looks_random(value) in (True, False)
