"""Prose by its title, the sentences that open its sections, and its conclusions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..lines import Place, fits
from .commands import LEGAL, is_command, legal
from .html import Block

_MARKED = re.compile(r"(#{1,6}) +\S|={2,} +\S.* ={2,}$")
_NAMED = re.compile(r"(?:\*\*|__)[^*_]{2,80}(?:\*\*|__):?$|[A-Z][A-Z /&-]{3,60}:?$")
RULE = re.compile(r"[\s|:+=*_~-]+$")
"""A line that only rules others off: it says nothing."""
_UNDERLINE = re.compile(r"(?:={3,}|-{3,}|~{3,})$")
_FENCE = re.compile(r"\s*+(?:```|~~~)")
_LEAD = re.compile(r"\S.{1,200}[:：]$")
_ITEM = re.compile(r"\s*+(?:[-*+•‣▪◦○●→↳└├>]+─*|\d+[.)]|\[[ x]\]) +\S")
_KEYED = re.compile(r"\s*+(?:[-*•] )?(?:\*\*)?\"?[A-Za-z_][\w .-]{0,40}\"?\s*(?:\*\*)?[:=](?:\*\*)?\s*\S")
_ROW = re.compile(r"\s*+\|.*\|\s*$")
_ENDS = re.compile(r"[.!?。！？؟](?:[\"')\]*_»”]{0,3})(?:\s|$)|[。！？]")
_OUTCOME = re.compile(
    r"\b(?:conclusions?|summary|results?|findings?|outcome|verdict|recommendations?|insights?|decisions?|decided"
    r"|root cause|fix(?:ed)?|status|tl;?dr|takeaways?|next steps|answer|total|fazit|ergebnis\w*|zusammenfassung"
    r"|conclusi[oó]n\w*|résumé|résultats?|resultados?|resumen)\b|结论|总结|结果|結論|まとめ|결론|الخلاصة|النتيجة|вывод|итог",
    re.IGNORECASE,
)
_LINK_ONLY = re.compile(r"[^\w\[!]*(?:!?\[[^\[\]]*\]\([^()]*\)[^\w\[!]*)+$")
_TAGS = re.compile(r"\s*+<[/!a-zA-Z][^<>]*>(?:\s*<[^<>]*>)*\s*$")
"""Nothing but tags and comments, as they stand in a README."""
_BEFORE_TITLE = 12
"""Lines within which a title may follow what somebody says before it."""
_LONGEST_LEAD = 4
"""Lines of the sentence that opens a section, where it is wrapped."""
_HEADING = 0.25
"""What a heading tells alone: too little to be shown for itself."""
_COMMAND = 1.3
_BEGINNING = 0.6
"""Of what a wrapped sentence tells, in its first line."""
_WRAPPED = 50
"""Characters from which a line that ends in no full stop may go on in the next one."""


_PROSE = re.compile(
    r"#{1,6} +[^\W\d_]|\s*+(?:[-*+>•]|\d+[.)]) +\W*(?:[^\W_]+\W+){3}"
    r"|.{0,200}[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{8}|(?:[^\w\s]*[^\W\d_]\w*(?:[’'-]\w+)*[^\w\s]* +){5}"
)
_CODE = re.compile(
    r".*[;{}]\s*$|\s*+(?:def|class|func|fn|return|import|from|if|for|while|const|let|var|#include)\b.*[:;({'\"]"
)


def is_document(texts: Sequence[str]) -> bool:
    """Whether most lines are sentences, headings and items of lists, and few are code; or headings divide it."""
    lines = [text for text in texts if text.strip()]
    if sum(line[0] == "#" and bool(_MARKED.match(line[:300])) for line in lines) >= max(2, 0.02 * len(lines)):
        return not any(line.startswith(("#include", "#!")) for line in lines[:20]) and _heads(texts)
    step = max(1, len(lines) // 200)
    sample = [line[:300] for line in lines[::step]]
    if not fits(sample, _PROSE.match, 0.5):
        return not sample
    if sum(bool(_CODE.match(line)) for line in sample) > 0.15 * len(sample):
        return False
    formed = sum(bool(_ENDS.search(line) or _ITEM.match(line) or _MARKED.match(line)) for line in sample)
    return 3 * formed >= 0.5 * len(sample)


def _heads(texts: Sequence[str]) -> bool:
    """Whether the marks are headings: followed by a line that is no comment, and not each by the next."""
    marked = [n for n, text in enumerate(texts) if _MARKED.match(text)]
    close = sum(after - before == 1 for before, after in zip(marked, marked[1:], strict=False))
    return close * 3 < len(marked)


def prose_places(texts: Sequence[str]) -> list[Place]:
    """The title and what follows it, then the first sentence of every section under its heading.

    Headings say little alone, so each line takes its own along; the same for the line that leads in a list, the head
    of a table, and the beginning of a wrapped sentence.
    """
    return _Prose(texts).places()


def page_places(blocks: Sequence[Block], texts: Sequence[str]) -> list[Place]:
    """The same for a web page, whose tags say what is a heading; what leads through the site tells nothing."""
    return _Prose(texts, blocks).places()


class _Prose:
    def __init__(self, texts: Sequence[str], blocks: Sequence[Block] | None = None) -> None:
        self._blocks = blocks
        self._texts = texts
        self._found: list[Place] = []
        self._heading = self._lead = self._head = -1
        self._levels: list[tuple[int, int]] = []
        self._fenced = False
        self._opening = True
        """Whether the section, or the text, still lacks its first sentence."""
        self._outcome = False
        self._titled = False
        self._sections = any(self._level(n) for n in range(len(texts)))

    def places(self) -> list[Place]:
        n = 0
        while n < len(self._texts):
            text = self._texts[n].rstrip()
            role = self._blocks[n].role if self._blocks else ""
            if not text:
                self._head = -1
                self._found.append(Place(0.0))
            elif role in ("quiet", "code"):
                self._found.append(Place(0.0 if role == "quiet" else 0.2, self._under()))
            elif role in ("row", "head"):
                self._found.append(self._row(n))
            elif _FENCE.match(text):
                self._fenced = not self._fenced
                self._found.append(Place(0.0, self._heading))
            elif self._fenced:
                self._found.append(Place(_COMMAND if is_command(text) else 0.2, self._under()))
            elif level := self._level(n):
                self._begin(n, level)
            elif RULE.match(text) or _TAGS.match(text):
                self._found.append(Place(0.0))
            elif _ROW.match(text):
                self._found.append(self._row(n))
            elif self._opening and role != "item" and not (legal(text) or _LINK_ONLY.match(text) or _ITEM.match(text)):
                n = self._open(n)
            else:
                self._found.append(self._other(n, text))
            n += 1
        return self._found

    def _row(self, n: int) -> Place:
        if self._head >= 0 and not (self._blocks and self._blocks[n].role == "head"):
            return Place(0.5, self._head)
        self._head = n
        return Place(0.3, self._under())

    def _under(self) -> int:
        return self._lead if self._lead >= 0 else self._heading

    def _level(self, n: int) -> int:
        """1 to 7 for a heading, the highest first; 0 for none."""
        if self._blocks:
            return self._blocks[n].level
        text = self._texts[n].rstrip()
        found = _MARKED.match(text)
        if found:
            return len(found.group(1) or "==")
        following = self._texts[n + 1].rstrip() if n + 1 < len(self._texts) else ""
        before = self._texts[n - 1].strip() if n else ""
        if _UNDERLINE.match(following) and text and not before and len(text) < 100 and not RULE.match(text):
            return 1 if following[0] == "=" else 2
        return 7 if _NAMED.match(text) and not before else 0

    def _begin(self, n: int, level: int) -> None:
        if self._heading >= 0 and self._texts[n] == self._texts[self._heading]:
            self._found.append(Place(0.0, self._heading))
            self._opening = True
            return
        while self._levels and self._levels[-1][0] >= level:
            self._levels.pop()
        title = not self._titled
        self._titled = True
        self._outcome = _OUTCOME.search(self._texts[n]) is not None
        self._found.append(Place(2.6 if title else _HEADING))
        self._levels.append((level, n))
        self._heading, self._lead, self._head = n, -1, -1
        self._opening = True

    def _open(self, n: int) -> int:
        """The first sentence of a section, wrapped or not."""
        first = not self._titled or (len(self._levels) == 1 and len(self._found) < _BEFORE_TITLE)
        talk = not self._titled and self._titled_after(n)
        worth = 0.6 if talk else 3.0 if first else 2.0 if self._outcome else 1.5 if self._sections else 1.0
        text = self._texts[n].strip()
        if _LEAD.match(text):
            self._found.append(Place(0.5 * worth if first else 0.3, self._heading))
            self._lead = n
            return n
        self._opening, self._titled = False, not talk
        under, end = self._heading, n
        while self._goes_on(end) and end - n + 1 < _LONGEST_LEAD:
            end += 1
        if end == n:
            self._found.append(Place(worth, under))
            return n
        self._found.append(Place(_BEGINNING * worth, under))
        for at in range(n + 1, end + 1):
            self._found.append(Place((1 - _BEGINNING) * worth if at == end else 0.1, at - 1))
        return end

    def _titled_after(self, n: int) -> bool:
        """Whether this is what somebody says before the title."""
        soon = range(n + 1, min(n + _BEFORE_TITLE, len(self._texts)))
        return bool(_ENDS.search(self._texts[n]) and any(0 < self._level(at) < 3 for at in soon))

    def _goes_on(self, n: int) -> bool:
        if self._blocks:
            return False
        text = self._texts[n].rstrip()
        following = self._texts[n + 1].strip() if n + 1 < len(self._texts) else ""
        return (
            len(text) > _WRAPPED
            and not _ENDS.search(text)
            and bool(following)
            and not _ITEM.match(following)
            and not _KEYED.match(following)
            and not self._level(n + 1)
            and not _FENCE.match(following)
            and not _ROW.match(following)
        )

    def _other(self, n: int, text: str) -> Place:
        if legal(text):
            return Place(LEGAL, self._heading)
        if _LINK_ONLY.match(text):
            return Place(0.0, self._heading)
        if is_command(text):
            return Place(_COMMAND, self._under())
        indented = text[0].isspace()
        item = _ITEM.match(text) is not None
        if not item and not indented:
            self._lead = -1
        if _LEAD.match(text) and not item:
            self._lead = n
            return Place(0.3, self._heading)
        boost = 0.5 if self._outcome else 0.0
        if _KEYED.match(text) and len(text) < 160:
            return Place(0.7 + boost, self._under())
        if item:
            return Place(0.6 + boost, self._under())
        ends = bool(_ENDS.search(text))
        return Place((0.6 if len(text) > 60 or ends else 0.3) + (boost if ends else 0.0), self._under())


_TITLE = re.compile(r"#{1,6} \S|[A-Z][^.!?]{2,70}:$|[=*-]{2,} \S.* [=*-]{2,}$|(?:title|h[1-6])\b", re.IGNORECASE)


def prose_gist(text: str) -> float:
    """Of text that is no document, as programs print it: headings and commands, then keyed lines, items, sentences."""
    if _TITLE.match(text) or is_command(text):
        return 2.0
    if _KEYED.match(text):
        return 1.0
    if _ITEM.match(text):
        return 0.8
    return 0.9 if len(text) > 60 else 0.3
