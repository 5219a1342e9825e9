"""Which lines of a text are shown as one, and which follows which, so that a line that is missing leaves a mark."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .blocks import Unit
from .records import Record

SAYS = re.compile(r"\w\w|[^\W\d_a-zA-Z]")
"""A line without a word of two letters, or one of another script, says nothing."""
_PASSAGE = 6
"""Lines of a sentence that are shown together, at most."""
FULL_LINE = 50
"""Characters of a line from which it may have been broken for its length."""
HALF_LINE = 25
"""The same before a line that begins with a small letter."""
_POINTS_BACK = re.compile(
    r"(?:(?:[Tt]h(?:is|ese|ose)|[Tt]he (?:same|latter|former|two)|Such|Both|It|He|She|They|Its|His|Her|Their"
    r"|Dies(?:e[rsmn]?)?|Er|Sie|Es|Ce(?:la|tte|s|t)?|Ils?|Elles?|Est[aeo]s?|Él|Ell[ao]s?)\b"
    r"(?! is (?:that|to|where|how|why)\b)|[这那该其他她它])"
)
"""A sentence that begins so says what it is about only with the one before it, in the languages of our cues."""
_GOES_ON_FROM = re.compile(
    r"(?:But|However|Yet|Still|Instead|So|And|Or|Also|Then|That|Therefore|Thus|Hence|Otherwise|Compare that"
    r"|The (?:answer|reason|result|question|others?|second|third)|Another|Aber|Doch|Jedoch|Deshalb|Daher|Trotzdem|Und"
    r"|Mais|Cependant|Pourtant|Donc|Pero|Sin embargo|Por eso|Mas|Porém|Portanto|E)\b|但|然而|不过|因此|所以|而且|于是"
)
"""One that begins so goes on from it: behind another one it reads as going on from that."""
_TOLD_TOGETHER = 320
"""Characters of sentences that are shown together for that, at most."""
SPOKEN_KINDS = frozenset({"line", "claim"})
_ENDS = re.compile(r"[.!?:;。！？]\W{0,3}$")
PLACE = re.compile(r"\d{1,6}[→\t] ?")
"""The number of a line of a file, as a viewer shows it."""
_ITEM = re.compile(r"[-*+•]|\d{1,3}[.)] |[|>#]")
LISTS = frozenset({"page", "prose"})
_ORDERED = frozenset({"code", "diff"})
"""Forms whose lines mean something one after another."""
_FENCES = ("```", "~~~")
_BRANCHES = ("├", "└", "│")
_LABEL = re.compile(r"[^\W\d_][\w'’&-]*(?: [\w'’&-]+){0,2}")
"""A line of three words at most, without an end: a name above what somebody says, a word above what it is about."""
_POINT = re.compile(r"(?:[-*+•‣◦–·▪●]|\d{1,3}[.)]|[a-zA-Z][.)]|\[[ xX]\])\s+\S")
"""How a point of a list begins."""
_SIGN = re.compile(r"(\d{1,3}[.)]|[^\w\s|>#`'\"“«„(\[{<$&]{1,3})\s+\S")
"""How a point begins, in a list of any kind."""
_FEW_POINTS = 5
"""Points of a list that is shown whole or not at all, at most."""


def followers(units: Sequence[Unit], records: Sequence[Record], forms: Sequence[str]) -> dict[int, int]:
    """Of each point of a list the one that follows, of a heading or what leads to a list what it begins with; of lines
    that are alike the next of them, of a name that stands alone in its line the next line, and of code without
    numbers, changes and commits, too: an argument, a removed line or a commit that is missing without a mark is taken
    for one that never was, and what somebody else said for what he said who is named above."""
    found: dict[int, int] = {}
    last: dict[int, int] = {}
    ordered = label = -1
    fenced = False
    counted = {n for unit in units if unit.block >= 0 for n in unit.records}
    # A tree in a text for people; of one that a program printed entries are counted.
    drawn = not LISTS.isdisjoint(forms)
    for n, record in enumerate(records):
        if record.kind == "noise" and not (forms[n] == "code" and SAYS.search(record.text)):
            if forms[n] == "prose" and record.text.startswith(_FENCES):
                fenced, ordered = not fenced, -1
            continue
        if label >= 0 and record.under == records[label].under:
            found.setdefault(label, n)
        label = n if forms[n] in LISTS and record.kind in SPOKEN_KINDS and _LABEL.fullmatch(record.text) else -1
        branch = drawn and forms[n] == "listing" and record.text[:1] in _BRANCHES
        if record.under >= 0 and (branch or forms[record.under] in LISTS) and n not in counted:
            found.setdefault(record.under, n)
        if branch or (forms[n] in LISTS and _POINT.match(record.text)):
            if record.under in last:
                found[last[record.under]] = n
            last[record.under] = n
        if (forms[n] in _ORDERED or (fenced and forms[n] == "prose")) and not PLACE.match(record.text):
            if ordered >= 0 and forms[ordered] == forms[n]:
                found[ordered] = n
            ordered = n
        else:
            ordered = -1
    alike: dict[int, int] = {}
    for unit in units:
        if unit.block >= 0 and not unit.span and records[unit.records[0]].table < 0:
            if unit.block in alike:
                found[alike[unit.block]] = unit.records[0]
            alike[unit.block] = unit.records[-1]
    return found


def signatures(units: Sequence[Unit], records: Sequence[Record], forms: Sequence[str]) -> list[Unit]:
    """The units, with a definition whose arguments go over several lines as one: what it takes and gives is half of
    it. Longer ones stay as they are."""
    found: list[Unit] = []
    n = 0
    while n < len(units):
        end = n + 1
        if forms[units[n].records[0]] == "code" and _begins_signature(units[n], records):
            opened = _opened(units[n].text)
            while opened > 0 and end < len(units) and _follows(units[end - 1], units[end], records):
                opened += _opened(units[end].text)
                end += 1
            if opened > 0 or sum(len(unit.text) for unit in units[n:end]) > _TOLD_TOGETHER:
                end = n + 1
        lines = units[n:end]
        text = "\n".join(unit.text for unit in lines)
        found.append(Unit(tuple(unit.records[0] for unit in lines), text) if len(lines) > 1 else units[n])
        n = end
    return found


def _begins_signature(unit: Unit, records: Sequence[Record]) -> bool:
    definition = records[unit.records[0]].kind == "definition" and unit.block < 0 and not unit.cut
    return definition and len(unit.records) == 1 and unit.text.endswith(("(", ","))


def _opened(text: str) -> int:
    """Round brackets that a line opens and leaves to others to close; below zero, that it closes."""
    return text.count("(") - text.count(")")


def _follows(line: Unit, following: Unit, records: Sequence[Record]) -> bool:
    """Whether it is the next line of code, and shown whole."""
    one, other = records[line.records[-1]], records[following.records[0]]
    single = following.block < 0 and len(following.records) == 1 and not following.cut
    return single and other.kind != "definition" and other.at == one.at + 1


def told_together(units: Sequence[Unit], records: Sequence[Record], forms: Sequence[str]) -> list[Unit]:
    """The units, with lines of prose that a sentence goes on over as one, and short lists."""
    found: list[Unit] = []
    listed = _short_lists(units, records, forms)
    for unit in units:
        n, before = unit.records[0], found[-1].records if found else ()
        if n in listed and before and listed.get(before[-1]) == listed[n]:
            found[-1] = Unit((*before, n), f"{found[-1].text}\n{unit.text}")
            continue
        if (
            before
            and len(before) < _PASSAGE
            and unit.block < 0
            and found[-1].block < 0
            and not (unit.cut or found[-1].cut)
            and forms[n] == forms[before[-1]]
            and (
                (forms[n] == "prose" and goes_on(records[before[-1]], records[n]))
                or (
                    forms[n] in LISTS
                    and len(found[-1].text) + len(unit.text) <= _TOLD_TOGETHER
                    and points_back(records[before[-1]], records[n])
                )
            )
        ):
            found[-1] = Unit((*before, n), f"{found[-1].text}\n{unit.text}")
        else:
            found.append(unit)
    return found


def _short_lists(units: Sequence[Unit], records: Sequence[Record], forms: Sequence[str]) -> dict[int, int]:
    """Of each point of a list that is shown whole or not at all, the first point: one of three tasks would be taken
    for the only one."""
    found: dict[int, int] = {}
    run: list[Unit] = []
    for unit in units:
        point = not unit.cut and unit.block < 0 and len(unit.records) == 1 and forms[unit.records[0]] in LISTS
        if not (point and run and _same_list(records[run[-1].records[0]], records[unit.records[0]])):
            found.update(_together(run))
            run = []
        run += [unit] if point else []
    return {**found, **_together(run)}


def _together(points: Sequence[Unit]) -> dict[int, int]:
    """Of each of these points the first, where they are few and short."""
    few = 1 < len(points) <= _FEW_POINTS and sum(len(one.text) for one in points) <= _TOLD_TOGETHER
    return {one.records[0]: points[0].records[0] for one in points} if few else {}


def _same_list(line: Record, following: Record) -> bool:
    """Whether two lines are points of one list: they begin with the same sign, as deep, under the same heading."""
    sign, other = _SIGN.match(line.text), _SIGN.match(following.text)
    return (
        sign is not None
        and other is not None
        and (sign[1] == other[1] or sign[1][:1].isdigit() and other[1][:1].isdigit())
        and (line.under, line.indent, line.at + 1) == (following.under, following.indent, following.at)
    )


def points_back(line: Record, following: Record) -> bool:
    """Whether a sentence is about what the one before it in its line names."""
    return line.kind in SPOKEN_KINDS and following.kind in SPOKEN_KINDS and refers_back(line, following)


def refers_back(line: Record, following: Record) -> bool:
    """The same of a sentence that says how it went, too."""
    return line.at == following.at and _POINTS_BACK.match(following.text) is not None


def lacks_its_start(line: Record, following: Record) -> bool:
    """Whether a sentence goes on from the one before it, so that a mark must say where that is not shown."""
    leads_on = following.kind == "heading" and line.at == following.at  # to a list, in the same line
    follows = line.kind in SPOKEN_KINDS and (following.kind in SPOKEN_KINDS or leads_on)
    return refers_back(line, following) or (follows and _GOES_ON_FROM.match(following.text) is not None)


def goes_on(line: Record, following: Record, least: int = FULL_LINE) -> bool:
    """Whether a line was broken because it was full, not because what it says was at its end."""
    if line.kind not in SPOKEN_KINDS or following.kind not in SPOKEN_KINDS:
        return False
    if line.at + 1 != following.at or line.under != following.under:
        return False
    if line.text.endswith("\\"):  # a command
        return True
    return len(line.text) >= least and not _ENDS.search(line.text) and not _ITEM.match(following.text)
