"""What one line of code is: its first words and its last character say it, in any language.

No grammar is asked. That holds for every language whose code is laid out, and for snippets that no parser takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

_LONGEST = 400
"""Characters of a line that are looked at; a longer one is data or minified."""
_QUOTED = 2_000
"""Lines of a text in quotes; one that goes on longer was no such text."""
_MODIFIER = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|override|virtual|sealed|partial|"
    r"readonly|unsafe|extern|inline|declare|pub|pub\(\w+\)|open|data|suspend|local|get|set)[ \t]{1,4}){0,5}"
)
_DEFINITION = re.compile(
    _MODIFIER
    + r"(?:def|defp|defmodule|defmacrop?|defimpl|defprotocol|defdelegate|defguardp?|class|interface|trait|struct|"
    r"enum|namespace|protocol|extension|impl|function|func|fn|fun|type|module|mod|object|record|message|service|rpc|"
    r"const enum|enum class|case class)(?:[ \t]{1,4}[\w$\"'(`:~.&*@]|[ \t]?<|\*)"
    r"|macro_rules! |(?i:create (?:or replace )?(?:temp(?:orary)? |unique |materialized )?"
    r"(?:table|view|index|function|trigger|procedure|type) )"
)
_PROSE_AFTER = re.compile(r"\w+ (?:\w+ ){2,}")
"""`type of the value`, `class members are`: three words and no sign are no signature."""
_LISTED = re.compile(r"\w+ [\w$]+,")
"""`type Session,`: a name in a list of imports."""
_BOUND = re.compile(
    _MODIFIER + r"(?:const|let|var|val)[ \t]+[\w$]+[^=\n]{0,80}=[ \t]*(?:async[ \t]*)?(?:\(|function\b|[\w$]+[ \t]*=>)"
)
_ASSIGNED = re.compile(
    r"[\w$]+(?:\.[\w$]+){1,6} = (?:async )?(?:function\b|(?:\([^()]{0,200}\)|[\w$]+)(?:: [\w<>\[\] |]{1,60})? => \{$)"
)
"""`editor.onSubmit = (value) => {`."""
_SPOKEN = re.compile(
    r"(?:describe|it|test|context|scenario|before|after|get|post|put|patch|delete|live|scope|resources?|task|slot|attr|"
    r"[\w.]{1,40}\.(?:get|post|put|patch|delete|use|route|on|once|command|test|describe|each|only|skip|it|"
    r"addEventListener|handleEvent|subscribe))"
    r"[ \t]?\(?[ \t]?[\"'`/:]"
)
"""A test or a route: it is named by its first argument."""
_BLOCK = re.compile(r"[a-z]\w{2,40}[!?]? [:\"'][\w \"'/:.?!-]{1,80}(?:, [^\n]{1,120})? do$")
"""`computer :session_data do`: a block of a small language, named by its first argument."""
_METHOD = re.compile(r"[A-Za-z_$~#][\w$<>\[\],*&:~?.# \t]{0,120}\(")
_RESULT = re.compile(r"\)(?: ?\{$| ?[:-]|[ \t]+\w)")
_ARROW = re.compile(r"=>\s*\{$")
_OBJECT = re.compile(
    _MODIFIER
    + r"(?:const |let |var )?[A-Z][\w.]{0,60}(?:: ?[\w<>, ]{1,60})? = \{$|(?:export default|module\.exports =) \{$"
)
_STYLED = re.compile(
    r"(?:[.#&*:\[][\w:-]|@(?:media|supports|keyframes|font-face|layer|container|page)\b"
    r"|(?:html|body|main|header|footer|nav|section|article|aside|div|span|table|t[rdh]|thead|tbody|[uo]l|li|a|p|h[1-6]"
    r"|img|pre|code|button|input|select|textarea|label|form|svg)\b(?=[ .#>+~,\[]|:[\w:]))[^;{}=()]{0,160}"
    r"(?:(?:\([^(){};]{0,80}\)|=[^\[\](){};]{0,80}\])[^;{}=()]{0,80}){0,4}\{$"
)
"""What a rule of a style sheet is for: `.row .text:not(.open) {`."""
_CONTROL = re.compile(
    r"(?:if|else|elif|elsif|elseif|for|foreach|while|until|unless|switch|case|catch|except|finally|try|with|match|when|"
    r"return|await|yield|new|do|begin|rescue|ensure|select|defer|go|cond|loop|super|throw|raise|assert|delete|typeof|"
    r"receive|end|break|continue|pass|fi|done|then|guard|in)\b"
)
IMPORT = re.compile(
    r"import\b|from [\w.]+ import\b|use [\w\\:{]+|using [\w.]+|require\b|require_relative\b|include\b|#include\b|"
    r"package [\w.]+|alias [A-Z]|export (?:\*|\{|type \{)|(?:const|let|var) [\w{}, ]+= require\(|extern crate|mod \w+;"
)
CONSTANT = re.compile(
    r"(?:(?:export|pub|public|private|static|final|readonly|protected|constexpr) ){0,4}"
    r"(?:const|let|var|val|static|final)?\b[ \t]?[\w<>\[\]]{0,20}"
    r"[ \t]?\b[A-Z][A-Z0-9_]{2,60}[ \t]?(?::[^=]{1,60})?=[ \t]?\S|"
    r"@[a-z]\w* [^\s({]|#define \w+ |(?:export |pub )?(?:const|static) \w+[^=(]{0,60}= ?(?:[\"'\d\[{-]|true|false|new )"
)
COMMENT = re.compile(r"//|/\*|\*(?:[ /*]|$)|#(?:[ !#-]|$)|--[ -]|<!--|%%? |\"\"\"|'''|;; |@doc\b|@moduledoc\b")
BRACKETS = re.compile(r"[\[\](){}<>,;:/|&?=>]{1,12}$|(?:end|fi|done|esac|else|do|begin|then)[,;)]{0,3}$")
_MEMBER = re.compile(r"(?:readonly )?[\w$]{1,60}\??(?:\(.{0,200}\))?: [^;]{1,200};$")
"""`heading: (text: string) => string;`"""
_TARGET = re.compile(r"[\w.$@\[\]\"'{}*]+(?:(?:, ?|: ?| )[\w.$@\[\]\"'{}*<>|?]+){0,3}[-+*/|&?:%<>!]{0,2}")
_CALL = re.compile(r"(?:await |return |yield |not |!)?[\w.$!?:@]{1,80}\(")
_PAIR = re.compile(r"[\w\"'$*-]{1,60}\??: ?\S")
_PIECE = re.compile(
    r"</?[\w.:]+[ />]|<[\w.]+$|[\w:@-]{1,40}=\{?[\"'{]|\|> |(?:&&|\|\||\?\?|[?:]) \S|\.\w+\(|@[\w.]{1,60}(?:\(|$)|"
    r"[\w.]{1,60},$|\$\w+|%\{|->"
)
_DATUM = re.compile(r"-?[\d.]{1,20},?$|\| ")
_TEMPLATE = re.compile(r"`|[\w.$ ={:,(]{1,80}[(=:+,]? ?`")
_GOES_ON = ("{", "}", ";", "(", "[", " +", " =", " &&", " ||", " ?", " |", " \\")
_SURE = ("const ", "let ", "var ", "self.", "this.", "private ", "public ", "protected ", "static ", "readonly ")
_OTHER = re.compile(r"[\w./@~-]{1,200}:\d+[:-]|\[?\d|[-+>✓✗✔✖●•$|][ \t\d]|- |```|E   |Traceback |File \"")
"""Hits, logs, diffs, lists, prompts and tracebacks quote code; they are others' to read."""


