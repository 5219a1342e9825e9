"""Source code of any language, as an outline: definitions, constants, errors raised, and what they hold under them.

What a line is, its words say; what it stands under, its indentation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from ..records import Kind, Reading, Record
from .code_lines import BRACKETS, COMMENT, CONSTANT, IMPORT, Line, sort_line, sort_lines
from .numbered import body_of, said, viewed

_SAMPLE = 24
"""Lines that decide whether a text is code: a screenful tells, and a refusal stays cheap."""
_SHARE = 0.7
"""Of those that are not comments, so many look like code: files have over 0.8, prose and logs under 0.3."""
_GAP = 5
"""Lines in a row that do not look like code, inside of code: text in a template, a table of data."""
_NAMED_PLACE = re.compile(r"(?:\bline |[\w/]:)(\d{1,6})\b")
_LOCAL = re.compile(r"(?:const|let|var|val|static|final) [a-z]")
_ATTRIBUTE = re.compile(r"@(?:impl|doc|moduledoc|spec|typedoc|type)\b")
_RAISED = re.compile(
    r"(?:raise|throw|panic!?|abort|die|bail!|fail)\b[ (]|.{0,120}\b(?:throw new |errors\.New\(|fmt\.Errorf\(|Err\(|"
    r"raise [A-Z]|\{:error, ?[:\"]|process\.exit\(|sys\.exit\()"
)
_MARKED = re.compile(r"\b(?:TODO|FIXME|XXX|HACK|BUG|WARNING|DEPRECATED|@deprecated)\b")
_SIGNATURE = re.compile(
    r"(?:(?:get|set|static|abstract|public|protected|private|async|readonly) ){0,3}[\w$]{1,60}\??"
    r"\((?:[^()]|\([^()]{0,200}\)){0,300}\)(?:: ?|\s?->\s?)[^;{]{1,200};$"
)
"""`setModel(model: Model): Promise<void>;`: what an interface offers, without a body."""
_FALLBACK = re.compile(
    r"defp? [\w?!]{1,80}\(.{0,200}\), do: (?:\[\]|\{\}|%\{\}|nil|true|false|\d{1,9}|\"\"|:\w{1,40}|socket|conn|acc)"
)
"""`defp load_errors(nil), do: []`: a clause for what needs nothing done."""
_LONG_BODY, _MUCH = 10, 1.3
"""Lines of a function from which its first is worth so many times as much."""
_NOTHING_DONE = 0.5
"""Worth of such a definition: beside the clauses that do something it looked as if nothing came back."""
_TYPE = re.compile(r"(?:[\w@()]+ ){0,5}(?:class|interface|trait|struct|impl|enum|object|record)\b.*\{$")
_SPLIT_METHOD = re.compile(
    r"(?:(?:public|private|protected|internal|static|final|abstract|async|override|get|set) ){0,4}"
    r"(?!(?:if|for|while|switch|catch|return|super|this)\b)[\w$#]{1,60}(?:<[^()<>]{0,80}>)?\((?:[^()]{0,200}[{(\[,])?$"
)
"""`updateResult(result: {`: a method among the members of a type, whose signature goes on below."""
_TAG = re.compile(r"</?[\w.:-]{1,60}(?: ?/?>)?$|<%\s{0,4}(?:end|else|true ->)\s{0,4}%>$")
"""A line that is nothing but a tag without attributes, or its end."""
_LONE = re.compile(r"(?:[\w$]+\.)*[\w$]+[(,;]?")
"""One name of a list or of a chain: it says nothing without its neighbours, and may still be listed as a name."""
_OPEN = re.compile(r"^[\w$.@\[\]: ]+[^=!<>]=$")
"""`new_expanded =`: what it is stands on the next line."""
_CONDITION = re.compile(
    r"(?:\}\s?)?(?:(?:if|elif|else if|elsif|elseif|unless|when)\b.*(?:\{|:|\bdo|\bthen|\))|else\b.{0,3})$"
    r"|(?:case\b.*|default):(?: ?\{)?$|.{1,160}(?:->|=>)(?: ?\{)?$"
)
_REMARK = 0.15
"""Worth of a comment inside a definition: less than that of the statement which it is about."""
_FEW_WORDS = 2
"""Words of a comment up to which it says too little to stand for what is below it."""
_OPENS = ('"""', "'''", "/**", '@moduledoc """', '@doc """')
"""First lines of a description whose words stand on the next."""


def claims(lines: Sequence[str], start: int) -> int:
    """Files with line numbers, whatever is in them; else a stretch that is mostly code."""
    first = lines[start].strip()
    if not first:
        return start
    end = viewed(lines, start)
    if end > start:
        return end
    before = lines[start - 1].strip() if start else ""
    if (
        sort_line(first) < 0
        or first[0] == "<"
        or (first[0] in "{[" and len(first) < 3)
        or (before and before[0] != "<" and sort_line(before) >= 0)
    ):
        return start  # the last: a stretch that was refused from its first line on
    told: list[int] = []
    gap = 0
    for line in islice(sort_lines(lines, start), 3 * _SAMPLE):
        told += [line.sort] if line.sort else []
        gap = 0 if line.sort > 0 else gap - min(line.sort, 0)
        if gap > _GAP or len(told) == _SAMPLE:
            break
    told = told[: len(told) - gap]
    strong = sum(s > 1 for s in told)
    if strong < 2 or 8 * strong < len(told) or sum(s > 0 for s in told) < max(4, _SHARE * len(told)):
        return start
    end, gap = start, 0
    for i, line in enumerate(sort_lines(lines, start), start):
        if line.sort > 0:
            end, gap = i + 1, 0
        elif line.sort < 0:
            gap += 1
            if gap > _GAP or lines[i].lstrip().startswith("```"):
                break
    return end


def read(lines: Sequence[str]) -> Reading:
    """Definitions in their order, each line under the one that holds it."""
    records: list[Record] = []
    bodies = [body_of(line) for line in lines]
    viewer = 2 * sum(number >= 0 for number, _ in bodies) >= sum(line != "" for line in lines)
    if not viewer:  # numbers before a few lines are keys, or data
        bodies = [(-1, line) for line in lines]
    told = _with_split_methods([body for _, body in bodies], list(sort_lines([body for _, body in bodies], 0)))
    counted = [line.sort for line in told if line.sort]
    code = 2 * sum(s > 0 for s in counted) >= len(counted)
    holders: list[tuple[int, int]] = []
    places: set[int] = set()
    fresh = not next((body for _, body in bodies if body.strip()), "")[:1].isspace()  # a part begins in the middle
    head, signature = -1, 0
    branches: list[tuple[int, int]] = []
    """Indentation and record of the conditions and cases that are open: a line stands under the nearest, else a reader
    takes it for one of the case before its own."""
    for i, ((number, body), line) in enumerate(zip(bodies, told, strict=True)):
        text = body.strip()
        if not text:
            continue
        if viewer and number < 0:
            record = said(lines[i].strip(), i)
            if record.worth > 1 or record.kind == "heading":
                head, holders = len(records), []
                places.update(int(n) for n in _NAMED_PLACE.findall(text))
            records.append(record)
            continue
        depth = _depth(body)
        if not line.quoted and not BRACKETS.match(text) and text[0] not in ")}]":
            while holders and holders[-1][0] >= depth:
                holders.pop()
        under = holders[-1][1] if holders else head
        condition = code and line.sort > 0 and _CONDITION.match(text) is not None
        if condition or not BRACKETS.match(text):
            while branches and branches[-1][0] >= depth:
                branches.pop()
        if branches:
            under = max(under, branches[-1][1])
        kind, worth = _worth(text, line, len(holders), fresh=fresh, inside=depth > 0) if code else _plainly(body)
        split = signature > 0
        if split and kind == "line":
            worth = 0.8  # the rest of a signature that goes over several lines
        if number in places:
            worth = 3.0
        if kind in ("definition", "heading") and not line.quoted:
            holders.append((depth, len(records)))
            signature = text.count("(") - text.count(")")
        elif split:
            signature += text.count("(") - text.count(")")
        if condition and kind == "line":
            branches.append((depth, len(records)))
        fresh = kind == "definition" or text == "/**" or (fresh and (split or text in _OPENS))
        indent = "" if viewer else body[: len(body) - len(body.lstrip())]
        records.append(Record(lines[i].strip(), kind, worth, under, at=i, indent=indent))
    _weigh_by_body(records)
    return Reading(records)


def _weigh_by_body(records: Sequence[Record]) -> None:
    """A function that does much is what a file is read for, before one that sets a field."""
    size: Counter[int] = Counter()
    for record in records:
        under = record.under if record.kind == "line" else -1
        while under >= 0 and records[under].kind != "definition":
            under = records[under].under
        size[under] += 1
    for n, record in enumerate(records):
        if record.kind == "definition" and size[n] >= _LONG_BODY:
            record.worth *= _MUCH


def _with_split_methods(bodies: Sequence[str], told: Sequence[Line]) -> list[Line]:
    """The sorts of lines, where that of a method is told by what it stands among: elsewhere it would be a call."""
    types: list[list[int]] = []
    """Indentation of each type that is open, and of its members; -1 before the first."""
    found: list[Line] = []
    for body, line in zip(bodies, told, strict=True):
        text = body.strip()
        found.append(line)
        if not text or line.quoted or COMMENT.match(text):
            continue
        depth = _depth(body)
        while types and depth <= types[-1][0]:
            types.pop()
        if types and types[-1][1] < 0:
            types[-1][1] = depth
        if types and depth == types[-1][1] and line.sort != 3 and _SPLIT_METHOD.match(text):
            found[-1] = Line(3, False)
        if line.sort == 3 and _TYPE.match(text):
            types.append([depth, -1])
    return found


def _depth(body: str) -> int:
    """Columns of a line's indentation."""
    wide = body.expandtabs(4)
    return len(wide) - len(wide.lstrip())


def _plainly(body: str) -> tuple[Kind, float]:
    """A numbered file that is no code: its headings, and the rest as it is."""
    return ("heading", 2.0) if re.match(r"#{1,6} \S", body) else ("line", 1.0)


def _worth(text: str, line: Line, depth: int, *, fresh: bool, inside: bool) -> tuple[Kind, float]:
    """What one line of code is worth to a reader who goes on editing: the outline, then what is odd, then the rest.

    Args:
        inside: it is indented, if what holds it is shown or not: a part of a file may begin anywhere.
    """
    if _MARKED.search(text) and (line.sort == 0 or "//" in text or "#" in text):
        return "line", 2.0
    if line.quoted or COMMENT.match(text):
        if not any(c.isalpha() for c in text):
            return "noise", 0.0
        if fresh and (line.quoted or text[0] in "\"'*@/"):
            return "line", 0.9
        return "line", 0.7 if not (depth or inside or line.quoted) and text.count(" ") > _FEW_WORDS else _REMARK
    if line.sort == 3:
        return "definition", _NOTHING_DONE if _FALLBACK.fullmatch(text) else 2.0 if depth < 2 else 1.0
    if BRACKETS.match(text) or _TAG.match(text) or _LONE.fullmatch(text) or _OPEN.search(text):
        return "noise", 0.0
    if IMPORT.match(text):
        return "line", 0.2
    if CONSTANT.match(text) and not _ATTRIBUTE.match(text):
        return "line", 1.6 if depth == 0 or (depth == 1 and not _LOCAL.match(text)) else 0.4
    if _SIGNATURE.match(text):
        return "line", 1.5
    if _RAISED.match(text):
        return "line", 1.3 if '"' in text or "'" in text or "`" in text else 0.5
    if text[0] == "@" and line.sort > 0:
        return "line", 1.2 if "(" in text else 0.6
    return "line", 0.5 if line.sort == 2 else 0.3
