"""Where a password ends by the format it is written in: a string, a line of settings, a shell's word, a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from ...models.text import late
from .passwords import (
    ENDS,
    MOST_SAID,
    QUOTES,
    Form,
    is_conspicuous,
    is_drawn,
    is_odd_userinfo,
    is_password,
    is_reference,
    is_userinfo,
    told_phrase,
)

_JUDGED = 128  # bytes of a value that are enough to tell what it is
_REACH = 4096  # no value is longer; what goes on is masked up to here, and the rest by its own form if it has one
_SHORT_LINE = 256  # bytes of a line of several words that may be a phrase
# What may stand before a name that begins its line: marks of lists, diffs, listings, commands.
_LINE_START = late(
    rb"(?:^|[\n\r])(?:[ \t]*\d{1,6}[\t:|-])?[+>|-]?\s*(?:-[ \t]+)?(?:export |set |env |ENV |ARG |SET |setx )?\s*$|"
    rb"(?:-e|--env)[ =]$"
)
_LABEL = late(rb"(?:[A-Za-z'\x80-\xfe]{1,20} ){1,4}$")
_RUN = late(rb"\S+")
_LINE = late(rb"[^\n\r]+")
_COMMENT = late(rb"[ \t]+(?:#|//|<!--|--[ \t]).*", re.DOTALL)
_NEXT_FIELD = late(rb"""[&,;|](?:amp;)?\s?["']?[A-Za-z_][\w.\[\]%-]{0,40}["']?\s?(?:=(?!=)|:(?!:))""")
_NAME_AGAIN = late(
    rb"(?i)[\w.${(\[!&*%%-]{0,20}(?:%s|"
    rb"(?:pass(?:word|wd|phrase)?|pwd|secret|token)[\w.-]{0,20}(?:=|: ?[\w.-]{0,20}pass))" % "パスワードは".encode()
)
_FIELD = late(rb"[A-Za-z_][\w.-]{0,40}=[^=]")
_STRING_ENDS = late(rb"""\\+["'`]|["'`](?=[\])},:;>\s\\]|$)""")
_AFTER_QUOTE = late(rb"""(?:'[^'\n]*'|"(?:[^"\\\n]|\\.)*"|[^\s'"`,;)\]}]){1,200}""")
_HIDDEN = late(rb"(?:\xff+|\[[\w .-]{3,40}\]|\([a-z][a-z ]{2,40}\)|<[\w -]{3,40}>|\*{3,})[ \t]+(?=\S)")
_USERINFO = late(rb"""([^\s/?#"'<>|`\\]{1,300})@(?=[A-Za-z0-9\[{$%_.-])""")
# The same with `/`, `?` or `#` in the password, which an address must spell out, and people do not: up to its first @,
# and on to a further one where no host ends the first.
_WIDE_USERINFO = late(
    rb"""((?:[^\s"'<>|`\\@/?#]|@(?![A-Za-z0-9\[{$%_.-])){0,100}[/?#][^\s"'<>|`\\@]{0,200}(?:@[^\s"'<>|`\\@/?#]{1,100}){0,3})@(?=[A-Za-z0-9\[{$%_.-])"""
)
_HOST_AND_MORE = late(rb"""[^\s"'<>|`\\@/?#]{1,100}[?#][^\s"'<>|`\\@/]{0,200}@(?=[A-Za-z0-9\[{$%_.-])""")
# A port, or its place, behind a host; and a drive.
_PORT = late(rb"(?:\d{1,5}|[$%{]\S*|(?i:\w{0,20}port\w{0,20}))/")
_PORT_OF_HOST = late(rb"(?:localhost|[\w-]+(?:\.[\w-]+)+):\d{1,5}[?#]|[A-Za-z]:/")
_LONGEST_HEREDOC = 600  # bytes in which its end is looked for
_HEREDOC = late(
    rb"""[ \t]{0,20}\\{0,7}["']?(?:\$\([ \t]{0,4}cat[ \t]{1,4})?<{2,3}[~-]?[ \t]?"""
    rb"""\\{0,7}["']?(?P<tag>[A-Za-z_]\w{0,30})"""
    rb"""\\{0,7}["']?[ \t]{0,8}\r?\n[ \t]{0,60}"""
)
_NEXT_LINE = late(
    rb"""[ \t]{0,20}(?:#[^\n]{0,80})?\r?\n(?:[ \t]*\d{1,6}[\t:|]|[+>-](?=[ \t]{2}))?(?P<indent>[ \t]{0,60})"""
    rb"""(?P<value>[^\s"'`|>\[{&*@-][^\s"'`]{3,200})[ \t]*(?:#[^\n]{0,80})?(?=\r|\n|$)"""
)
_NAME_BEGINS = late(
    rb"""(?:^|[\n\r"'])(?:[ \t]*\d{1,6}[\t:|]|[+>-](?=[ \t]{2}))?(?P<indent>[ \t]*)(?:-[ \t]+)?"""
    rb"""(?:[A-Za-z]{2,12} ){0,3}$"""
)
_IS = tuple(word.encode() for word in ("是", "为", "為"))
_NOT_TOLD = late(rb"[ \t]?\d*[\x80-\xff]")  # these say much else in front of a word of their own script
_SHELL_WORD = late(rb"""(?:\\{0,3}'[^'\n]{0,400}'|\\{0,3}"(?:[^"\\\n]|\\.){0,400}"|\\.|[^\s'"\\]){1,400}""")
_GLUED, _SPACED = late(rb"\s-p(?=[^\s-])"), late(rb"\s(?:-p[ =]?|--pass[ =])(?=[^\s-])")
_AFTER_LOGIN = late(rb"\b(?:login|upload)\b[^\n]{0,200}?\s-p[ =]?(?=[^\s-])")
_CAPITAL_P, _MONGO = (
    late(rb"\s-P ?(?=[^\s-])"),
    late(rb"\s-p ?(?!\S*:\d+(?:\s|$)|\d+(?:\s|$)|\S*PORT)(?=[^\s-])"),
)
_HTPASSWD = late(  # flags, the file, which -n does without, and the user
    rb"\s(?:-[A-Za-z]+\s+(?:\d+\s+)?){0,4}(?:-\w*n\w*b\w*|-\w*b\w*n\w*|-\w*b\w*(?P<file>))\s+"
    rb"(?:-[A-Za-z]+\s+(?:\d+\s+)?){0,4}(?(file)[^\s-]\S*\s+)[^\s-]\S*\s+(?=\S)"
)
_SHORT_OPTIONS = {
    **dict.fromkeys((b"mysql", b"mysqldump", b"mysqladmin", b"mariadb"), _GLUED),
    b"sshpass": _SPACED,
    **dict.fromkeys(
        (b"docker", b"podman", b"helm", b"az", b"twine", b"oc", b"cf", b"skopeo", b"buildah", b"nerdctl"), _AFTER_LOGIN
    ),
    **dict.fromkeys(
        (b"ldapsearch", b"ldapmodify", b"ldapadd", b"ldappasswd", b"ldapwhoami"), late(rb"\s-w ?(?=[^\s-])")
    ),
    **dict.fromkeys((b"sqlcmd", b"bcp", b"osql", b"unzip", b"zip", b"mosquitto_pub", b"mosquitto_sub"), _CAPITAL_P),
    **dict.fromkeys((b"mongo", b"mongosh", b"mongodump", b"mongorestore", b"mongoexport", b"mongoimport"), _MONGO),
    **dict.fromkeys((b"7z", b"7za", b"7zz"), _GLUED),
    b"htpasswd": _HTPASSWD,
    b"ConvertTo-SecureString": late(rb"\s(?:-(?:String|AsPlainText|Force)\s+){0,3}(?=[^\s(-])"),
    b"redis-cli": late(rb"\s-a ?(?=[^\s-])"),
}  # fmt: skip
COMMANDS = tuple(name.decode() for name in _SHORT_OPTIONS)
"""Commands that take a password after a short option."""
_OPENING = {b")": b"(", b"]": b"[", b"}": b"{", b">": b"<"}
_FOREIGN: dict[bytes, tuple[bytes, ...]] = {
    opening.encode(): tuple(closing.encode() for other, closing in QUOTES if other == opening) for opening, _ in QUOTES
}
_ENDS = late(b"|".join(re.escape(end.encode()) for end in ENDS) + rb"|[ \xc2]\xa0")
_GAP = late(rb"(?:[ \t]|\xc2\xa0|\xe3\x80\x80)*")


class ValueSpan(NamedTuple):
    """A value: its bytes from `start` up to `end`."""

    start: int
    end: int


def password_in_string(text: bytes, left: int, right: int, quote: bytes) -> ValueSpan | None:
    """The password between quotes, the closing one at `right`; with what a shell, YAML or SQL joins to it."""
    sign = quote[-1:]
    joined = quote in (b"'", b'"') and right > left and text[right + 1 : right + 2] in (b"'", b'"')
    if joined and (more := _AFTER_QUOTE.match(text, right, right + _REACH)):
        right = more.end()
        right -= text[right - 1 : right] in (b"'", b'"')
    value = _text(text, left, right)
    if sign == b"`" and " " in value:  # a shell's command
        return None
    return ValueSpan(left, right) if is_password(value, "string") else None


def password_unquoted(
    text: bytes, left: int, name_start: int, separator: bytes, *, by_space: bool, phrases: bool
) -> ValueSpan | None:
    """The password that begins at `left`, where the format of the place around its name says that it ends."""
    line_start = max(text.rfind(b"\n", max(0, name_start - 200), name_start) + 1, name_start - 200, 0)
    before = text[line_start:name_start]
    if (foreign := _foreign(text, left)) is not None:
        return foreign if foreign.end > foreign.start else None
    if separator == b">":
        right = _until(text, left, (b"</", b"\n"))
        return _judged(text, left, right, "string") if text.startswith(b"</", right) else None
    if before[-1:] in (b"?", b"&"):
        return _judged(text, left, _until(text, left, (b"&", b"#", b" ", b"\n", b'"', b"'")), "plain")
    if separator == b"=" and b"=" in before and before.rstrip().endswith(b";"):
        return _judged(text, left, _until(text, left, (b";", b"\n", b'"')), "plain")
    if separator == b"|":
        return _judged(text, left, _until(text, left, (b"|", b"\n")), "string")
    begins = bool(_LINE_START.search(text, max(0, name_start - 40), name_start)) and name_start - line_start < 40
    begins = begins or (separator == b":" and bool(_LABEL.match(before)))
    run = _RUN.match(text, left, left + _JUDGED)
    if run is None or (
        separator == b"=" and not begins and text[left - 1 : left] == b" " and _FIELD.match(text, left, run.end())
    ):
        return None
    if _NAME_AGAIN.match(text, left, run.end()):  # which is read by itself
        return None
    said = separator[:1] not in b"=:,<>|"
    if separator in _IS and _NOT_TOLD.match(text, left):
        return None
    if phrases and not by_space and (begins or separator != b"="):
        whole = _whole_line(text, left)
        if whole > run.end() and (found := _first_or_rest(text, left, whole, said=said)):
            return found
    form: Form = "plain" if (begins or by_space or said) and not _is_code_line(text, run.end()) else "inline"
    right = run.end()
    if string_end := _STRING_ENDS.search(text, left, right):
        right = string_end.start()
    field = _NEXT_FIELD.search(text, left + 1, right)
    if field and (form == "inline" or is_reference(_text(text, left, field.start()), "inline")):
        right = field.start()
    if form == "inline":
        right = _until(text, left, (b"</",), right)
    written = _judged(text, left, _trimmed(text, left, right), form)
    if written and right == left + _JUDGED:  # cut: the rest belongs to it
        run = _RUN.match(text, left, left + _REACH)
        return ValueSpan(left, run.end() if run else right)
    return written


class Below(NamedTuple):
    """A value that stands in the lines under its name."""

    start: int
    end: int
    form: Form


def value_below(text: bytes, left: int, name_start: int, name_end: int, separator: bytes) -> Below | None:
    """The value of a heredoc that opens at `left`, or the word that is all of the next line under `name:`."""
    if heredoc := _HEREDOC.match(text, left, left + _REACH):
        end = re.compile(rb"\n[ \t]*" + heredoc.group("tag") + rb"\b").search(
            text, heredoc.end() - 1, left + _LONGEST_HEREDOC
        )
        return Below(heredoc.end(), max(heredoc.end(), end.start()), "string") if end else None
    if separator != b":" or not (line := _NEXT_LINE.match(text, left, left + _JUDGED * 4)):
        return None
    before = _NAME_BEGINS.search(text, max(0, name_start - 80), name_start)
    if before is None or _FIELD.match(line.group("value")):
        return None
    of_one = len(line.group("indent")) > len(before.group("indent")) and text[name_end - 1 : name_end] not in b"sS"
    return Below(*line.span("value"), "plain" if of_one else "inline")


def password_below(text: bytes, below: Below) -> ValueSpan | None:
    """The password in the lines under its name."""
    value = text[below.start : below.end].strip()
    start = below.start + text[below.start : below.end].find(value)
    told = _text(text, start, start + len(value))
    odd = is_conspicuous(told) if below.form == "inline" else b" " not in value and is_password(told, below.form)
    if not odd or (below.form != "string" and value[-1:] in b",;({:" and not is_drawn(told)):
        return None
    return ValueSpan(start, start + len(value))


def password_in_url(text: bytes, left: int) -> ValueSpan | None:
    """The password of an address whose user ends before `left`."""
    found = _USERINFO.match(text, left)
    if not found:
        return _wide_password(text, left)
    if (more := _HOST_AND_MORE.match(text, found.end())) and _is_wide(text[left : more.end() - 1]):
        return ValueSpan(left, more.end() - 1)
    value = found.group(1).replace(b"\xff", b"")
    if not is_userinfo(value.decode("utf-8", "replace")) or not is_userinfo(
        unquote_to_bytes(value).decode("utf-8", "replace")
    ):
        return None
    return ValueSpan(*found.span(1))


def _wide_password(text: bytes, left: int) -> ValueSpan | None:
    """The same where the password has signs that end the part of an address with users and hosts."""
    user = text.rfind(b"/", max(0, left - _JUDGED), left) + 1
    if _PORT.match(text, left, left + _JUDGED) or _PORT_OF_HOST.match(text, user, left + _JUDGED):
        return None
    found = _WIDE_USERINFO.match(text, left)
    return ValueSpan(*found.span(1)) if found and _is_wide(found.group(1)) else None


def _is_wide(value: bytes) -> bool:
    """Whether it is no path or fragment behind a host: it must be conspicuous, and no address itself."""
    value = value.replace(b"\xff", b"")
    return b"://" not in value and is_odd_userinfo(value.decode("utf-8", "replace"))


def password_of_command(text: bytes, command: bytes, left: int, right: int) -> Iterator[ValueSpan]:
    """Passwords after the short options of a command; its line goes from `left` to `right`."""
    option = _SHORT_OPTIONS[command]
    begins = left - len(command)
    if text[max(0, begins - 1) : begins] in (b".", b"-"):  # the end of another name: `backup.zip`
        return
    for found in option.finditer(text, left, right):
        word = _SHELL_WORD.match(text, found.end(), right)
        if word is None:
            continue
        start, end = word.span()
        start += len(word.group()) - len(word.group().lstrip(b"\\\"'"))
        end = max(start, end - (len(word.group()) - len(word.group().rstrip(b"\\\"',;)"))))
        if is_password(_text(text, start, end), "plain"):
            yield ValueSpan(start, end)


def told_word(text: bytes, left: int, right: int) -> tuple[int, int]:
    """A word of a sentence, or what is quoted there, without what ends the sentence or a clause."""
    if (quote := text[left - 1 : left]) in (b"'", b'"', b"`") and (end := text.find(quote, left, left + 200)) > left:
        return left, end
    for sign, closings in _FOREIGN.items() if text[left] >= 128 else ():
        if text.startswith(sign, left, right):
            left = _GAP.match(text, left + len(sign)).end()  # type: ignore[union-attr]
            right = _until(text, left, (*closings, b"\n"))
            return left, left + len(text[left:right].rstrip(b" \xc2\xa0"))
    left += len(text[left:right]) - len(text[left:right].lstrip(b":,([{<"))
    return left, _trimmed(text, left, right)


def _judged(text: bytes, left: int, right: int, form: Form) -> ValueSpan | None:
    left = _GAP.match(text, left, right).end()  # type: ignore[union-attr]
    right = left + len(text[left:right].rstrip())
    return ValueSpan(left, right) if is_password(_text(text, left, right), form) else None


def _text(text: bytes, left: int, right: int) -> str:
    """The value as text, without marks: what stands around them is judged alone."""
    return text[left : min(right, left + _JUDGED)].replace(b"\xff", b"").decode("utf-8", "replace")


def phrase_after(text: bytes, left: int, *, most_said: int = MOST_SAID) -> ValueSpan | None:
    """A phrase that a sentence goes on with."""
    line = _LINE.match(text, left, left + _JUDGED)
    told = line.group().decode("utf-8", "replace") if line else ""
    size = told_phrase(told, most_said)
    return ValueSpan(left, left + len(told[:size].encode())) if size else None


def _until(text: bytes, left: int, signs: tuple[bytes, ...], right: int | None = None) -> int:
    limit = min(len(text), left + _REACH) if right is None else right
    return min((place for sign in signs if (place := text.find(sign, left, limit)) >= 0), default=limit)


def _foreign(text: bytes, left: int) -> ValueSpan | None:
    """The value between quotation marks of a language; an empty one where it is no password, None where none opens."""
    left = _GAP.match(text, left).end()  # type: ignore[union-attr]
    if text[left : left + 1] < b"\x80":
        return None
    opening = next((sign for sign in _FOREIGN if text.startswith(sign, left)), b"")
    if not opening:
        return None
    left = _GAP.match(text, left + len(opening)).end()  # type: ignore[union-attr]
    right = _until(text, left, (*_FOREIGN[opening], b"\n"))
    return _judged(text, left, right, "string") or ValueSpan(left, left)


def _whole_line(text: bytes, left: int) -> int:
    """The end of the line without a comment, a sentence's end, or the quote of a string around it."""
    line = _LINE.match(text, left, left + _SHORT_LINE)
    right = line.end() if line else left
    if comment := _COMMENT.search(text, left, right):
        right = comment.start()
    if string_end := _STRING_ENDS.search(text, left, right):
        right = string_end.start()
    return left + len(text[left:right].rstrip(b" \t.!,;"))


def _first_or_rest(text: bytes, left: int, right: int, *, said: bool) -> ValueSpan | None:
    """A line of several words: a phrase, alone or with what else a sentence says, or a password behind what hides
    another one."""
    if ends := _ENDS.search(text, left, right):
        right = ends.start()
    value = _text(text, left, right)
    if value.count(" ") in range(3, 8) and is_password(value, "inline" if said else "plain"):
        return ValueSpan(left, right)
    if phrase := phrase_after(text, left):
        return phrase
    if hidden := _HIDDEN.match(text, left, right):
        rest = _RUN.match(text, hidden.end(), right)
        if rest and is_password(_text(text, rest.start(), rest.end()), "inline"):
            return ValueSpan(*rest.span())
    return None


def _is_code_line(text: bytes, run_end: int) -> bool:
    return text[run_end - 1 : run_end] in (b",", b";", b"{", b"(")


def _trimmed(text: bytes, left: int, right: int) -> int:
    """The end without what closes the sentence or the brackets around a value."""
    if ends := _ENDS.search(text, left, right):
        right = ends.start()
    value = text[left:right].rstrip(b" \t\r\\,;:")
    value = value.removesuffix(b"\xe2\x80\xa6").rstrip(b".,;:")  # an ellipsis, as programs end a text that they cut
    for _ in range(4):
        opening = _OPENING.get(value[-1:])
        if opening is None or value.count(value[-1:]) <= value.count(opening):
            break
        value = value[:-1].rstrip(b".,;:")
    return left + len(value)
