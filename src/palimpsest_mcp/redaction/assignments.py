"""A name that means a secret, and the literal that it is given: in code, settings, JSON, XML, commands, prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from .literals import is_conspicuous, is_secret
from .matching import Find, Found, compiled
from .names import Name, secret_name
from .scan import Ranges

_RANK = 5000
_JUDGED = 512  # bytes of a value that are enough to tell what it is
_REACH = 4096  # no value is longer; what goes on is masked up to here, and the rest by its own form if it has one

_CORE = (
    r"pass(?:word|wd|phrase|code|wort)?s?|pwd|pw|psk|secrets?|tokens?|keys?|credentials?|creds|auth(?:orization)?|"
    r"jsessionid|phpsessid|sess(?:ion)?[_.-]?id|sid|csrf|xsrf|sig(?:nature)?|mnemonic|phrase|seed|otp|cv[vc]|jwt|pat|"
    r"bearer|senha|contrase(?:n|ñ)a|kennwort|wachtwoord|密码|パスワード|пароль|비밀번호"
)
_QUOTES = r"\s{0,6}\\{0,15}[\"'`]"
_BY_SIGN = (
    rf"(?i)(?:{_CORE})([\w.-]{{0,40}})((?:{_QUOTES}|\]|\)){{0,3}}[?!]?)"
    r"(\s{0,12}[,;{]?\s{0,40}(?:\d{1,6}[\t:|]\s{0,40})?[+>-]?\s{0,40}\\{0,15}[\"']?\b(?:value|val|content|default)"
    r"\s{0,6}\\{0,15}[\"']?\s{0,6}[:=]|"
    r"\s{0,12}(?::?={1,3}>?|:|<-|\||>|,)|\s{1,3}(?:is|was|ist|est|es)\s{0,3}:?\s)"
)
_BY_SPACE = (
    rf"(?i)(?:--[\w-]{{0,40}}|\b(?:env|setx|setenv|define|set)[ \t]+[\w.]{{0,40}}|\blogin\s+\S{{1,64}}\s+)"
    rf"(?:{_CORE})([\w-]{{0,20}})()([ \t]+)|"
    r"\b(?:requirepass|masterauth)()()([ \t]+)"
)
_IN_PROSE = (
    r"(?i)\b(?:password|passwd|passphrase|pass phrase|passcode|passwort|kennwort|mot de passe|contrase(?:n|ñ)a|"
    r"(?:auth|access|api|bot|bearer)[ _-]?token|(?:api|access|secret|private|signing)[ _-]?key)s?"
    r"(?:[ \t]*\([\w -]{1,20}\))?:?[ \t]"
)
_PATTERNS = (compiled(_BY_SIGN), compiled(_BY_SPACE), compiled(_IN_PROSE))
_TOLD = 72  # bytes of a sentence behind the name in which its value is looked for
_SENTENCE = re.compile(rb"[^\n\r(){}\[\]<>;=|]{0,%d}" % _TOLD)
_WORD = re.compile(rb"[^\s\"'`]+")
_LABEL = re.compile(rb"(?:[A-Za-z]{2,20}[ ]){1,2}$")
_BEFORE = re.compile(
    rb"""(?x)
    [ \t]{0,40} (?: !!(?:str|binary)[ \t]+ )?
    (?: [|>][+-]?\d?[ \t]*\r?\n(?:[ \t]*\d{1,6}[\t:|]|[+>-])?[ \t]+
      | (?:[ ]?\r?\n)?[ \t\r\n]{0,60}(?=[\[(]?\\{0,15}["']) )?
    (?: [A-Za-z_&'][\w&'<>\[\]|.,?]{0,60}\s{1,4}=(?!=)\s{0,12}
      | (?:&?str|[sS]tring|SecretStr|Optional\[str\])\s{0,4}=\s{0,12} )?
    (?: [\[(]\s{0,40} )?
    (?P<call> [A-Za-z_][\w.]{0,40}\(\s{0,10}(?=[bru@]{0,2}["']) )?
    (?: (?:[bBfFrRuU@$]{1,2}[ ]{0,6})?(?P<open> \\{0,15}(?:\"\"\"|'''|["'`]) ) )?
    (?: (?i:bearer|basic|token|apikey|ssws|digest|negotiate)[ \t]+ )?
    """
)
_RUN = re.compile(rb"""[^\s"'`<>(){}\[\],;|\\]+""")
_WIDE_RUN = re.compile(rb"""[^\s"'`]+""")
_PHRASE = re.compile(rb"[a-z]{3,10}(?:[ ,]{1,2}[a-z]{3,10}){11,23}")
_NEXT_FIELD = re.compile(rb"&(?:amp;)?[A-Za-z_][\w.\-\[\]%]{0,40}=")
_NAME_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") | frozenset(
    range(128, 256)
)
_EXPORTED = re.compile(
    rb"(?:^|[\n\r])(?:[ +\-]|\s*\d+[:\t |-]\s*)?\s*(?:export |set |env |ENV )?\s*$|(?:-e|--env)[ =]$"
)


class Assignments:
    """Finds values by their names."""

    gates = (f"(?i)(?:{_CORE})", _BY_SPACE, _IN_PROSE)

    def find(self, gate: int, text: bytes, ranges: Ranges) -> Iterator[Find]:
        """Values whose names stand in these ranges, in order."""
        runs, told = _Runs(text), 0
        for start, end in ranges:
            for match in _PATTERNS[gate].finditer(text, start, end):
                if gate == 2:
                    find, told = _told(text, max(told, match.end()))
                else:
                    find = _value(text, match, runs, by_space=gate == 1)
                if find:
                    yield find


class _Runs:
    """Where values without quotes end. Inside a run that was measured it is known: a row of names costs its length."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._known: dict[re.Pattern[bytes], tuple[int, int]] = {}

    def end(self, pattern: re.Pattern[bytes], left: int) -> int:
        """The end of the run of the pattern that stands at `left`; `left` itself where there is none."""
        start, end = self._known.get(pattern, (0, 0))
        was_cut = end == start + _REACH and end - left < _REACH // 4
        if not start <= left < end or was_cut:
            run = pattern.match(self._text, left, left + _REACH)
            end = run.end() if run else left
            self._known[pattern] = (left, end)
        return end


def _value(text: bytes, match: Found, runs: _Runs, *, by_space: bool) -> Find | None:
    group = 4 if by_space and match.start(1) < 0 else 1
    name_end, separator = match.end(group), match.group(group + 2).strip()
    name_start = _name_start(text, match.start())
    name = _name(text, name_start, name_end, match.start())
    if name is None or not _joins(text, name_start, match.group(group + 1), separator):
        return None
    if name.proof == "signature" and separator != b"=":
        return None
    opened = _BEFORE.match(text, match.end(), match.end() + _REACH)
    assert opened  # every part is optional
    quote, left = opened.group("open") or b"", opened.end()
    right = _closing(text, left, quote) if quote else _run(text, left, name_start, name, separator, runs)
    right = _trimmed(text, left, right, quoted=bool(quote))
    value = text[left : min(right, left + _JUDGED)].decode("utf-8", "replace")
    if quote.endswith(b"`") and " " in value:  # a shell's command
        return None
    if not quote and text[right : right + 1] in (b"(", b"[") and value.replace(".", "").replace("_", "").isalpha():
        return None  # a call, a look-up
    if text[name_start:name_end].endswith(text[left:right]):
        return None  # handed on under its own name
    proof = "random" if opened.group("call") and name.proof == "literal" else name.proof
    return Find(left, right, name.kind, _RANK) if is_secret(value, proof, quoted=bool(quote)) else None


def _told(text: bytes, place: int) -> tuple[Find | None, int]:
    """The password or key that the rest of a sentence tells (`the password for bob has been set to …`), and how far
    that was read."""
    sentence = _SENTENCE.match(text, place)
    limit = sentence.end() if sentence else place
    for word in islice(_WORD.finditer(text, place, limit), 7):
        if word.end() == place + _TOLD:  # cut
            break
        right = _trimmed(text, word.start(), word.end(), quoted=False)
        left = word.start() + len(word.group()) - len(word.group().lstrip(b":,"))
        if is_conspicuous(text[left:right].decode("utf-8", "replace")):
            return Find(left, right, "password", _RANK + 1), right
        place = word.end()
    return None, place


def _name_start(text: bytes, core: int) -> int:
    floor = max(0, core - 64)
    while core > floor and text[core - 1] in _NAME_BYTES:
        core -= 1
    return core


def _name(text: bytes, start: int, end: int, core: int) -> Name | None:
    """What the name means; written as several words (`Secret access key`) it is read with the words before it."""
    spelled = text[start:end].decode("utf-8", "replace").strip(".-")
    if name := secret_name(spelled):
        return name
    if start == core and (label := _LABEL.search(text, max(0, start - 42), start)):
        return secret_name((label.group() + text[start:end]).decode().replace(" ", "_").lower())
    return None


def _joins(text: bytes, name_start: int, closers: bytes, separator: bytes) -> bool:
    """Whether this separator makes a value of what follows, at this place."""
    if separator == b">":
        return text[name_start - 1 : name_start] == b"<" and not closers
    if separator == b",":
        return any(q in closers for q in b"\"'`")
    return separator != b"|" or b"|" in text[max(0, name_start - 4) : name_start]


def _closing(text: bytes, left: int, quote: bytes) -> int:
    """Where the string ends: at its quote with no more backslashes than the opening one has, else with the line."""
    depth = len(quote) - len(quote.lstrip(b"\\"))
    sign = quote.lstrip(b"\\")
    line_end = text.find(b"\n", left, left + _REACH)
    limit = min(len(text), left + _REACH) if line_end < 0 else line_end
    place = left
    while (place := text.find(sign, place, limit)) >= 0:
        slashes = place - left - len(text[max(left, place - 64) : place].rstrip(b"\\")) - max(0, place - 64 - left)
        if slashes <= depth or (depth == 0 and slashes % 2 == 0):
            return place - slashes
        place += 1
    run = _WIDE_RUN.match(text, left, limit)
    return run.end() if run else left


def _run(text: bytes, left: int, name_start: int, name: Name, separator: bytes, runs: _Runs) -> int:
    """Where a value without quotes ends."""
    if name.proof == "words":
        phrase = _PHRASE.match(text, left)
        return phrase.end() if phrase else left
    before = text[max(0, name_start - 40) : name_start]
    exported = separator == b"=" and text[left - 1 : left] == b"=" and _EXPORTED.search(before)
    right = runs.end(_WIDE_RUN if exported else _RUN, left)
    if before[-1:] in (b"?", b"&"):
        return min((place for sign in (b"&", b"#") if (place := text.find(sign, left, right)) >= 0), default=right)
    field = _NEXT_FIELD.search(text, left, right)
    return field.start() if field else right


def _trimmed(text: bytes, left: int, right: int, *, quoted: bool) -> int:
    """The end without what closes the sentence or the brackets around a value."""
    value = text[left:right].rstrip(b" \t\r\\" if quoted else b" \t\r\\,;:")
    value = value.removesuffix(b"\xe2\x80\xa6")  # an ellipsis, as programs end a text that they cut
    if not quoted or value.endswith(b".."):
        value = value.rstrip(b".,;:")
    for _ in range(0 if quoted else 4):
        opening = _OPENING.get(value[-1:])
        if opening is None or value.count(value[-1:]) <= value.count(opening):
            break
        value = value[:-1].rstrip(b".,;:")
    return left + len(value)


_OPENING = {b")": b"(", b"]": b"[", b"}": b"{", b">": b"<"}
