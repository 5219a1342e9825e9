"""Prose in any script, and whatever nobody else reads: headings, sentences, items under their lead-in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..records import Reading, Record
from . import log
from .listing import is_armour

LONG_LINE = 200
"""Characters: a longer line is told sentence by sentence."""
HEADING_CHARS = 100
"""A title is shorter; what is longer says something itself."""
LEAD = 100
"""Level of a line that leads to a list: below all sections, and deeper by its indentation."""

TITLE = 12, 160
"""Characters of a first line that is no sentence, and that all sections of its text stand under: its title."""
_ENDS = re.compile(r"[.!?:;,。！？：]\W*$")
LEADING = 48
"""Characters of a first sentence that says what the text is about."""
_ASIDE = frozenset("><[!|")
"""How a motto, a badge, a note of a page begins: not what its text is about."""
_STOPS = re.compile(r"[.!?。！？]\W*$")
EDGE = 4
"""So many lines at both ends of a text may say how a command went; inside, the same words are talk about it."""

_STOP = re.compile(r"(?<![.!?…])[.!?…]{1,9}[\"'”’»)\]*_]{0,9}\s+|[。！？؟۔।॥｡]{1,9}[」』”’）)】》]{0,9}\s*")
_ABBREVIATED = re.compile(
    r"(?:^|[\s(\[*_\"“‘])(?:[A-Za-z]|\d{1,3}|(?:[A-Za-z]\.){1,4}[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|No|Nos|Nr|Fig|Figs|Eq"
    r"|Sec|Ch|Vol|pp|ed|al|vs|cf|etc|approx|ca|resp|incl|bzw|usw|evtl"
    r"|ggf|Abs|Art|Inc|Ltd|Co|Corp|Gen|Gov|Sen|Rep|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|p\.ex|стр|рис|г|им"
    r"|т\.\s?[еп])$"
)
"""What stands before a full stop that ends no sentence."""
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_TO_RUN = re.compile(r"^\s*(?:```|~~~)\s{0,4}(?:ba|z|fi)?sh|^\s*(?:```|~~~)\s{0,4}(?:shell|console|powershell|cmd)\b")
"""The head of a block of commands: a reader types them."""
_COMMAND = re.compile(
    r"(?:\$ |> |sudo )?(?:python3?|pip3?|uvx?|np[mx]|pnpm|yarn|bunx?|node|deno|git|make|cargo|go|docker|kubectl|mix"
    r"|gh|curl|bash|sh|\./[\w./-]+) \S|\$ \S"
)
"""The first line of a block that does not say what it is."""
_FIRST_COMMAND, FIRST_TO_TYPE = 5, 8.0
"""Lines of the first command of a manual, and what each is worth: whoever read it came to type it."""
_COMMANDS, TO_TYPE, _MORE_TO_TYPE = 8, 3.0, 1.6
"""Lines of commands that a reader wants beside it, what each is worth, and one of those after them."""
_ORDER = re.compile(
    r"\b(?:MUST(?: NOT)?|SHALL(?: NOT)?|MANDATORY|REQUIRED|NEVER|ALWAYS|CRITICAL|D(?:O|o) NOT|DON'T|FORBIDDEN)\b"
)
"""In capitals within a sentence: what a manual wants kept whatever else is forgotten."""
_RULE_OF = re.compile(r"(?:[-*+•] |\d{1,2}[.)] )?(?:\*\*)?(?:Always|Never|Do not|Don['’]t|You must) \w")
"""How a point of a list begins that rules what its reader does."""
_ORDERS, _TO_KEEP = 8, 4.0
"""Lines with one that count, and what each is worth: a text that shouts everywhere says nothing by it."""
_CLOSING = ("```", "~~~")
"""With nothing below it: the end of a block that another reader has read."""
_ITEM = re.compile(r"^\s*(?:[-*+•‣◦–·▪●]|\d{1,3}[.)]|[a-zA-Z][.)]|\[[ xX]\])\s+\S")
_FRAME = re.compile(r"\s*(>)?\s*\d{0,6} [│|](?: |$)")
_AROUND = 0.2
"""Worth of a line of code around the one that a linter shows."""
_LINK_ITEM = re.compile(r"^\W*\[[^\]]*\]\([^)]*\)\W*$")
_NO_WORDS = re.compile(r"\W*\[\W*\]\([^\s)]*\)\W*")
"""A link without a word to click at."""
_IMAGE = re.compile(r"^(?:\[?!\[[^\]]*\]\([^)]*\)(?:\]\([^)]*\))?\s*){1,9}$")
_MARKDOWN = re.compile(r"^\s{0,3}(#{1,6})\s+\S")
_RULES = "=-~^"
BANNER = re.compile(r"(={3,}|-{3,}) [^\W\d][^\d]{0,78}[^\W\d] \1$")
"""`=== SURVIVAL ===`, `--- by class ---`: how a script heads what it prints. One with a number says how it went."""
"""What a title may be underlined with, from the highest level down."""
_BOLD = re.compile(r"^(?:\*\*[^*]+\*\*|__[^_]+__):?$")
_NUMBERED = re.compile(
    r"^(?:(?:Chapter|Section|Part|Appendix)\s)?(\d{1,3}(?:\.\d{1,3}){0,4})[.)]?\s+[^\W\d_].*[^\s.!?。:;,]$"
)
_SCRIPT = re.compile(r"> (?:@[\w.-]+/)?[\w.-]+@\d\S* \S+$")
"""Above what a package's script says, where npm and its like run those of several packages."""
_CAPITALS = re.compile(r"^[A-Z][A-Z \-/&]{3,60}:?$")
_BOILERPLATE = re.compile(
    r"^\W{0,4}(?:skip (?:to|navigation)\b.*|(?:main )?menu|home|log ?(?:in|out)|sign (?:in|up|out)|register"
    r"|subscribe(?: now)?|share(?: (?:this|on|via)\b.*)?|tweet|follow us.*|accept(?: all)?(?: cookies)?|reject all"
    r"|(?:privacy|cookie)s? (?:policy|settings|notice|preferences)|terms(?: (?:of (?:use|service)|and conditions))?"
    r"|contact(?: us)?|about(?: us)?|advertisement|sponsored|back to top|read more|load more|show more|see more"
    r"|get the latest.*|back to (?:the )?(?:blog|home|list|overview|news)|previous|next|search|close"
    r"|toggle navigation|edit(?: source)?|copy(?: code| link)?|print|download app"
    r"|all rights reserved.*|newsletter|loading\W*"
    r"|\d[\d.,]{0,12} ?[km]?\+? (?:subscribers?|views?|likes?|followers?|comments?|shares?|reactions?|retweets?)"
    r"|(?:#\w{1,40}\s*){1,20})\W*$"
    r"|^\W{0,4}(?:for|to find out|to learn) more (?:information|details|about)\b"
    r"|^\W{0,4}(?:©|\(c\) ?\d{4}|copyright (?:©|\(c\)|\d{4}))"
    r"|^\W{0,4}(?:best|(?:(?:best|kind|warm|many) )?(?:regards|wishes|thanks)|cheers|sincerely)[,.!]*$"
    r"|^\W{0,4}(?:this|the information in this) e-?mail (?:\(.{0,40}\) )?(?:and|may|is|contains|message)\b"
    r"|^\W{0,4}(?:we use cookies|this (?:site|website) uses cookies|by (?:using|continuing))"
    r"|.{0,120}\bcookies?\b.{0,80}"
    r"\b(?:preferences|personali[sz]e|opt[- ]?out|third[- ]part|advertis|your (?:browser|consent))",
    re.IGNORECASE,
)

