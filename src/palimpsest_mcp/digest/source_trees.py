"""Trees in a source, read for verification: JSON and what Python prints, whole or cut, alone or within other text.

One pass that never calls itself over depth and reads nothing twice: where no tree can go on, what was read of it
stays, and the search goes on at that place. It shares nothing with the readers of the digester.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_DEEP = 64
"""Levels of one tree."""
_INNER = 3
"""Levels of trees in strings of trees."""
_PATH = 600
"""Characters of a path: what lies deeper has none."""
_LABEL = 80
"""Characters before a tree in its line that may be its name."""
_MUCH = 500
"""Characters of a tree that breaks off from which its lines are nothing but it."""
_OPEN = re.compile(r"[{\[(]")
_STRING = r"""[bBuUrR]?(?:"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+')"""
_ATOM = (
    r"[-+]?(?:0x[0-9a-fA-F]++|(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?\d++)?+)(?![\w.])"
    r"|[-+]?(?:true|false|null|undefined|True|False|None|NaN|nan|Infinity|inf)\b(?!\()"
    r"|[A-Za-z_][\w.]{0,60}+\([^()\n]{0,200}+\)"
)
_TOKEN = re.compile(rf"\s*+(?:({_STRING})|({_ATOM})|([{{\[(])|([}}\])])|([,:]))")
_TORN = re.compile(r"\s*+[bBuUrR]?([\"'])")
_HALF = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)?$")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|(.))")
_MEANT: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "0": "\0"} | {
    one: one for one in "\"'\\/"
}
_NUMBERED = re.compile(r"^[ \t]*+(\d{1,7})(?:\t|→|: |\| ?)", re.MULTILINE)
_WORDS = re.compile(r"\s*(?:[\w(][\w .,'’()/-]{0,70}?\s?:?)?\s*")
_CLOSED: Final = {"{": "}", "[": "]", "(": ")"}


class Leaf(NamedTuple):
    """A scalar."""

    text: str
    """Of a string what it says; all else as it is written."""
    start: int
    end: int
    """Its token in the text; in a string of a tree, in what that string says."""
    inner: Branch | None = None
    """The tree that the string is, and what it goes on with where that breaks off."""
    rest: str = ""
    quoted: bool = False


class Branch:
    """An object, a list, a tuple or a set.

    Attributes:
        keys: of an object; None of all others.
        path: keys and numbers of members from the root, parted by dots, behind the label of the tree.
        key: the last of them that is no number.
        start: place of its first character; `end` that behind its last one, or behind the last that was read.
        broken: it does not end.
        label: of a root: the words before it in its line.
    """

    __slots__ = ("above", "broken", "end", "key", "keys", "label", "path", "start", "values")

    def __init__(self, keys: list[str] | None, start: int, path: str, key: str, above: Branch | None) -> None:
        self.keys = keys
        self.values: list[Leaf | Branch] = []
        self.start = self.end = start
        self.path, self.key, self.above = path, key, above
        self.broken = False
        self.label = ""

    def pairs(self) -> dict[str, Leaf | Branch]:
        """Of an object; of equal keys the first."""
        return dict(reversed([*zip(self.keys or (), self.values, strict=False)]))

    def walk(self) -> Iterator[Branch | tuple[Leaf, str]]:
        """All branches and scalars in order, each scalar with its key; a string that is a tree is that tree."""
        waiting: list[Branch | tuple[Leaf, str]] = [self]
        while waiting:
            one = waiting.pop()
            if not isinstance(one, Branch) and one[0].inner is not None:
                if one[0].rest:
                    waiting.append((Leaf(one[0].rest, one[0].start, one[0].end), one[1]))
                one = one[0].inner
            yield one
            if isinstance(one, Branch):
                keys = one.keys if one.keys is not None else [one.key] * len(one.values)
                waiting += [
                    value if isinstance(value, Branch) else (value, key)
                    for key, value in zip(reversed(keys), reversed(one.values), strict=True)
                ]


