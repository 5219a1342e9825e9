"""Whose sessions a caller sees."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from palimpsest_mcp.models.tools import HttpOptions
from palimpsest_mcp.server.access import Access, principal_of


def caller(subject: str | None, client: str) -> AuthenticatedUser:
    claims = {"iss": "https://issuer.example"}
    return AuthenticatedUser(AccessToken(token="t", client_id=client, scopes=[], subject=subject, claims=claims))


def test_a_user_is_never_a_client_of_the_same_name() -> None:
    names = ["X", "client X", "user X", "client client X"]
    users = {principal_of(caller(name, "web")) for name in names}
    clients = {principal_of(caller(None, name)) for name in names}
    assert len(users) == len(clients) == len(names) and not users & clients


@pytest.mark.anyio
async def test_a_caller_of_the_file_of_tokens_has_every_scope_that_is_asked_for(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("ada " + "t" * 40 + "\n")
    tokens.chmod(0o600)
    access = Access(HttpOptions(tokens=str(tokens), scopes=("context",)))
    found = await access.verify_token("t" * 40)
    assert found is not None and found.scopes == ["context"]