_PROMOTED = re.compile(
    r"\b(?:episode|show|podcast|newsletter|issue|video) is brought to you by\b"
    r"|\bcompensation from .{0,80} for advertising\b|\bthis ad(?:vertisement)? (?:may|does|is)\b",
    re.IGNORECASE,
)
"""In a paragraph that a sponsor paid for, within its first 2,000 characters."""
_PROMOTING = ("brought to you by", "advertis", "his ad ")
"""One of them is in each of these: cheaper to look for in every line."""


def sentences(line: str) -> Iterator[str]:
    """The sentences of a line, as they stand, without outer blanks; together they are all of it but blanks."""
    start = 0
    for stop in _STOP.finditer(line):
        before, after = line[max(start, stop.start() - 20) : stop.start()], line[stop.end() : stop.end() + 1]
        if stop.group()[0] == "." and (after.islower() or _ABBREVIATED.search(before)):
            continue
        if piece := line[start : stop.end()].strip():
            yield piece
        start = stop.end()
    if piece := line[start:].strip():
        yield piece


def is_blob(line: str) -> bool:
    """Base64, hex, minified code: a long run without blanks is most of the line. Not Chinese, nor an address."""
    if len(line) <= LONG_LINE:
        return False
    longest = max(line.split(), key=len, default="")
    return (
        len(longest) > LONG_LINE
        and longest.isascii()
        and len(longest) * 2 > len(line)
        and ("://" not in longest or len(longest) > 5 * LONG_LINE)
    )


