"""Whether what stands under a password's name is one: not a reference, not code, not a stand-in, not a word."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal, TypeAlias

from ...models.text import late
from ..languages import word_lists
from .literals import COMMON_PASSWORDS, PAIRS, bits, looks_random, stands_in

Form: TypeAlias = Literal["string", "plain", "inline"]
"""How a value is written: between quotes; without, and alone to the end of its line or word; in the midst of something
that may be code or prose."""

_DATA: dict[str, list[str]] = word_lists("passwords")
_SENTENCE, _ABOUT, _CODE = frozenset(_DATA["sentence"]), frozenset(_DATA["about"]), frozenset(_DATA["code"])
_SAID = _ABOUT | frozenset(_DATA["said"])
CALLED = tuple(_DATA["called"])
"""What a password is called in a sentence."""
CALLED_ALONE = tuple(_DATA["called_alone"])
"""The same where no phrase is looked for behind it."""
SETS = tuple(_DATA["sets"])
"""What stands before it in a sentence besides."""
SAYS, SAYS_WITHOUT_SPACE = tuple(_DATA["says"]), tuple(_DATA["says_without_space"])
"""What stands between that and the password: with white space around it, and without."""
ENDS = tuple(_DATA["ends"])
"""What ends a password in a sentence besides white space."""
QUOTES = tuple((pair[0], pair[1]) for pair in _DATA["quotes"])
"""Quotation marks that no program has."""
MOST_SAID = 3
"""Points that the first four words of a phrase may have: two for each that sentences about passwords are made of, one
for each that is formed like those, and for two of them at most."""
_NOTHING = late(  # constants, and what covers a value
    r"(?i)(?:null|none|nil|true|false|undefined|nan|void|yes|no|on|off|n/a|na|unset|empty|missing|disabled|enabled|"
    r"(?:std::)?(?:w?string|str|bytes|char|text|secretstr|object|any|uuid|binary|varchar|u?int\d*|[a-z]\w*array)[!?]?|"
    r"basic|bearer|guest|anonymous|[\W_]*|<[^<>]{0,60}>|\[[\w .-]{3,40}\]?|\([a-z][a-z ]{2,40}\)?)$"
)
_PLAIN = late(
    r"(?x)[-+]?\d+(?:[.,:/_-]\d+)+[a-zA-Z%]{0,3}$ | \d{1,3}[a-zA-Z%]{0,3}$ | v?\d+(?:\.\w+){1,4}(?:[-+][\w.+-]*)?$ "
    r"| \d{4}-\d\d-\d\d[T ]?[\d:.Z+-]*$ | [\w.+-]+\.(?:pem|key|crt|cer|json|ya?ml|toml|txt|env|py|js|ts|go|rs|rb|sh|md|"
    r"  cfg|ini|conf|html?|css|png|jpe?g|gz|zip|log|db|sock)$ | [A-Za-z]+/\d+(?:\.\d+)* $ "
    r"| (?:sha\d{1,3}|md5|blake\w+)[:-].* "
    r"| [A-Za-z][A-Za-z_-]*[-@:=]v?\d+(?:\.\d+)+[\w.-]{0,20}$"
)
_COUNTED = late(r"[^\x00-\x7f]*\d+[^\x00-\x7f]+$")  # `12文字以上`
_ELSEWHERE = late(  # where the value is kept
    r"(?:arn|projects|vault|op|ssm|file|s3|gs|ref\+\w+|sm|secretsmanager|keyring|env)(?:://|:(?!//)|/)[\w./:#@+-]+$|"
    r"ENC\[[^\]]*\]?$|\w+://[^\s@]*$|[A-Za-z]:\\[\w .\\-]*$|(?:~|\.{1,2})/[\w./-]*$"
)
_FOLDERS = late(r"/(?:[\w.-]+/)+[\w.-]*$|/[a-z]{2,12}$")
_TEMPLATE = late(
    r"\$\{\{[^{}]*\}\}|\$\{[^{}]*\}|\{\{[^{}]*\}\}|\$\([^()]*\)|<%[^%]*%>|\#\{[^{}]*\}|\(\([\w.-]+\)\)|`[^`]*`|"
    r"%\([\w.]+\)[sdr]|^(?:\{\{|\$\{|\$\()[\w .:|\"'/#-]*$"
)
_VARIABLE = late(r"(?:\$env:|[$%@{<]|%\()?(?<=[$%@{<:(])([A-Za-z_][\w. -]*|\d)(?:[%@}>]|\)s)?[;,)\]}]*$|%[sdrv]()$")
_DEFAULT = late(r"\$\{\w+:?[-=]([^{}]{4,})\}$")
_YAML_MARK = late(r"(?:!{1,2}|[*&])([A-Za-z][\w.:/-]*)(?:\s.*)?$", re.DOTALL)
_IDENTIFIER = r"[A-Za-z_$][\w$]*"
_EXPRESSION = late(
    rf"(?x)[!*&~@(\[]*{_IDENTIFIER}(?: (?:\.|->|::|\?\.|!\.|=>|\|\||&&|\?|:){_IDENTIFIER} | \[[^\[\]]*\] "
    r"| <[\w<>,|?]*>? "
    r"| \((?:[^()]|\([^()]*\))*\) )* (?: [(\[{] [^()]* )? [!?]?[)\]};,]*$"
)
_NAMES = late(_IDENTIFIER)
_INNER_QUOTE = late(r"(?<=\w)[\"'](?=\w)")
_UNOPENED = late(r"([^()\[\]{}]+)[)\]}]")
_INNER_DIGIT = late(r"\d[A-Za-z]")
_CALLED = late(r"[(\[]|->|::|=>|\?\.|\|\||&&|\w<[A-Za-z]")
_FOREIGN_LETTERS = late(r"[^\x00-\x7f]")
_WORDS = late(r"(?:[a-z]{3,12}|[A-Z][a-z]{2,11})(?:([-._ ])(?:[a-z]{3,12}|[A-Z][a-z]{2,11})){3,7}$")
_TOLD_WORD = late(r"[A-Za-zß-öø-ÿ][a-zß-öø-ÿ]{2,11}(?![0-9A-Za-zß-öø-ÿ_=(/@'’-]|[.:]\w)")
_FORMED = late(r"(?:ed|ing|ly|tion|mente?|iert|ung)$")  # as few words are that people draw, and many that they say
_SPREAD = late(r"\s{2,}(?=[&\"'<>=])")  # a sign that was written out stands at the end of its place
_BESIDE = 7  # letters and digits beside a stand-in that make no password of it
_NO_CODE_BITS = 5.8  # a character: calls and members in programs have less
_LONG = 12  # characters from which on it is told well whether code or a machine's drawing
_DRAWN_BITS = 5.2  # a character: 99 of 100 drawn values of 11 letters and digits have more, 1 of 100 names in code


@lru_cache(maxsize=4096)
def is_password(value: str, form: Form) -> bool:
    """Whether the value is a password, as far as can be told; a plain word is not."""
    value = _SPREAD.sub("", value.replace("\ufffd", "")).strip()
    if len(value) < 4 or _NOTHING.match(value) or _ELSEWHERE.match(value) or _is_path(value):
        return value.isdigit() and len(value) >= 4
    if default := _DEFAULT.match(value):
        return is_password(default.group(1), "plain")
    if is_phrase(value, form) and (form != "inline" or " " not in value):  # in prose they are `told_phrase`
        return True
    if is_reference(value, form) or _is_stand_in(value):
        return False
    if " " in value:
        return form == "string" and _is_sentence_with_number(value)
    if _PLAIN.match(value):
        return False
    if value.isdigit():
        return True
    if value.isalpha():
        return value.lower() in COMMON_PASSWORDS or drawn_letters(_in_ascii(value))
    if _COUNTED.match(value):
        return False
    beside = re.sub(r"[A-Za-z]+", lambda m: "" if m.group().lower() in _ABOUT else m.group(), value)
    if beside != value or (form != "string" and value[0] in "{["):
        more = "".join(filter(str.isalnum, beside))
        return (
            is_drawn(value) or is_drawn(beside) or (len(more) > _BESIDE and not more.isalpha() and not more.isdigit())
        )
    if form != "string" and value.replace("_", "").isalnum() and value.isupper():
        return is_drawn(value)
    return _made_up(value)


def is_userinfo(value: str) -> bool:
    """Whether what stands before the @ of an address is a password: words are, but for those that stand for one."""
    if len(value) < 3 or _NOTHING.match(value) or is_reference(value, "string") or value.lower() in _ABOUT:
        return False
    return is_password(value, "string") or not _is_stand_in(value)


def is_odd_userinfo(value: str) -> bool:
    """Whether what stands before the @ of an address is a password though it has signs of paths and queries."""
    if not is_userinfo(value) or any(is_reference(part, "string") for part in re.split(r"[/?#]", value)):
        return False
    if "/" not in value and "=" not in value:  # no path and no query
        return True
    odd = any(c in "!$^*~+%" for c in value) or "#" in value.split("/")[0] or looks_random(value)
    return odd and any(map(str.isdigit, value)) and not re.search(r"[?&]\w+=", value)


def is_phrase(value: str, form: Form) -> bool:
    """Whether the value is four to eight words that make no sentence and no name in a program."""
    phrase = _WORDS.match(value)
    if not phrase or len(set(re.findall(r"[-._ ]", value))) > 1:
        return False
    words = re.findall(r"[a-z]+", value.lower())
    if phrase.group(1) in "._" and form != "string" and not _CODE.isdisjoint(words):
        return False
    if phrase.group(1) == " " and sum(word in _SAID for word in words[:4]) > 1:
        return False
    capitals = sum(word[0].isupper() for word in re.findall(r"[A-Za-z]+", value))
    return capitals in (0, len(words)) and _SENTENCE.isdisjoint(words) and _ABOUT.isdisjoint(words)


@lru_cache(maxsize=4096)
def told_phrase(told: str, most_said: int) -> int:
    """How many characters at the beginning of what a sentence tells are a phrase of four to eight words; 0: none.

    Nothing marks where it ends. The words of a sentence do: it ends before the first of them, and where one stands
    among the first four there was no phrase.
    """
    words: list[str] = []
    end = place = 0
    while word := _TOLD_WORD.match(told, place):
        if word.group().lower() in _SENTENCE:
            break
        words.append(word.group())
        end, place = word.end(), word.end() + 1
        if told[end:place] != " ":
            break
    if not 4 <= len(words) <= 8 or sum(word[0].isupper() for word in words[:4]) not in (0, 4):
        return 0
    said = sum(word.lower() in _SAID for word in words[:4])
    formed = sum(bool(_FORMED.search(word)) for word in words[:4] if word.lower() not in _SAID)
    first = bool(_FORMED.search(words[0]))  # `is generated`, `password sharing`
    return end if 2 * said + min(2, formed + first) <= most_said else 0


@lru_cache(maxsize=4096)
def is_conspicuous(word: str, *, at_its_place: bool = True) -> bool:
    """Whether a word in a sentence about a password or key can hardly be anything else than that.

    Args:
        at_its_place: it follows the name, or a verb that says what it is. Elsewhere rare letters prove nothing.
    """
    if len(word) < 6 or (len(word) < 10 and word.isalpha()) or "://" in word:
        return False
    if _NOTHING.match(word) or _PLAIN.match(word) or _ELSEWHERE.match(word) or _is_path(word):
        return False
    if is_phrase(word, "inline") or (
        at_its_place and len(word) >= 10 and drawn_letters(_in_ascii(_INNER_QUOTE.sub("", word)))
    ):
        return True
    if is_reference(word, "inline") or _is_stand_in(word):
        return False
    if not any(map(str.isalpha, word)):
        return False
    has_digit, has_sign = any(map(str.isdigit, word)), any(c in "!#$%^&*~+=?@" for c in word.rstrip("?!"))
    return (has_digit and has_sign) or ((has_digit or has_sign) and is_drawn(word))


@lru_cache(maxsize=4096)
def is_drawn(value: str) -> bool:
    """Whether a machine drew it, judged by how unlikely its letters, digits and signs follow one another."""
    if len(value) < 8:
        return False
    if value.isalpha() and value.isascii():
        return drawn_letters(value)
    return bits(value) >= _DRAWN_BITS * len(value) or looks_random(value)


def drawn_letters(value: str) -> bool:
    """Whether letters make no word: their pairs are too rare, or capitals stand among them as in no name."""
    if len(value) < 8 or not (value.isascii() and value.isalpha()):
        return False
    lowered = value.lower()
    pairs = sum(PAIRS[lowered[i : i + 2]] for i in range(len(lowered) - 1)) / (len(lowered) - 1)
    turns = sum(a.isupper() != b.isupper() for a, b in zip(value, value[1:], strict=False))
    return pairs >= (4.4 if len(value) >= 10 else 4.8) or turns * 5 >= len(value) * 2 + 2


def _in_ascii(word: str) -> str:
    """A word without accents, and without the letters that are of no Latin script."""
    return _FOREIGN_LETTERS.sub("", unicodedata.normalize("NFKD", word.replace("ß", "ss")))


def is_reference(value: str, form: Form) -> bool:
    """Whether the value says where the password is, in a template's, YAML's or a programming language's grammar."""
    rest, found = _TEMPLATE.subn("", value)
    if found and not is_drawn(rest) and sum(map(str.isalnum, rest)) < 8:
        return True
    if (name := _VARIABLE.match(value)) and not _is_odd(name.group(1)):
        return True
    if form == "string":
        return False
    mark = _YAML_MARK.match(value)
    if mark and not is_drawn(value) and not (is_drawn(mark.group(1)) or _INNER_DIGIT.search(mark.group(1))):
        return True
    return _is_code(value, form)


