"""Listings: files of `ls`, `find`, `tree` and `du` under their folder, and installed packages.

Paths as they stand in listings and search hits: what looks like one, what only does (base64), and which nobody asks
for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from ..records import Reading, Record

PATH = r"(?:[A-Za-z]:[\\/])?[^\s:\"'`<>|*?;,=(){}]{1,400}"
"""One word that may be a path; the length keeps hostile lines linear."""

_WORD = re.compile(r"(?:[A-Za-z]:(?=[\\/]))?[^\s:!\"'`<>|*?;,=]{1,400}")
_ENDING = re.compile(r".*[\w)\]~-]\.[A-Za-z_][\w-]{0,9}")
_FIGURES = re.compile(r"v?\d[\d.,/:%-]*[a-z]{0,3}")

_DULL_FOLDER = re.compile(
    r"node_modules|__pycache__|\.git|\.?venv|\.[tn]ox|\.\w{0,20}[_-]?cache|\.next|\.nuxt|\.gradle|\.idea|\.turbo|dist|build"
    r"|target|coverage|htmlcov|site-packages|bower_components|_build|deps"
)
_DULL_FILE = re.compile(
    r"(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|\.DS_Store|\.coverage|.{1,200}\.lock"
    r"|.{1,200}\.(?:pyc|pyo|o|class|map|min\.js|min\.css|log\.\d+|swp)|.{1,200}\.(?:egg|dist)-info)"
)
_TEST = re.compile(
    r"(?:^|[/\\])(?:tests?|__tests__|specs?|fixtures|__snapshots__)[/\\]|(?:^|[/\\])test_|[._](?:test|spec)\.\w+$"
)

_ARMOUR = 60
"""Characters of a line of it: what writes base64 breaks it at 60, 64 or 76."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]{4,100}={0,2}")
_ARMOUR_ENDS = re.compile(r"-----(?:BEGIN|END) [A-Z0-9 ]{3,60}-----$")


def is_armour(line: str, before: str = "") -> bool:
    """A line of a key, a signature or a file in base64, also the last of it, which is shorter than the one before."""
    if not _BASE64.fullmatch(line):
        return _ARMOUR_ENDS.match(line) is not None
    mixed = sum(one.islower() != two.islower() for one, two in pairwise(line)) * 4 >= len(line)
    return mixed if len(line) >= _ARMOUR else len(before) > len(line) and is_armour(before)


def is_path(word: str) -> bool:
    """Whether a word says by itself that it is a path: a slash or an ending, and neither figures nor a URL."""
    if not _WORD.fullmatch(word) or "//" in word or _FIGURES.fullmatch(word) or is_armour(word):
        return False
    return "/" in word or "\\" in word or _ENDING.fullmatch(word) is not None


def is_dull(path: str) -> bool:
    """Whether it is made by a tool: a cache, a build, a lock file, a bundle."""
    parts = re.split(r"[/\\]", path.rstrip("/\\"))
    return _DULL_FILE.fullmatch(parts[-1]) is not None or any(map(_DULL_FOLDER.fullmatch, parts))


def is_test(path: str) -> bool:
    """Whether it is a test or belongs to tests."""
    return _TEST.search(path) is not None


_LONG = re.compile(r"\s{0,12}(?:\d{1,12}\s{1,8}){0,2}[-dlbcpsDP][-rwxsStTlL]{9}[@+.]?\s{1,8}\d{1,9}\s")
_SUM = re.compile(r"total [\d.,]{1,12}[KMGTP]?$")
_FOLDER = re.compile(r"\S.{0,400}:$")
_ROOTED = re.compile(r"(?:\.{1,2}(?:/.{0,400})?|[/~].{0,400}):$")
_BRANCH = re.compile(r"[│| \xa0]{0,200}[├└|`+\\][─┬-]{1,5} ")
_TREE_SUM = re.compile(r"\d{1,9} director(?:y|ies)(?:, \d{1,9} files?)?$")
_BULLET = re.compile(r"( {0,80})- (\S{1,400})$")
_SIZED = re.compile(
    r"\s{0,12}(?:[\d.,]{1,15}[KMGTP]?i?B?(?:\s{1,8}\d{1,12}){0,2}|[0-9a-f]{32,128})\s{1,8}\*?(\S.{0,400})$"
)
"""`du`, `wc`, and the sums of `md5sum` and its like."""
_PACKAGE = re.compile(
    r"[A-Za-z0-9][\w.\-\[\]]{0,100}(?:==\S{1,80}| @ \S{1,400})(?: ;.{0,200})?$|-e \S{1,400}$"
    r"|[uirph][nicurhWt][R ]? {1,2}\S{1,100} {1,80}\S{1,100} {1,40}\S{2,20} "
    r"|[a-z0-9][\w.+-]{0,100}/[\w,.-]{1,100} \S{1,80} \w{1,12}(?: \[.{1,80}\])?$"
)
_PACKAGE_HEAD = re.compile(r"Desired=|\| Status=|\|/ Err|\|\|/ Name|\+\+\+-|Listing\.\.\.")
_NAME = re.compile(r"[\w.@~+#$%&\[\]()!-]{1,200}[/*@=|]?$")


def _listed(line: str) -> bool:
    """Whether a line is a path, or a size or a sum and a path."""
    text = line.strip()
    if is_path(text):
        return True
    found = _SIZED.match(line)
    return found is not None and (found[1] in (".", "total") or is_path(found[1]))