def is_noise(text: str) -> bool:
    """What nobody asks for: rules, pictures, menus, counts of clicks, what a sponsor paid for, encoded bytes."""
    blank = text.isascii() and not re.search(r"\w", text)
    known = _IMAGE.match(text[:1000]) or _BOILERPLATE.match(text[:LONG_LINE]) or log.ADVICE.match(text)
    return blank or bool(known) or _NO_WORDS.fullmatch(text) is not None or is_blob(text) or _is_promotion(text[:2000])


def _is_promotion(text: str) -> bool:
    return any(one in text for one in _PROMOTING) and _PROMOTED.search(text) is not None


def sponsors(lines: Sequence[str]) -> set[int]:
    """Places of lines with a link, or of points, right below `This episode is brought to you by:`."""
    found: set[int] = set()
    below = False
    for i, line in enumerate(lines):
        text = line.strip()
        if below and text:
            below = "://" in text or _ITEM.match(line) is not None
            found.update([i] if below else [])
        if text.endswith((":", ":**", ":*")) and _is_promotion(text[:2000]):
            below = True
    return found


def _heading(lines: Sequence[str], i: int) -> int:
    """The level of a heading, 1 and deeper; 0: the line is none. A lead-in is no heading of this kind."""
    text = lines[i].strip()
    if mark := _MARKDOWN.match(lines[i]):
        return len(mark.group(1))
    if len(text) > HEADING_CHARS or lines[i][:1].isspace():
        return 0
    if _SCRIPT.match(text):
        return 3
    if banner := BANNER.match(text):
        return 1 + (banner[1][0] == "-")
    before = lines[i - 1].strip() if i else ""
    after = lines[i + 1].strip() if i + 1 < len(lines) else ""
    if before and before != after:
        return 0
    if len(after) > 2 and len(set(after)) == 1 and after[0] in _RULES and text[0] not in "|+-=*":
        level = _RULES.index(after[0]) + 1
        if level < 3 or len(after) + 1 >= len(text):
            return level
    if before:
        return 0
    if _BOLD.match(text):
        return 7
    if not after and (number := _NUMBERED.match(text)):
        return 8 + number.group(1).count(".")
    return 7 if _CAPITALS.match(text) and len(after) + len(text) > 6 else 0


def claims(lines: Sequence[str], start: int) -> int:
    """All that is left: the router hands it only what nobody else reads."""
    return len(lines) if start < len(lines) else start


class _Place:
    """Where the reader is: levels and numbers of the headings that are open, and whether the last has nothing yet."""

    def __init__(self) -> None:
        self.open = [(0, -1)]
        self.fresh = True

    def close(self, level: int) -> None:
        while self.open[-1][0] >= level:
            self.open.pop()

    def enter(self, level: int, number: int) -> None:
        self.open.append((level, number))
        self.fresh = True


