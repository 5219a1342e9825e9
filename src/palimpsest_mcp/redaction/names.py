"""Which names mean a secret: read word by word, so that `max_tokens` and `secret_name` do not."""

from __future__ import annotations

import re
from functools import lru_cache
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


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+|\d+")
_PASSWORD = frozenset(
    "password passwords passwd pwd passphrase passcode passwort kennwort senha contrasena contraseña wachtwoord psk requirepass masterauth "
    "密码 パスワード пароль 비밀번호".split()
)
_SHORT_PASSWORD = frozenset({"pass", "pw", "passw"})
_GLUED = ("password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "secretkey", "privatekey")
_GLUED_KEYS = {"apikey": "api", "accesskey": "access", "secretkey": "secret", "privatekey": "private"}
# What may follow the word that counts without changing what the value is.
_SUFFIXES = frozenset(
    "dev prod production staging stage test tests old new current backup primary secondary main default live base value "
    "b64 base64 raw plain plaintext hex string str enc encrypted env local here".split()
)
_NOT_TOKEN = frozenset(
    "max min num n no count total input output prompt completion cached cache next prev previous page continuation "
    "cursor sync eos bos pad unk cls sep mask special stop start end first last word sub lex syntax parse per used "
    "remaining limit budget context reasoning text image audio video design color css theme think thinking generated "
    "new-line newline unexpected expected current-token keyword operator punctuation string number current left right "
    "delimiter whitespace comment identifier search lexer parser draft target source avg average mean resume public pub".split()
)
_NOT_PASSWORD = frozenset(
    "no forgot forgotten forget reset show hide toggle change changed require required requires need needs has have is "
    "check verify validate invalid wrong incorrect missing min max empty without set allow enable disable use".split()
)
_KEY_OF = frozenset(
    "api access secret private signing sign signature encryption encrypt decrypt decryption master account auth "
    "authentication shared license licence subscription service consumer storage admin server deploy deployment hmac "
    "jwt aes wallet root write ingest integration functions function host webhook bot app application client project "
    "rest live sandbox merchant security secure crypt crypto cipher developer dev openai anthropic claude gemini "
    "mistral cohere groq tavily exa serper serpapi brave google gcp aws azure github gitlab stripe twilio sendgrid "
    "mailgun mailchimp postmark datadog dd newrelic relic sentry cloudflare fastly algolia mapbox maps firebase fcm "
    "heroku supabase pinecone qdrant weaviate wandb hf huggingface replicate deepseek openrouter perplexity voyage jina "
    "firecrawl elevenlabs deepgram assemblyai rapidapi telegram slack discord notion linear jira okta auth0 vault "
    "storageaccount cosmos cosmosdb servicebus search maps weather openweather owm tmdb omdb news nasa polygon finnhub "
    "alphavantage binance coinbase kraken etherscan infura alchemy moralis kubernetes k8s ci npm pypi wep wpa".split()
)
_SESSION_WORDS = frozenset({"sid", "sessid", "phpsessid", "jsessionid", "sessionid", "aspsessionid"})
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
    if {*before, last} & {"csrf", "xsrf", "csrfmiddleware", "authenticity", "requestverification", "verification"}:
        return Name("csrf-token", "random") if last in ("token", "csrf", "xsrf", "key", "nonce") else None
    if last in ("token", "tokens", "jwt", "pat", "bearer"):
        return None if _NOT_TOKEN & {*before} else Name("token", "random")
    if last in ("secret", "secrets", "credential", "credentials", "creds"):
        return Name("secret", "random")
    if last in _SESSION_WORDS or (last == "id" and before[-1:] in (["session"], ["sess"])):
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
        tail = next((g for g in _GLUED if word.endswith(g)), "")
        if not tail:
            out.append(word)
            continue
        if word != tail:
            out.append(word[: -len(tail)])
        out += [_GLUED_KEYS[tail], "key"] if tail in _GLUED_KEYS else [tail]
    return out