def _form(lines: Sequence[str], start: int) -> str:
    """Which listing begins at a line, by it and the two after; empty: none."""
    line = lines[start]
    ahead = [each for each in lines[start + 1 : start + 3] if each.strip()]
    after = ahead[0] if ahead else ""
    if _LONG.match(line) or ((_FOLDER.match(line) or _SUM.match(line)) and (_LONG.match(after) or _SUM.match(after))):
        return "long"
    if (
        _BRANCH.match(after)
        and lines[start + 1] == after
        and (_BRANCH.match(line) or (len(line) < 400 and not line[:1].isspace()))
    ):
        return "tree"
    if (
        _ROOTED.match(line)
        and lines[start + 1 : start + 2] == [after]
        and _NAME.match(after)
        and not _FOLDER.match(after)
    ):
        return "long"
    if (found := _BULLET.match(line)) and found[2].endswith("/") and is_path(found[2]) and _BULLET.match(after):
        return "bullets"
    if _PACKAGE_HEAD.match(line) or (_PACKAGE.match(line) and (not after or _PACKAGE.match(after))):
        return "packages"
    if _listed(line) and (len(lines) == 2 or len(ahead) == 2) and all(_listed(each) for each in ahead):
        return "paths"
    if _NAME.match(line) and not (start and _NAME.match(lines[start - 1])):
        # Plain `ls`: some names have no ending, but half of the first eight have.
        first = [each for each in lines[start : start + 8] if each]
        if len(first) > 3 and all(map(_NAME.match, first)) and 2 * sum(map(is_path, first)) >= len(first):
            return "paths"
    return ""


def _goes_on(form: str, lines: Sequence[str], at: int, named: bool) -> bool:
    line = lines[at]
    if form == "long":
        heads = _FOLDER.match(line) and (
            _ROOTED.match(line) or at + 1 < len(lines) and (_LONG.match(lines[at + 1]) or _SUM.match(lines[at + 1]))
        )
        return bool(_LONG.match(line) or _SUM.match(line) or heads or (named and _NAME.match(line)))
    if form == "tree":
        return bool(_BRANCH.match(line) or _TREE_SUM.match(line) or line.strip() in ("│", "|"))
    if form == "bullets":
        return _BULLET.match(line) is not None
    if form == "packages":
        return bool(_PACKAGE.match(line) or _PACKAGE_HEAD.match(line))
    return _listed(line) or _NAME.match(line) is not None or (line[:1] == "/" and ": " not in line and len(line) < 400)


def claims(lines: Sequence[str], start: int) -> int:
    """Lines of one listing, with blank lines where folders follow each other."""
    form = _form(lines, start)
    if not form:
        return start
    end, named = start + 1, bool(_ROOTED.match(lines[start]))
    for at in range(start + 1, len(lines)):
        if lines[at].strip():
            if not _goes_on(form, lines, at, named):
                break
            end, named = at + 1, named or bool(_ROOTED.match(lines[at]))
        elif form not in ("long", "tree") or at > end:
            break
    return end


def _worth(path: str, depth: int) -> float:
    """Top before deep; what tools made, hardly."""
    return 0.2 if is_dull(path) else max(0.7, round(1.5 - 0.2 * depth, 1))


def _long(lines: Sequence[str], records: list[Record]) -> None:
    folder, depth, top = -1, 0, -1
    for at, raw in enumerate(lines):
        text = raw.strip()
        if not text:
            continue
        if _FOLDER.match(raw) and not _LONG.match(raw):
            folder = len(records)
            top = text.count("/") if top < 0 else top
            depth = max(0, text.count("/") - top)
            records.append(Record(text, "heading", _worth(text[:-1], depth), at=at))
        elif _SUM.match(raw) or text.endswith((" .", " ..")) or text in (".", ".."):
            records.append(Record(text, "noise", 0.0, under=folder, at=at))
        else:
            name = text.split(" -> ")[0].rsplit(None, 1)[-1]
            records.append(Record(text, "entry", _worth(name, depth), under=folder, at=at))


def _nested(lines: Sequence[str], records: list[Record]) -> None:
    """Of `tree` and of bullets: an entry stands under the nearest one above that is less deep."""
    above: list[tuple[int, int]] = []
    for at, raw in enumerate(lines):
        text = raw.strip()
        branch = _BRANCH.match(raw)
        if not text or text in ("│", "|"):
            continue
        if not branch and _TREE_SUM.match(raw):
            records.append(Record(text, "outcome", 3.0, at=at))
            continue
        column = branch.end() if branch else len(raw) - len(raw.lstrip())
        while above and above[-1][0] >= column:
            above.pop()
        under = above[-1][1] if above else -1
        if under >= 0:
            records[under].kind = "heading"
        name = raw[branch.end() :] if branch else text.removeprefix("- ")
        dull = under >= 0 and records[under].worth < 0.5
        records.append(Record(text, "entry", 0.2 if dull else _worth(name.strip(), len(above)), under=under, at=at))
        above.append((column, len(records) - 1))


def _flat(lines: Sequence[str], records: list[Record]) -> None:
    paths = [line.strip().rsplit(None, 1)[-1] if line.strip() else "" for line in lines]
    top = min((path.count("/") for path in paths if path), default=0)
    for at, raw in enumerate(lines):
        if _PACKAGE_HEAD.match(raw):
            records.append(Record(raw.strip(), "noise", 0.0, at=at))
        elif text := raw.strip():
            worth = 1.0 if _PACKAGE.match(raw) else _worth(paths[at], paths[at].count("/") - top)
            records.append(Record(text, "entry", worth, at=at))


def read(lines: Sequence[str]) -> Reading:
    """One record a line: entries under their folder, or for themselves where the line has the whole path."""
    records: list[Record] = []
    form = _form(lines, 0)
    (_long if form == "long" else _nested if form in ("tree", "bullets") else _flat)(lines, records)
    return Reading(records)
