"""Which names mean a secret: read word by word, so that `max_tokens` and `secret_name` do not."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib import resources
from typing import Literal, NamedTuple, TypeAlias

Proof: TypeAlias = Literal["literal", "random", "strong", "words", "pair", "digits", "signature"]
"""What a value must look like to count.

`literal`: any literal that is not a word (passwords); `random`: drawn by a machine; `strong`: drawn by a machine, long,
and neither a hash nor a UUID; `words`: a phrase of 12 to 24 words; `pair`: base64 of `user:password`; `digits`: 3 to 8;
`signature`: hexadecimal or drawn by a machine, and not a string in code.
"""


class Name(NamedTuple):
    """What a name says about its value."""

    kind: str
    proof: Proof


_WORD = re.compile(r"[^\W\d_]*[^\W\d_a-zA-Z][^\W\d_]*|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LISTS: dict[str, list[str]] = tomllib.loads(
    resources.files(__package__ or "").joinpath("names.toml").read_text("utf-8")
)
_PASSWORD, _SHORT_PASSWORD = frozenset(_LISTS["password"]), frozenset(_LISTS["short_password"])
_NOT_PASSWORD, _NOT_TOKEN = frozenset(_LISTS["not_password"]), frozenset(_LISTS["not_token"])
_SUFFIXES, _KEY_OF = frozenset(_LISTS["suffixes"]), frozenset(_LISTS["key_of"])
_PAT_OF = frozenset(_LISTS["pat_of"])
_CSRF, _SESSION = frozenset(_LISTS["csrf"]), frozenset(_LISTS["session"])
COMMON_PASSWORDS = frozenset(_LISTS["common_passwords"])
_GLUED_KEYS = {"apikey": "api", "accesskey": "access", "secretkey": "secret", "privatekey": "private"}
_OWNERS = {f"{owner}{word}": (owner, word) for owner in _LISTS["owners"] for word in ("pass", "pw", "pwd")}
_GLUED = tuple(_LISTS["glued"])
_SIGNATURES = frozenset({"sig", "signature"})


def words_of(name: str) -> list[str]:
    """The words of an identifier, lower case: `dbAccessKey_2` gives db, access, key, 2."""
    return [word.lower() for word in _WORD.findall(name)]


@lru_cache(maxsize=8192)
def secret_name(name: str) -> Name | None:
    """What the name says about its value, or None when its value is no secret."""
    words = _split_glued(words_of(name))
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in _SUFFIXES):
        words.pop()
    if not words:
        return None
    before, last = words[:-1], words[-1]
    if last in _PASSWORD:
        return None if _NOT_PASSWORD & {*before} else Name("password", "literal")
    if last in _SHORT_PASSWORD:
        return None if _NOT_PASSWORD & {*before} else Name("password", "literal" if before else "random")
    return _token_like(before, last) or _key_like(before, last, name)


def _token_like(before: list[str], last: str) -> Name | None:
    if _CSRF & {*before, last}:
        return Name("csrf-token", "random") if last in ("token", "csrf", "xsrf", "key", "nonce") else None
    if last == "pat" and not {*before} & _PAT_OF:
        return None
    if last in ("token", "tokens", "jwt", "pat", "bearer"):
        opens = last == "token" and before[-1:] and before[-1] in _KEY_OF  # the page in `page_access_token` is no count
        return None if not opens and _NOT_TOKEN & {*before} else Name("token", "random")
    if last in ("secret", "secrets", "credential", "credentials", "creds"):
        return Name("secret", "random")
    if last in _SESSION or (last == "id" and before[-1:] in (["session"], ["sess"])):
        return Name("session", "strong")
    if last in ("auth", "authorization"):
        return Name("auth", "random" if last == "authorization" else "pair")
    if last == "mnemonic" or (last in ("phrase", "words") and before[-1:] in (["seed"], ["recovery"], ["secret"])):
        return Name("seed-phrase", "words")
    if last in ("cvv", "cvc", "otp") and (not before or before[-1] in ("card", "code", "sms", "security")):
        return Name("code", "digits")
    if last == "seed" and before[-1:] and before[-1] in ("otp", "totp", "hotp", "mfa", "2fa", "wallet", "secret"):
        return Name("secret", "random")
    return None


def _key_like(before: list[str], last: str, name: str) -> Name | None:
    if last in _SIGNATURES:
        return Name("signature", "signature")
    if last not in ("key", "keys") or "public" in before or "pub" in before:
        return None
    if before and (before[-1] in _KEY_OF or (len(before) > 1 and before[-1] in ("secret", "access"))):
        return Name("api-key", "random")
    return Name("api-key", "strong") if before and name.isupper() else None


def _split_glued(words: list[str]) -> list[str]:
    out: list[str] = []
    for word in words:
        if word in _OWNERS:
            out += _OWNERS[word]
            continue
        tail = next((g for g in _GLUED if word.endswith(g)), "") if word.endswith(_GLUED) else ""
        if not tail:
            out.append(word)
            continue
        if word != tail:
            out.append(word[: -len(tail)])
        out += [_GLUED_KEYS[tail], "key"] if tail in _GLUED_KEYS else [tail]
    return out
