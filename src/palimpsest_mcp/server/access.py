"""Who calls over HTTP: tokens from a file, and access tokens of an OAuth issuer; each gives a principal."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import anyio
import httpx2
import jwt
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from ..errors import InvalidArgument
from ..models.tools import HttpOptions, is_loopback

# The file: a line for each caller, `NAME TOKEN`.

OWNER = "owner"
"""The name in a file of tokens that stands for the store's owner: whoever uses it without HTTP."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SHORTEST_TOKEN = 32
_MAKE_ONE = "A line is NAME TOKEN; make a token by: openssl rand -hex 32"


def read_tokens(path: Path) -> dict[bytes, str]:
    """SHA-256 of each token, and whose it is. Blank lines and lines from `#` on are skipped.

    Raises:
        InvalidArgument: the file cannot be read, or a line is none; no token is ever quoted.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"The file of tokens {path} cannot be read.", next=_MAKE_ONE) from error
    found: dict[bytes, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2 or not _NAME.fullmatch(words[0]):
            raise InvalidArgument(f"Line {number} of the file of tokens names no caller and token.", next=_MAKE_ONE)
        name, token = words
        if len(token) < _SHORTEST_TOKEN:
            raise InvalidArgument(
                f"The token in line {number} is shorter than {_SHORTEST_TOKEN} characters.", next=_MAKE_ONE
            )
        if found.setdefault(_digest(token), name) != name:
            raise InvalidArgument(f"The token in line {number} is another caller's too.", next=_MAKE_ONE)
    if not found:
        raise InvalidArgument(f"The file of tokens {path} holds none.", next=_MAKE_ONE)
    return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


# Access tokens of an issuer: signed JSON Web Tokens for this very server (RFC 9068, RFC 8707).

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""Signatures only: with a shared secret whoever can check a token could make one."""
_REFETCH_S = 30.0
"""Keys are asked for at most so often, however many tokens name a key that is not there."""
_FETCH_LIMIT_S = 5.0
_MOST_BYTES = 1 << 20


class IssuerKeys:
    """The public keys of an issuer, found by its metadata (RFC 8414, else OpenID Connect discovery)."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._keys: dict[str, Any] = {}
        self._fetched: float | None = None
        self._one_at_a_time = anyio.Lock()

    async def key(self, key_id: str) -> Any | None:
        """The key of this id, if the issuer has it; with one key only, an empty id is that one's."""
        async with self._one_at_a_time:
            if key_id not in self._keys and (self._fetched is None or time.monotonic() - self._fetched > _REFETCH_S):
                self._fetched = time.monotonic()
                self._keys = await self._fetch() or self._keys
            if not key_id and len(self._keys) == 1:
                return next(iter(self._keys.values()))
            return self._keys.get(key_id)

    async def _fetch(self) -> dict[str, Any]:
        parts = urlsplit(self._issuer)
        root, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
        places = (
            f"{root}/.well-known/oauth-authorization-server{path}",
            f"{root}{path}/.well-known/openid-configuration",
        )
        async with httpx2.AsyncClient(timeout=_FETCH_LIMIT_S, follow_redirects=False) as client:
            for place in places:
                said = await _json_of(client, place)
                keys_at = said.get("jwks_uri")
                if said.get("issuer") != self._issuer or not isinstance(keys_at, str) or not _is_safe(keys_at):
                    continue
                try:
                    found = jwt.PyJWKSet.from_dict(await _json_of(client, keys_at))
                except jwt.PyJWTError:
                    continue
                return {str(one.key_id or ""): one for one in found.keys}
        return {}


async def _json_of(client: httpx2.AsyncClient, url: str) -> dict[str, Any]:
    """What a URL gives, when it is an object; {} for everything else."""
    try:
        answer = await client.get(url)
        if answer.status_code != 200 or len(answer.content) > _MOST_BYTES:
            return {}
        said: Any = json.loads(answer.content)
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", said) if isinstance(said, dict) else {}


def _is_safe(url: str) -> bool:
    """Keys and tokens go over TLS, or stay on this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))


class Access:
    """Implements the SDK's `TokenVerifier`."""

    def __init__(self, options: HttpOptions) -> None:
        """
        Raises:
            InvalidArgument: the file of tokens, or one of the URLs, is none.
        """
        for name, url in (("--oauth-issuer", options.issuer), ("--public-url", options.public_url)):
            if url and not _is_safe(url):
                raise InvalidArgument(f"{name} is no https URL.", next=f"Give {name} as https://…")
        if options.issuer and not options.public_url:
            raise InvalidArgument(
                "--oauth-issuer needs --public-url: tokens are taken only when they were issued for it.",
                next="Give the URL under which clients reach /mcp by --public-url.",
            )
        self._tokens = read_tokens(Path(options.tokens)) if options.tokens else {}
        self._issuer, self._resource = options.issuer, options.public_url
        self._scopes = list(options.scopes)
        self._keys = IssuerKeys(options.issuer) if options.issuer else None

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who shows this token; None: nobody that is known."""
        if (name := self._tokens.get(_digest(token))) is not None:
            resource = self._resource or None
            return AccessToken(token=token, client_id=name, scopes=self._scopes, subject=name, resource=resource)
        return await self._issued(token) if self._keys is not None else None

    async def _issued(self, token: str) -> AccessToken | None:
        assert self._keys is not None
        try:
            key = await self._keys.key(str(jwt.get_unverified_header(token).get("kid", "")))
            if key is None:
                return None
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=_ALGORITHMS,
                audience=self._resource,
                issuer=self._issuer,
                options={"require": ["exp", "aud", "iss"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            return None
        subject, client = claims.get("sub"), claims.get("client_id") or claims.get("azp")
        if not (subject or client):
            return None
        return AccessToken(
            token=token,
            client_id=str(client or subject),
            scopes=_scopes(claims),
            expires_at=int(claims["exp"]),
            resource=self._resource,
            subject=str(subject) if subject else None,
            claims={"iss": self._issuer},
        )


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    given = claims.get("scope", claims.get("scp", ""))
    return given.split() if isinstance(given, str) else [str(one) for one in given] if isinstance(given, list) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def principal_of(user: object) -> str:
    """Whose sessions a caller sees; empty for the store's owner.

    Args:
        user: what authentication left in the request; None where none was asked for.
    """
    if not isinstance(user, AuthenticatedUser):
        return ""
    token = user.access_token
    if token.claims is None:  # of the file
        return "" if token.client_id == OWNER else token.client_id
    # Told apart by their first word: a user may have the name of a client.
    named = f"user {token.subject}" if token.subject else f"client {token.client_id}"
    return f"{token.claims['iss']}#{named}"