def trees(text: str) -> list[Branch]:
    """The trees of a text, in order: objects, and lists of several members."""
    text = _unnumbered(text)
    found: list[Branch] = []
    at = line = 0
    while opening := _OPEN.search(text, at):
        begin = opening.start()
        if text.rfind("\n", at, begin) >= 0:
            line = text.rfind("\n", at, begin) + 1
        lead = text[line:begin] if begin - line <= _LABEL else "?"
        if text[max(0, begin - 1) : begin].isalnum() or (opening[0] == "(" and lead.strip()):
            at = begin + 1
            continue
        label = lead.strip().rstrip(":").strip() if _WORDS.fullmatch(lead) else ""
        tree = _read(text, begin, label, "", None, 0)
        tree.label = label
        if tree.values and (tree.keys is not None or len(tree.values) > 1 or isinstance(tree.values[0], Branch)):
            found.append(tree)
        at = max(tree.end, begin + 1)
        newline = text.rfind("\n", begin, at)
        line = newline + 1 if newline >= 0 else line
    return found


def _read(text: str, begin: int, path: str, key: str, above: Branch | None, inner: int) -> Branch:
    """The tree that begins here, as far as it goes."""
    root = Branch([] if text[begin] == "{" else None, begin, path, key, above)
    stack = [root]
    closes = [_CLOSED[text[begin]]]
    at, wait, name = begin + 1, "member", Leaf("", begin, begin)
    while stack:
        top, found = stack[-1], _TOKEN.match(text, at)
        if found is None:
            root.broken = True
            at = _torn(text, at, top, wait, name.text, inner)
            break
        string, atom, opened, closed, mark = found.groups()
        if (string or atom) and wait == "member" and top.keys is not None:
            name, wait = (
                Leaf(_said(string) if string else atom, *found.span(1 if string else 2), quoted=bool(string)),
                "colon",
            )
        elif (string or atom) and wait in ("member", "value"):
            _add(top, name.text, _leaf(string, atom, found, top, name.text, inner))
            wait = "comma"
        elif opened and wait in ("member", "value") and (top.keys is None or wait == "value") and len(stack) < _DEEP:
            below = Branch([] if opened == "{" else None, found.end() - 1, *_below(top, name.text), top)
            _add(top, name.text, below)
            stack.append(below)
            closes.append(_CLOSED[opened])
            wait = "member"
        elif mark == ":" and wait == "colon":
            wait = "value"
        elif mark == "," and wait == "comma":
            wait = "member"
        elif (mark == "," or closed) and wait == "colon" and not top.values:  # a set
            top.keys = None
            top.values.append(name)
            wait = "member" if mark else "comma"
            found = found if mark else None
        elif not (closed and closed == closes[-1] and wait in ("member", "comma")):
            root.broken = True
            break
        else:
            top.end = found.end()
            stack.pop()
            closes.pop()
            wait = "comma"
        at = found.end() if found else at
    for one in stack:
        one.end = at
    return root


def _add(top: Branch, name: str, value: Leaf | Branch) -> None:
    if top.keys is not None:
        top.keys.append(name)
    top.values.append(value)


def _below(top: Branch, name: str) -> tuple[str, str]:
    """Path and key of the next value."""
    if top.keys is None:
        name = str(len(top.values))
    path = f"{top.path}.{name}" if top.path else name
    return path if len(path) < _PATH else "", top.key if top.keys is None else name


def _leaf(string: str, atom: str, found: re.Match[str], top: Branch, name: str, inner: int) -> Leaf:
    start, end = found.span(1 if string else 2)
    if not string:
        wrapped = atom.startswith(("Decimal('", 'Decimal("'))
        return Leaf(atom[9:-2] if wrapped else atom, start, end)
    return _inner(_said(string), start, end, top, name, inner)


