"""What a value is: a stand-in, a reference, words, or something drawn by a machine."""

from __future__ import annotations

import base64
import binascii
import re
import string
import tomllib
from functools import lru_cache
from importlib import resources
from typing import Literal, NamedTuple, TypeAlias

from ...models.text import late
from ..languages import word_lists
from .patterns import compiled

# Which names mean a secret: read word by word, so that `max_tokens` and `secret_name` do not.

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


_WORD = late(r"[^\W\d_]*[^\W\d_a-zA-Z][^\W\d_]*|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LISTS: dict[str, list[str]] = word_lists("names")
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
_NUMBERED = frozenset({"b", "v"})
"""What a number belongs to at a name's end: `_B64`, `_v2`."""


def words_of(name: str) -> list[str]:
    """The words of an identifier, lower case: `dbAccessKey_2` gives db, access, key, 2."""
    return [word.lower() for word in _WORD.findall(name)]


@lru_cache(maxsize=8192)
def secret_name(name: str) -> Name | None:
    """What the name says about its value, or None when its value is no secret."""
    words = _split_glued(words_of(name))
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in _SUFFIXES):
        if words.pop().isdigit() and len(words) > 1 and words[-1] in _NUMBERED:
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


# How unlikely letters, digits and signs follow one another, in bits.


