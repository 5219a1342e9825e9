"""A name that means a secret, and the literal that it is given: in code, settings, JSON, XML, commands, prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from ...models.text import late
from .formats import (
    COMMANDS,
    Below,
    password_below,
    password_in_string,
    password_in_url,
    password_of_command,
    password_unquoted,
    phrase_after,
    told_word,
    value_below,
)
from .literals import Name, is_secret, is_stand_in, looks_random, secret_name
from .passwords import CALLED, CALLED_ALONE, SAYS, SAYS_WITHOUT_SPACE, SETS, is_conspicuous
from .patterns import Find, PatternMatch, compiled
from .scan import Ranges

_RANK = 5000
_JUDGED = 512  # bytes of a value that are enough to tell what it is
_REACH = 4096  # no value is longer; what goes on is masked up to here, and the rest by its own form if it has one


def _any_of(words: tuple[str, ...]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_CORE = (
    r"pass(?:word|wd|phrase|code|wort)?s?|pwd|pw|psk|secrets?|tokens?|keys?|credentials?|creds|auth(?:orization)?|"
    r"jsessionid|phpsessid|sess(?:ion)?[_.-]?id|sid|csrf|xsrf|sig(?:nature)?|mnemonic|phrase|seed|otp|cv[vc]|jwt|pat|"
    r"bearer|senha|contrase(?:n|ñ)a|kennwort|wachtwoord|密码|密碼|パスワード|пароль|비밀번호|"
    r"hasło|şifre|lösenord|heslo|كلمة (?:المرور|السر)"
)
_QUOTES = r"\s{0,6}\\{0,15}[\"'`]"
_BY_SIGN = (
    rf"(?i)(?:{_CORE})([\w.-]{{0,40}})((?:{_QUOTES}|\]|\)|\*\*){{0,3}}[?!]?)"
    r"(\s{0,12}(?:[,;{]|:\s{0,12}\{?)?\s{0,40}"
    r"(?:\\{0,15}[\"']?\w{1,20}\\{0,15}[\"']?\s?:\s?\\{0,15}[\"']?\w{1,20}\\{0,15}[\"']?,\s{0,40}){0,2}"
    r"(?:\w{1,20}\s{0,8}=\s{0,3}[\w\"]{1,40}\n\s{0,20}){0,3}(?:\d{1,6}[\t:|]\s{0,40})?[+>-]?\s{0,40}\\{0,15}[\"']?\b(?:value|val|content|default)"
    r"\s{0,6}\\{0,15}[\"']?\s{0,6}[:=]|"
    rf"\s{{0,12}}(?::?={{1,3}}>?|:\*\*|:|：|＝|<-|\||>|,)|\s{{1,3}}(?:{_any_of(SAYS)})\s{{0,3}}:?\s|\s?(?:{_any_of(SAYS_WITHOUT_SPACE)}))"
)
_BY_SPACE = (
    rf"(?i)(?:--[\w-]{{0,40}}|\B-\w{{0,20}}|"
    r"\b(?:env|setx|setenv|define|set)[ \t]+[\w.]{0,40}|\blogin\s+\S{1,64}\s+)"
    rf"(?:{_CORE})([\w-]{{0,20}})()([ \t]+)|"
    r"\b(?:requirepass|masterauth)()()([ \t]+)"
)
_ALONE = tuple(rf"\b{word}" if word[0].isascii() else word for word in CALLED_ALONE)  # \b knows no other letters
_IN_PROSE = (
    rf"(?i)(?:{_any_of(CALLED)}|{_any_of(_ALONE)}|"
    r"(?:auth|access|api|bot|bearer)[ _-]?token|(?:api|access|secret|private|signing)[ _-]?key)s?"
    r"(?:[ \t]*\([\w -]{1,20}\))?:?[ \t]"
)
_IN_URL = r"[A-Za-z0-9]:(?:\\?/){2}[^\s/?#@:\"'<>()\[\]{}|\x60\\]{0,100}:"
_IN_COMMAND = rf"\b(?:{_any_of(COMMANDS)})[ \t]"
_NAMES = compiled(_BY_SIGN, groups=False)
_PATTERNS = (compiled(_BY_SIGN), compiled(_BY_SPACE), compiled(_IN_PROSE), compiled(_IN_URL), compiled(_IN_COMMAND))
_LONGEST_LINE = 600  # bytes of a command that are read for its options
_SAYS = frozenset(word.encode() + end for word in (*SAYS, *SETS) for end in (b"", b":"))
_SAID_BESIDE = 2  # of the words of a phrase that follows the name itself, as `manager` and `policy` do
_TOLD = 96  # bytes of a sentence behind the name in which its value is looked for
_SENTENCE = late(rb"[^\n\r]{0,%d}" % _TOLD)
_WORD = late(rb"""[^\s"'`](?:[^\s"'`\xc2]|\xc2[^\xa0]|["'](?=\w))*""")
_NO_WORD = late(
    rb"[A-Za-z_.-]+\d*[=:]|--?[a-z]|[!-/:-@\[-^{-~]+$|[)\]}]|[>|](?![A-Za-z0-9])"
)  # what begins another field, or is code
_ID = late(rb"(?:\w{2,8}[:=])?[0-9A-Fa-f-]{6,}$")
_AS_VALUE = late(rb"""\b(?:type|format|autocomplete|for|id)["']?\s?[=:]\s?\\*["']?$""")
_LABEL = late(rb"(?:[A-Za-z]{2,20}[ ]){1,2}$")
_BEFORE = late(
    rb"""(?x)
    (?:[ \t]|\xc2\xa0){0,40} (?: !!(?:str|binary)[ \t]+ )?
    (?: [|>][+-]?\d?[ \t]*\r?\n(?:[ \t]*\d{1,6}[\t:|]|[+>-])?[ \t]+
      | (?:[ ]?\r?\n)?[ \t\r\n]{0,60}(?=[\[(]?\\{0,15}["']) )?
    (?: [A-Za-z_&'][\w&'<>\[\]|.,?]{0,60}\s{1,4}=(?!=)\s{0,12}
      | (?:&?str|[sS]tring|SecretStr|Optional\[str\])\s{0,4}=\s{0,12} )?
    (?: [\[(]\s{0,40} )?
    (?P<call> [A-Za-z_][\w.:]{0,40}\(\s{0,10}(?=[bru@]{0,2}["']) )?
    (?: (?:[bBfFrRuU@$]{1,2}[ ]{0,6})?(?P<open> \\{0,15}(?:\"\"\"|'''|["'`]) ) )?
    (?: (?i:bearer|basic|token|apikey|ssws|digest|negotiate)[ \t]+ )?
    """
)
_RUN = late(rb"""[^\s"'`<>(){}\[\],;|\\]+""")
_WIDE_RUN = late(rb"""[^\s"'`]+""")
_PHRASE = late(rb"[a-z]{3,10}(?:[ ,]{1,2}[a-z]{3,10}){11,23}")
_NEXT_FIELD = late(rb"&(?:amp;)?[A-Za-z_][\w.\-\[\]%]{0,40}=")
_NAME_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-" + bytes(range(128, 256))
_EXPORTED = late(rb"(?:^|[\n\r])(?:[ +\-]|\s*\d+[:\t |-]\s*)?\s*(?:export |set |env |ENV )?\s*$|(?:-e|--env)[ =]$")


class Assignments:
    """Finds values by their names."""

    gates = (f"(?i)(?:{_CORE})", _BY_SPACE, _IN_PROSE, _IN_URL, _IN_COMMAND)

    def find(self, gate: int, text: bytes, ranges: Ranges) -> Iterator[Find]:
        """Values whose names stand in these ranges, in order."""
        if gate >= 3:
            yield from _in_urls(text, ranges) if gate == 3 else _in_commands(text, ranges)
            return
        runs, told, done = _Runs(text), 0, 0
        for start, end in ranges:
            for match in _PATTERNS[gate].finditer(text, start, end) if gate else _named(text, start, end):
                if match.start() < done:  # inside a value
                    continue
                if gate == 2:
                    find, told = _told(text, max(told, match.end()), phrases=not _is_alone(match.group()))
                else:
                    find = _value(text, match, runs, by_space=gate == 1)
                if find:
                    done = find.end
                    yield find


def _named(text: bytes, start: int, end: int) -> Iterator[PatternMatch]:
    """Names that may mean a secret, with the sign behind them. Most lines of a log that counts tokens have others."""
    for place, _ in _NAMES.spans(text, start, end):
        if _may_be_name(text, place) and (match := _PATTERNS[0].match(text, place, end)):
            yield match


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


def _in_urls(text: bytes, ranges: Ranges) -> Iterator[Find]:
    for start, end in ranges:
        for match in _PATTERNS[3].finditer(text, start, end):
            if written := password_in_url(text, match.end()):
                yield Find(*written, "url-password", _RANK)


def _in_commands(text: bytes, ranges: Ranges) -> Iterator[Find]:
    done: dict[bytes, int] = {}
    for start, end in ranges:
        for match in _PATTERNS[4].finditer(text, start, end):
            command = match.group()[:-1]
            if match.end() <= done.get(command, 0):
                continue
            line_end = text.find(b"\n", match.end(), match.end() + _LONGEST_LINE)
            done[command] = min(len(text), match.end() + _LONGEST_LINE) if line_end < 0 else line_end
            for written in password_of_command(text, command, match.end() - 1, done[command]):
                yield Find(*written, "password", _RANK)


def _value(text: bytes, match: PatternMatch, runs: _Runs, *, by_space: bool) -> Find | None:
    group = 4 if by_space and match.start(1) < 0 else 1
    core, name_end = match.start(), match.end(group)
    name_start = _name_start(text, core)
    name = _name(text, name_start, name_end, core)
    if name is None:
        return None
    separator = match.group(group + 2).strip().rstrip(b"*")
    if not _joins(text, name_start, match.group(group + 1), separator):
        return None
    if name.proof == "signature" and separator != b"=":
        return None
    if not by_space and (below := value_below(text, match.end(), name_start, name_end, separator)):
        return _below(text, below, name)
    opened = _BEFORE.match(text, match.end(), match.end() + _REACH)
    assert opened  # every part is optional
    quote, left = opened.group("open") or b"", opened.end()
    if name.proof == "literal":
        return _password(
            text, left, quote, name_start, name_end, separator, by_space=by_space, call=bool(opened.group("call"))
        )
    right = _closing(text, left, quote) if quote else _run(text, left, name_start, name, separator, runs)
    right = _trimmed(text, left, right, quoted=bool(quote))
    value = text[left : min(right, left + _JUDGED)].decode("utf-8", "replace")
    if quote.endswith(b"`") and " " in value:  # a shell's command
        return None
    if not quote and text[right : right + 1] in (b"(", b"[") and value.replace(".", "").replace("_", "").isalpha():
        return None  # a call, a look-up
    if text[name_start:name_end].endswith(text[left:right]):
        return None  # handed on under its own name
    return Find(left, right, name.kind, _RANK) if is_secret(value, name.proof, quoted=bool(quote)) else None


def _below(text: bytes, below: Below, name: Name) -> Find | None:
    if name.proof == "literal":
        written = password_below(text, below)
        return Find(*written, "password", _RANK) if written else None
    value = text[below.start : min(below.end, below.start + _JUDGED)].decode("utf-8", "replace").strip()
    return Find(below.start, below.end, name.kind, _RANK) if is_secret(value, name.proof, quoted=False) else None


def _password(
    text: bytes,
    left: int,
    quote: bytes,
    name_start: int,
    name_end: int,
    separator: bytes,
    *,
    by_space: bool,
    call: bool,
) -> Find | None:
    if quote:
        written = password_in_string(text, left, _closing(text, left, quote), quote)
    else:
        phrases = not _is_alone(text[name_start:name_end])
        written = password_unquoted(text, left, name_start, separator, by_space=by_space, phrases=phrases)
    if written is None or text[name_start:name_end].endswith(text[written.start : written.end]):
        return None  # handed on under its own name
    return Find(written.start, written.end, "password", _RANK)


def _is_alone(name: bytes) -> bool:
    """Whether it is a name behind which no phrase is looked for."""
    told = name.decode("utf-8", "replace").lower()
    return told.startswith(CALLED_ALONE) and not told.startswith(CALLED)


def _told(text: bytes, place: int, *, phrases: bool) -> tuple[Find | None, int]:
    """The password or key that the rest of a sentence tells (`the password for bob has been set to …`), and how far
    that was read."""
    sentence = _SENTENCE.match(text, place)
    limit = sentence.end() if sentence else place
    if phrases and (phrase := phrase_after(text, place, most_said=_SAID_BESIDE)):
        return Find(*phrase, "password", _RANK + 1), phrase.end
    at_its_place = True
    for word in islice(_WORD.finditer(text, place, limit), 7):
        if word.end() == place + _TOLD:  # cut
            break
        says = word.group() in _SAYS
        quoted = text[word.start() - 1 : word.start()] in (b"'", b'"', b"`")
        if not says and not quoted and _NO_WORD.match(word.group()):
            break
        if phrases and says and (phrase := phrase_after(text, word.end() + 1)):
            return Find(*phrase, "password", _RANK + 1), phrase.end
        left, right = told_word(text, *word.span())
        if not phrases and _ID.match(text, left, right):  # of a `clave pública`, which opens nothing
            break
        if is_conspicuous(text[left:right].decode("utf-8", "replace"), at_its_place=at_its_place):
            return Find(left, right, "password", _RANK + 1), right
        place, at_its_place = word.end(), says
    return None, place


def _may_be_name(text: bytes, core: int) -> bool:
    behind = text[core : core + 64]
    rest = behind.lstrip(_NAME_BYTES)
    if not rest or behind[0] >= 128:  # too long, or a script without gaps between words
        return True
    before = text[core - 64 if core > 64 else 0 : core]
    begun, name = before[len(before.rstrip(_NAME_BYTES)) :], behind[: -len(rest)]
    if begun or not name.isalnum():
        return _is_secret_name(begun + name)
    return _name(text, core, core + len(name), core) is not None


@lru_cache(maxsize=8192)
def _is_secret_name(name: bytes) -> bool:
    return secret_name(name.decode("utf-8", "replace").strip(".-")) is not None


def _name_start(text: bytes, core: int) -> int:
    floor = core - 64 if core > 64 else 0
    return floor + len(text[floor:core].rstrip(_NAME_BYTES))


def _name(text: bytes, start: int, end: int, core: int) -> Name | None:
    """What the name means; written as several words (`Secret access key`) it is read with the words before it."""
    spelled = text[start:end].decode("utf-8", "replace").strip(".-")
    if name := secret_name(spelled):
        return name
    if start < core and text[core] >= 128 and text[core - 1] >= 128:
        return secret_name(text[core:end].decode("utf-8", "replace"))
    if start == core and spelled.isalnum() and (label := _LABEL.search(text, max(0, start - 42), start)):
        return secret_name((label.group() + text[start:end]).decode().replace(" ", "_").lower())
    return None


def _joins(text: bytes, name_start: int, closers: bytes, separator: bytes) -> bool:
    """Whether this separator makes a value of what follows, at this place."""
    if separator == b">":
        return text[name_start - 1 : name_start] == b"<" and not closers
    before = text[max(0, name_start - 24) : name_start]
    if separator[:1] in (b",", b":") and _AS_VALUE.search(before):
        return False
    if before.endswith((b"${", b"{{", b"{{ ", b"%(")):
        return False
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

# Cookie headers: the names stay, values that a machine drew go.


_HEADER_SOURCE = (
    r"(?i)\b(?:set-)?cookies?[\"'\]\\]{0,6}\s{0,4}[:=,]\s{0,4}[\[(]?[bf]?[\"'\\]{0,6}|"
    r"\bcurl\b.{0,300}?\s(?:-b|--cookie)[ =][\"']?"
)
_HEADER = compiled(_HEADER_SOURCE)
_PAIR = late(rb"([\w.!#$%^|~+-]{1,80})=([^;\s\"'\\,<>]{4,4096})")
_LONGEST = 8192
_COOKIE_RANK = 4900


class Cookies:
    """Finds the values of `Cookie` and `Set-Cookie`, each pair by itself."""

    gates = (_HEADER_SOURCE,)

    def find(self, gate: int, text: bytes, ranges: Ranges) -> Iterator[Find]:
        """Secret cookie values of the headers in these ranges."""
        done = 0
        for start, end in ranges:
            for header in _HEADER.finditer(text, start, end):
                place = max(done, header.end())
                line_end = text.find(b"\n", place, place + _LONGEST)
                done = min(len(text), place + _LONGEST) if line_end < 0 else line_end
                yield from _values(text, place, done)


def _values(text: bytes, place: int, limit: int) -> Iterator[Find]:
    for pair in _PAIR.finditer(text, place, limit):
        value = pair.group(2).decode("utf-8", "replace")
        known = secret_name(pair.group(1).decode("utf-8", "replace"))
        if not is_stand_in(value) and (looks_random(value) or (known and len(value) >= 8)):
            yield Find(pair.start(2), pair.end(2), "cookie", _COOKIE_RANK)