def _inner(said: str, start: int, end: int, top: Branch, name: str, inner: int) -> Leaf:
    """A string, and the tree that it is, cut or not."""
    if inner < _INNER and said.lstrip()[:1] in ("{", "["):
        body = said.strip()
        tree = _read(body, 0, *_below(top, name), top, inner + 1)
        rest = body[tree.end :].strip()
        if not tree.values or (rest and (not tree.broken or len(rest) > tree.end)):
            tree, rest = None, ""
        return Leaf(said, start, end, tree, rest, quoted=True)
    return Leaf(said, start, end, quoted=True)


def _torn(text: str, at: int, top: Branch, wait: str, name: str, inner: int) -> int:
    """Take the string that the text breaks off in; gives the place where the tree ends."""
    found = _TORN.match(text, at)
    end = len(text)
    if found is None or text.find("\n", found.end()) >= 0:
        return at
    if wait == "value" or (wait == "member" and top.keys is None):
        said = _unescaped(_HALF.sub(r"\1", text[found.end() :]))
        if not said and inner:
            return at  # a quote that nothing follows is no member
        _add(top, name, _inner(said, found.end() - 1, end, top, name, inner))
        return end
    return at


def _said(string: str) -> str:
    """A string without quotes and escapes."""
    raw = string[0] in "rR"
    body = string[1:-1] if string[0] in "\"'" else string[2:-1]
    return body if raw or "\\" not in body else _unescaped(body)


def _unescaped(body: str) -> str:
    said = _ESCAPE.sub(_meant, body)
    return said if said.isascii() else said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _meant(found: re.Match[str]) -> str:
    digits = found[1] or found[2] or found[3]
    if digits:
        return chr(int(digits, 16)) if int(digits, 16) < 0x110000 else " "
    return _MEANT.get(found[4], found[0])


def _unnumbered(text: str) -> str:
    """A text with blanks for the numbers of its lines, `cat -n`; places stay what they are."""
    last = -2
    spans: list[tuple[int, int]] = []
    waiting = (0, 0)
    for found in _NUMBERED.finditer(text):
        if int(found[1]) == last + 1:
            spans += [waiting, found.span()] if not spans or spans[-1] != waiting else [found.span()]
        last, waiting = int(found[1]), found.span()
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces += [text[at:start], " " * (end - start)]
        at = end
    return "".join([*pieces, text[at:]])


class Stretch(NamedTuple):
    """Lines that are nothing but trees, with words before the first and what is left behind the last."""

    first: int
    end: int
    trees: list[Branch]
    before: str
    behind: str


def stretches(text: str, found: Sequence[Branch]) -> list[Stretch]:
    """The lines that are trees, of those of a text."""
    begins = [0, *(one.end() for one in re.finditer("\n", text))]

    def line(at: int) -> int:
        return bisect_right(begins, at) - 1

    def rest(at: int) -> str:
        n = line(at)
        return text[at : begins[n + 1] - 1 if n + 1 < len(begins) else len(text)]

    made: list[Stretch] = []
    at, done = 0, len(text.rstrip())
    while at < len(found):
        run = [found[at]]
        while at + 1 < len(found) and line(found[at + 1].start) == line(max(found[at].start, found[at].end - 1)):
            at += 1
            run.append(found[at])
        at += 1
        first, last = run[0], run[-1]
        before = text[begins[line(first.start)] : first.start] if first.label or first.start else ""
        end = max(last.start, last.end - 1)
        joined = all(
            not text[a.end : b.start].strip(" \t\n,;") and not a.broken for a, b in zip(run, run[1:], strict=False)
        )
        named = not before.strip() or (first.label and _has_rows(first) and not first.broken)
        if not joined or not named:
            continue
        behind = rest(last.end) if last.end <= len(text) else ""
        if last.broken:
            if last.end - first.start < _MUCH and last.end < done:
                continue
            made.append(Stretch(line(first.start), line(end) + 1, run, before.strip(), behind.strip()))
        elif behind.strip() in ("", ","):
            made.append(Stretch(line(first.start), line(end) + 1, run, before.strip(), ""))
    return made


def _has_rows(tree: Branch) -> bool:
    """Whether it is more than a list of words in a sentence."""
    return tree.keys is not None or any(isinstance(one, Branch) for one in tree.values)