class Line(NamedTuple):
    sort: int
    """3 definition, 2 surely code, 1 looks like it, 0 says nothing (blank, comment, text), -1 is no code."""
    quoted: bool
    """Inside a text or comment of several lines."""


@lru_cache(2048)
def sort_line(text: str) -> int:
    """What a stripped line is, by itself."""
    if not text or len(text) > _LONGEST or COMMENT.match(text):
        return 0
    if _DATUM.match(text):
        return 0
    if _OTHER.match(text):
        return -1
    if defines(text):
        return 3
    if IMPORT.match(text) and not _PROSE_AFTER.match(text):
        return 2
    if _CONTROL.match(text) and (text[-1] in ":{;()," or text.endswith((" do", " then", "->"))):
        return 2
    if text.endswith(_GOES_ON) or BRACKETS.match(text) or _states(text):
        surely = (
            _MEMBER.match(text)
            or text.endswith((");", "});"))
            or text.startswith(_SURE)
            or (CONSTANT.match(text) and " = " in text)
        )
        return 2 if surely else 1
    if text.count("`") % 2 and _TEMPLATE.match(text):
        return 1
    return -1


def _states(text: str) -> bool:
    """Whether a stripped line is an assignment, a call, a pair, a value in quotes or brackets, or a piece of a tag."""
    last = text.rstrip(",")[-1:]
    if (text[0] in "\"'`" and last in "\"'`") or (text[0] in "{[" and last in "}]") or _PIECE.match(text):
        return True
    if (text[-1] in ")]},;:" and _CALL.match(text)) or (text[-1] in ",;{([" and _PAIR.match(text)):
        return True
    target, sign, value = text[:120].partition("=")
    return bool(sign and value.strip("=> ") and _TARGET.fullmatch(target.rstrip()))