def read(lines: Sequence[str]) -> Reading:
    """Sentences and list items under their headings."""
    out: list[Record] = []
    here = _Place()
    fences = [i for i, line in enumerate(lines) if _FENCE.match(line)]
    closes = fences[:1] == [0] and lines[0].strip() in _CLOSING and not "".join(lines[1:2]).strip()
    unclosed = fences[-1] if (len(fences) - closes) % 2 and lines[fences[-1]].strip() in _CLOSING else -1
    fenced, apart, rule, told = False, True, -1, False
    run, commands, orders = False, 0, 0
    entitled = sum(1 for line in lines if _MARKDOWN.match(line)) > 1
    promoted = sponsors(lines)
    for i, line in enumerate(lines):
        text = line.strip()
        if not text:
            apart = True
            continue
        indent = len(line) - len(line.lstrip())
        item = bool(_ITEM.match(line))
        mark = _FENCE.match(line) and i != unclosed
        fenced ^= bool(mark) and not (closes and i == 0)
        if mark:
            bare = fenced and text in _CLOSING and _COMMAND.match("".join(lines[i + 1 : i + 2]).strip())
            run = bool(bare or _TO_RUN.match(line))
        armour = is_armour(text, lines[i - 1].strip() if i else "")
        if armour or mark or not fenced and (i == rule or i in promoted or is_noise(text)):
            out.append(Record(text, "noise", 0.0, here.open[-1][1], at=i))
        elif fenced:
            typed = run and text[0] != "#"
            commands += typed
            wanted = FIRST_TO_TYPE if commands <= _FIRST_COMMAND else TO_TYPE
            worth = (wanted if commands <= _COMMANDS else _MORE_TO_TYPE) if typed else 0.8
            out.append(Record(text, worth=worth, under=here.open[-1][1], at=i, indent=line[:indent]))
            here.fresh = False
        elif level := _heading(lines, i):
            here.close(level)
            out.append(Record(text, "heading", 1.2, here.open[-1][1], at=i))
            here.enter(level, len(out) - 1)
            rule = i + 1 if level <= len(_RULES) and not (_MARKDOWN.match(line) or BANNER.match(text)) else -1
        else:
            if item or indent or (apart and not here.fresh):
                here.close(LEAD + 2 * indent + item)
            first = here.fresh and here.open[-1][0] < LEAD
            under = here.open[-1][1]
            pieces = list(sentences(text)) if len(text) > LONG_LINE else [text]
            begins = len(out)
            for piece in pieces:
                record = log.verdict(piece) if i < EDGE or i >= len(lines) - EDGE else Record(piece)
                record.under, record.at = under if len(out) == begins or not item else begins, i
                record.indent = line[:indent] if item and len(out) == begins else ""
                if frame := _FRAME.match(line):
                    record.worth = 1.5 if frame[1] else _AROUND
                elif record.kind == "line":
                    link = _LINK_ITEM.match(piece[:1000])
                    lead = (
                        not (told or item or piece[0] in _ASIDE)
                        and len(piece) >= LEADING
                        and bool(_STOPS.search(piece))
                    )
                    told |= lead
                    record.worth = (0.6 if item else 0.3) if link else 2.0 if lead else 1.5 if first else 1.0
                    ordered = _ORDER.search(piece) or (item and _RULE_OF.match(piece))
                    if orders < _ORDERS and not piece.isupper() and ordered:
                        orders += 1
                        record.kind, record.worth = "claim", _TO_KEEP
                out.append(record)
                first = False
            if len(out) == 1 and entitled and TITLE[0] <= len(text) <= TITLE[1] and not _ENDS.search(text):
                here.open[0] = (0, 0)
            here.fresh = False
            follower = lines[i + 1] if i + 1 < len(lines) else ""
            if text.endswith((":", "：")) and (
                not follower.strip() or _ITEM.match(follower) or _FENCE.match(follower) or follower[:1].isspace()
            ):
                out[-1].kind, out[-1].worth = "heading", 0.0  # it says nothing without what it leads to
                here.enter(LEAD + 2 * indent + item, len(out) - 1)
        apart = False
    return Reading(out)