def _is_odd(name: str) -> bool:
    """Whether a name is none that people give."""
    if len(name) >= 8:
        return is_drawn(name)
    word = name.rstrip("0123456789")
    return len(word) >= 5 and bits(word) >= 6.5 * len(word)


def _is_code(value: str, form: Form) -> bool:
    if form == "inline" and (head := _UNOPENED.match(value)) and _EXPRESSION.match(head.group(1)):
        value = head.group(1)
    if not _EXPRESSION.match(value):
        return False
    names = _NAMES.findall(value)
    if any(map(_is_odd, names)) or (len(value) >= _LONG and bits(value) >= _NO_CODE_BITS * len(value)):
        return False
    in_code = not _CODE.isdisjoint(re.findall(r"[a-z]+", value.lower()))
    if _CALLED.search(value):
        if all(value.count(opened) == value.count(closed) for opened, closed in ("()", "[]", "{}")):
            return True
        return in_code or (len(names[0].strip("_$")) >= 3 and not any(_INNER_DIGIT.search(name) for name in names))
    return "." in value and (form == "inline" or in_code or len(names) < 4)


def _is_path(value: str) -> bool:
    return bool(_FOLDERS.match(value)) and not any(is_drawn(part) and len(part) >= 12 for part in value.split("/"))


def _is_stand_in(value: str) -> bool:
    if len(set(value)) <= 2:
        return True
    return stands_in(value, _BESIDE) and not ("<" in value and len(value) >= _LONG and is_drawn(value))


def _is_sentence_with_number(value: str) -> bool:
    """A phrase with a number at its end, as people are told to make."""
    words = value.split()
    return 3 <= len(words) <= 8 and value[-1].isdigit() and value.islower() and _SENTENCE.isdisjoint(words)


def _made_up(value: str) -> bool:
    """Whether it has a digit or a sign among its letters, as no plain word has."""
    has_sign = any(not c.isalnum() and c not in "-_. :/,?" for c in value)
    return any(c.isalpha() for c in value) and (has_sign or any(c.isdigit() for c in value) or is_drawn(value))