def defines(text: str) -> bool:
    """Whether a stripped line opens a definition: a keyword, a method by its brace, a test or route by its name."""
    if _DEFINITION.match(text):
        return not _LISTED.fullmatch(text) and not (
            _PROSE_AFTER.match(text) and text[-1] not in "{:;)(" and not text.endswith(" do") and "=" not in text
        )
    if _BOUND.match(text):
        return "=>" in text or "function" in text
    if _ASSIGNED.match(text):
        return True
    if _SPOKEN.match(text):
        return text[-1] in "{(,:)" or text.endswith(" do")
    if _CONTROL.match(text):
        return False
    if _BLOCK.match(text):
        return True
    if text.endswith((" {", "){")):
        if _STYLED.match(text):
            return True
        method = _METHOD.match(text)
        if method and not _ARROW.search(text) and "." not in method[0]:
            return _RESULT.search(text, method.end() - 1) is not None
        return _OBJECT.match(text) is not None
    return bool(text[-1] == "(" and re.match(r"(?:public|private|protected|static|async|override) ", text))


def _closes(text: str, mark: str) -> bool:
    return text.count(mark) % 2 == 1 if mark != "*/" else mark in text


def _depth(line: str) -> int:
    """Characters of its indentation."""
    return len(line) - len(line.lstrip())


def sort_lines(lines: Sequence[str], start: int) -> Iterator[Line]:
    """Each line's sort, knowing of texts and comments that go over several lines."""
    mark, since, depth = "", 0, 0
    for i in range(start, len(lines)):
        text = lines[i].strip()
        if mark and text and _depth(lines[i]) <= depth and mark != "*/" and sort_line(text) == 3:
            mark = ""  # a definition beside the line that opened the text: its end was missed
        if mark:
            yield Line(0, True)
            since += 1
            if _closes(text, mark) or since > _QUOTED:
                mark = ""
            continue
        sort = sort_line(text)
        yield Line(sort, False)
        if "/*" in text[:4] and "*/" not in text:
            mark, since, depth = "*/", 0, _depth(lines[i])
        else:
            for quote in ('"""', "'''", "`"):
                if sort >= 0 and text.count(quote) % 2 and not (quote == "`" and sort == 0):
                    mark, since, depth = quote, 0, _depth(lines[i])