PAIRS = {
    first + second: int(bits)
    for first, row in zip(
        string.ascii_lowercase,
        tomllib.loads(resources.files(__package__ or "").joinpath("letters.toml").read_text("utf-8"))["pairs"],
        strict=True,
    )
    for second, bits in zip(string.ascii_lowercase, row, strict=True)
}
"""What the second letter of a pair says behind the first one, in words."""
_OF_ONE_KIND = late(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+|\d+|[^A-Za-z0-9]")


def bits(value: str) -> int:
    """How much a value says; what a machine drew says more than five bits a character."""
    said = 0
    for piece in _OF_ONE_KIND.findall(value):
        if piece.isdigit():
            said += 5 + 2 * len(piece)
        elif piece.isascii() and piece.isalpha():
            low = piece.lower()
            said += 7 + sum(PAIRS[low[i : i + 2]] for i in range(len(low) - 1))
        else:
            said += 4
    return said


# Short words count at a word's beginning only.
_STAND_IN = late(
    r"(?i)(?:(?<![a-z0-9])(?:your|todo|fake|mock|paste|lorem|dummy|sample|hidden|masked|insert|replace|removed|fixme)|"
    r"my[-_]?(?:secret|password|token|api|key|pass)|example|change[-_ ]?(?:me|this|it)|placeholder|redacted|filtered|"
    r"censored|goes[-_ ]here|[-_ ]here\b|x{4,}|\*{3,}|\.{3,}|…|•{2,}|_{4,}|-{4,}|0{6,}|"
    r"(?:0?123456789){1,8}(?:012?|10)?|(?:abcdefgh|abcdef(?![a-z])|abc123|xyz789)(?:ijklmnopqrstuvwxyz|ijkl|ij|i)?(?:1234567)?|"
    r"foobar|not[-_ ]?(?:set|used|needed|real)|<[^<>]{0,60}>|\[[a-z _-]{3,40}\])"
)
_MAYBE_STAND_IN = compiled(  # quick, for what is no stand-in at all
    r"(?i)your|todo|fake|mock|paste|lorem|dummy|sample|hidden|masked|insert|replace|removed|fixme|my[-_]?[sptak]|example|"
    r"change[-_ ]?[mti]|placeholder|redacted|filtered|censored|[-_ ]here|xxxx|\*\*\*|\.\.\.|…|••|____|----|000000|"
    r"123456789|abcdef|abc123|xyz789|foobar|not[-_ ]?[sunr]|<[^<>]{0,60}>|\[[a-z _-]{3,40}\]"
)
_MAYBE_STAND_IN_WORD = late(
    r"(?i)example|your|todo|fake|mock|paste|lorem|dummy|sample|hidden|masked|insert|replaced?|removed|fixme|change(?:me)?|"
    r"placeholder|redacted|filtered|censored|x{4,}|\*{3,}|\.{3,}|_{4,}|-{4,}|0{6,}|1234567890|abcdefgh|foobar"
)
# What people write around a stand-in: none of it is drawn.
_AROUND = late(
    r"(?i)access|account|actual|add|admin|anthropic|api|app|auth|aws|azure|bearer|bot|change|claude|client|code|com|copy|"
    r"credential|database|default|demo|dev|enter|fill|for|from|gemini|generate|github|gitlab|goes|google|here|hooks?|https?|"
    r"insert|invalid|key|live|local|long|name|new|openai|org|pass(?:word|wd|phrase)?|paste|please|private|prod(?:uction)?|project|"
    r"public|put|pwd|random|real|replace|repo|secret|secure|server|services?|set|slack|some|string|strong|stripe|super|test|"
    r"that|the|this|tokens?|update|url|use|user|valid|value|webhook|with|www|your"
)
_JUDGED = 128  # characters of a value that are enough to tell
_BESIDE = 7  # characters beside a stand-in that make no secret of it
_REFERENCE = late(
    r"""(?x)
    \$\{.* | \$\(.* | \$[A-Za-z_]\w*$ | \$\d$ | \{\{.* | \{[\w.\[\]"' -]*\}?$ | \#\{.* | @\w+@$ | %\(\w+\)s | %[sdrv]$
    | %[A-Z_]+%$ | <%.* | `.* | !\w+.* | \*\w+$ | &\w+$ | \(.* | \[.* | \.{1,2}/.* | [A-Za-z]:\\.* | \w+\(.*
    | (?:process|import|os|env|var|vars|secrets|settings|config|cfg|self|this|System|Deno|data|local|module|args|params|
      options|opts|request|req|ctx|context|state|props|user|kwargs|event|session|app|conf|values|Values)\b(?:\?)?[.\[].*
    | arn:.* | projects/.* | vault:.* | op://.* | ssm:.* | file:.* | \w+://[^\s@]*$
    """
)
_TOP_FOLDER = late(
    r"~/|/(?:app|bin|boot|data|dev|etc|home|lib|mnt|nix|opt|private|proc|root|run|srv|sys|tmp|usr|users|var|volumes|work)"
    r"(?:/|$)",
    re.IGNORECASE,
)
_CONSTANT = late(
    r"(?i)(?:null|none|nil|true|false|undefined|nan|void|yes|no|on|off|n/a|na|string|str|int|integer|number|boolean|bool|"
    r"bytes|object|any|optional|required|text|varchar|char|binary|uuid|default|unset|empty|ignored?|disabled|enabled|"
    r"admin|root|guest|user|username|login|bearer|basic|jwt|oauth2?|hidden|invalid|valid|expired|missing|inherit|"
    r"same-origin|include|omit|prompt|stdin|interactive|"
    r"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY)$"
)
_PLAIN = late(
    r"(?x)[-+]?[\d_.,:/ eE+-]*\d[a-zA-Z%]{0,3}$ | v?\d+(?:\.\w+)+(?:[-+.][\w.+-]*)?$ | \d{4}-\d\d-\d\d.* "
    r"| [\w.+-]+\.(?:pem|key|crt|cer|json|ya?ml|toml|txt|env|py|js|ts|go|rs|rb|sh|md|cfg|ini|conf|html?|css|png|jpe?g|"
    r"  gz|zip|log|db|sock)$"
    r"| (?:sha\d{1,3}|md5|blake\w+)[:-].* | [A-Za-z][A-Za-z_-]*[-@:=]v?\d+(?:\.\d+)+[\w.-]{0,20}$"
)
_MEMBER = late(r"[A-Za-z_]+(?:(?:\.|->|::|\?\.)[A-Za-z_]+)+$")
_SCOPE = late(r"[^/]*/\d{8}/[a-z0-9-]+/[a-z0-9-]+/aws4_request$")
_UUID = late(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$")
_HEX = late(r"(?:0x)?(?:[0-9a-f]+|[0-9A-F]+)$")
_PIECE = late(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+|\d+")
# Pairs of letters that one word in a thousand has side by side (counted over 6,811 words of code and prose).
_ODD = late(
    r"a[q]|b[hknqvwxz]|c[bgjqxz]|d[kpqxz]|f[bghjkmnpqvwxz]|g[fjkpqvwxz]|h[bcdfghjkqvwxz]|i[hwy]|"
    r"j[bcdfghjklmnqrtvwxyz]|k[bcfhjkmpqvxz]|l[hjqrwxz]|m[fghjkqrvwxyz]|n[jqwxz]|o[q]|p[fjkqvwxz]|"
    r"q[abcdefghijklmnopqrstvwxyz]|r[hjqxz]|s[bjxz]|t[jqvxz]|u[hjquvwyz]|v[bcdfghjklnpqrtuvwxyz]|"
    r"w[bcfgjkpquvwxyz]|x[ghjknquvwxyz]|y[bdfghjkqruvxy]|z[bcdfghjklmnpqrstuvwxyz]|[bcdfghjklmnpqrstvwxz]{5,}"
)
_DRAWN_BITS = 5.5  # a character, from 16 on: names in programs with digits in them have less
_VOWEL = late(r"[aeiouy]")


def stands_in(value: str, beside: int) -> bool:
    """Whether the value is a stand-in (`example`, `xxxx`, `your-key-here`) and no more than that.

    Args:
        beside: how many characters may stand beside it that no words of its kind explain; with more it is a secret
            that happens to hold a stand-in.
    """
    return _stands_in(value[:_JUDGED], beside)


@lru_cache(maxsize=4096)
def _stands_in(value: str, beside: int) -> bool:
    if not _MAYBE_STAND_IN.search(value.encode()):
        return False
    rest, found = _STAND_IN.subn(" ", value)
    return bool(found) and sum(map(str.isalnum, _AROUND.sub(" ", rest))) <= beside


def without_words(value: str) -> str:
    """The value without stand-ins and the words that people write around them, wherever they stand in it."""
    return _without_words(value[:_JUDGED])


@lru_cache(maxsize=4096)
def _without_words(value: str) -> str:
    return _AROUND.sub("", _MAYBE_STAND_IN_WORD.sub("", value))


def is_stand_in(value: str) -> bool:
    """Whether the value stands for a secret to come, names where it is, or is a constant: nothing to hide."""
    if stands_in(value, _BESIDE) or _REFERENCE.match(value) or _CONSTANT.match(value):
        return True
    return len(set(value)) <= 2 or _is_path(value)


def _is_path(value: str) -> bool:
    """Whether it is a path; base64 may begin with a slash too."""
    if not value.startswith(("/", "~/")):
        return False
    return bool(_TOP_FOLDER.match(value)) or not any(len(p) >= 16 and looks_random(p) for p in value.split("/"))


def is_hex(value: str) -> bool:
    """Whether it is a hexadecimal number, as hashes are."""
    return bool(_HEX.match(value))


def is_secret(value: str, proof: Proof, *, quoted: bool) -> bool:
    """Whether a value proves to be a secret by what the name before it asks for; passwords are judged apart."""
    if len(value) < 3 or is_stand_in(value):
        return False
    if not quoted and _MEMBER.match(value):
        return False
    if proof == "digits":
        return value.isdigit() and 3 <= len(value) <= 8
    if proof == "words":
        return value.islower() and 12 <= len(value.split()) <= 24
    if proof == "pair":
        return _is_pair(value)
    if proof == "signature":
        return not quoted and (len(value) >= 20 and (looks_random(value) or bool(_HEX.match(value))))
    if proof == "strong":
        return len(value) >= 16 and looks_random(value) and not _UUID.match(value) and not _HEX.match(value)
    return looks_random(value)


def looks_random(value: str) -> bool:
    """Whether a machine drew it: too many changes between classes of characters, or letters that make no words."""
    return _looks_random(value[:_JUDGED])


@lru_cache(maxsize=4096)
def _looks_random(value: str) -> bool:
    if len(value) < 8 or " " in value or _PLAIN.match(value) or _SCOPE.match(value):
        return False
    if _UUID.match(value) or (len(value) >= 16 and _HEX.match(value) and not value.isalpha()):
        return True
    pieces = _PIECE.findall(value)
    size = sum(map(len, pieces))
    if size < 8:
        return False
    letters = [piece for piece in pieces if not piece.isdigit()]
    digits = [piece for piece in pieces if piece.isdigit()]
    if not letters or (not digits and size < 16):
        return False
    odd = sum(len(piece) for piece in letters if not _is_word(piece))
    short = [len(piece) for piece in pieces if len(piece) <= 3]
    if odd * 4 >= size or (len(short) * 3 >= size and len(short) >= 4) or (len(digits) >= 3 and len(short) >= 4):
        return True
    return size >= 16 and ((odd + sum(short)) * 10 >= size * 6 or bits(value) >= _DRAWN_BITS * len(value))


def _is_word(piece: str) -> bool:
    """Whether letters of one case could be a word or a usual abbreviation."""
    lowered = piece.lower()
    if len(piece) <= 3:
        return True
    if piece.isupper() and len(piece) <= 5:
        return True
    return bool(_VOWEL.search(lowered)) and not _ODD.search(lowered)


def _is_pair(value: str) -> bool:
    try:
        decoded = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in decoded and decoded.isascii() and decoded.decode().isprintable()
