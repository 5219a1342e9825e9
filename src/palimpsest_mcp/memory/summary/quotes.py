"""What user and agent said, by whom, and how it is quoted: masked first, whole words, marked where it is cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from ...models.items import Item, content_text
from ...models.summaries import Said
from ...models.text import late
from ...text.languages import word_lists
from .merge import tidy

Mask: TypeAlias = Callable[[str], str]
"""A text with its secrets masked. It sees whole texts: half a secret may not look like one."""
CUT = " […]"
"""Ends what was cut off between words."""
SPARED = 40
"""Characters at the end of a text under `SHORT` that are never cut off alone: what it comes to may stand there."""
SHORT = 300
MAX_MASKED = 40_000
"""Characters of one text that are masked to quote from it: of a longer one, both ends in whole lines."""
MAX_ASIDE = 80
"""Characters of a bracket that stays whole where a text is cut off in it: "(except …" must say what."""
_SPACE = re.compile(r"\s+")
_DRAWN = re.compile(r"[│├└┌┐┘┤┬┴┼─]+(?=\s)")
"""What draws a tree of folders, or a table."""
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
MAX_REQUEST = 260
KEPT = 40
"""Newest of each kind that are looked at."""
WORD = re.compile(r"\w+")
_OPTION = re.compile(r"\b(option|variant|approach|alternative|choice) (?:[a-z]\b|\d)", re.IGNORECASE)
MAX_OPTION = 90
MOST_OPTIONS = 6
"""Options, or steps of a list, that a question leans on."""
MARKS = re.compile(r"^(?:[-*+>#]+|\d+[.)])\s+")
EMPHASIS = re.compile(r"\*\*|__|^#+ ", re.MULTILINE)


def ends_of(text: str) -> str:
    """The text, or where it is too long whole lines from both its ends."""
    if len(text) <= MAX_MASKED:
        return text
    half = MAX_MASKED // 2
    return text[: text.rfind("\n", 0, half) + 1 or half] + "\n" + text[text.find("\n", len(text) - half) + 1 :]


def one_line(text: str, limit: int) -> str:
    """One line of at most `limit` characters, cut between words and marked; the short end of a short text stays."""
    line = _SPACE.sub(" ", tidy(text if text.isascii() else _DRAWN.sub(" ", text))).strip()
    if len(line) <= limit or (len(line) <= limit + SPARED and len(line) < SHORT):
        return line
    end = line.rfind(" ", limit // 2, limit - len(CUT) + 1)
    end = end if end > 0 else limit - len(CUT)
    opens = line.rfind("(", 0, end)
    closes = line.find(")", opens) + 1
    if line.find(")", max(opens, 0), end) < 0 <= opens and end < closes <= opens + MAX_ASIDE:
        end = closes
    return line[:end].rstrip() + CUT


def with_end(text: str, limit: int) -> str:
    """One line of at most `limit` characters: how a text begins and its last sentence, where what is wanted may stand
    behind what was pasted; before one that names an option, how each of the options begins."""
    whole = one_line(text, limit)
    last = one_line((sentences(text) or [""])[-1], limit)
    if whole.endswith(CUT) and (options := options_of(text, last)):
        last = one_line(f"{' '.join(options)} {last}", limit)
    room = limit - len(last) - 1
    if not whole.endswith(CUT) or last.endswith(CUT) or room < limit // 2:
        return whole
    return f"{one_line(text, room)} {last}"


def options_of(text: str, question: str) -> list[str]:
    """How the options of a message begin of which its question names one, such as "Option A"; empty: it names none."""
    named = _OPTION.search(question)
    if named is None:
        return []
    rows = [MARKS.sub("", EMPHASIS.sub("", row.strip())) for row in text.splitlines()]
    heads = [row for row in rows if (found := _OPTION.match(row)) and found[1].casefold() == named[1].casefold()]
    heads = list({row.split()[1].strip(":.)(").casefold(): row for row in reversed(heads)}.values())[::-1]
    return [one_line(row, MAX_OPTION) for row in heads[:MOST_OPTIONS]] if len(heads) > 1 else []


def paragraph(text: str, limit: int) -> str:
    """The text with its lines, cut between words after `limit` characters and marked."""
    text = tidy(text)
    if len(text) <= limit:
        return text
    end = max(text.rfind(" ", limit // 2, limit), text.rfind("\n", limit // 2, limit))
    return text[: end if end > 0 else limit].rstrip() + CUT


def sentences(text: str) -> list[str]:
    """Sentences and lines, without white space around them."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


NOTICE = re.compile(
    r"\s*(?:<(?:system-reminder|command-|local-command|task-notification|bash-)|\[Request interrupted|"
    r"This session is being continued from|Your task is to create a (?:detailed )?summary of th)|\$ \S|/[\w:-]+\s*$"
)
"""Notices of the host, commands to the host, and what hosts show of commands that users ran in a shell of their own."""
FEEDBACK = word_lists("feedback").values()


def begins_with(kind: str) -> re.Pattern[str]:
    """A text that begins with one of the cues of `feedback`, as whole words in scripts that have such."""
    cues = [cue for table in FEEDBACK for cue in table.get(kind, ())]
    return late(rf"\W*(?:{'|'.join(cue + (r'(?![a-z])' if cue.isascii() else '') for cue in cues)})", re.IGNORECASE)


WRONG, NOT_WRONG = begins_with("wrong"), begins_with("calm")
_UNDOES = late("|".join(cue for table in FEEDBACK for cue in table.get("undoes", ())), re.IGNORECASE)


def is_said(item: Item, role: str) -> bool:
    """Whether an item is something that user or agent said to the other."""
    return item.role == role and item.kind in ("message", "original_query") and not item.agent


def spoken(items: Sequence[Item], role: str) -> Iterator[tuple[Item, str]]:
    """What one side said, oldest first, without notices of the host."""
    for item in items:
        if is_said(item, role):
            text = content_text(item.content)
            if text.strip() and not (role == "user" and NOTICE.match(text)):
                yield item, text


def is_undone(text: str) -> bool:
    """Whether a message of the user takes back what was done before it: a short one anywhere, a long one at once."""
    begins = text if len(text) <= MAX_REQUEST else next(iter(sentences(text)), "")
    return len(begins) <= MAX_REQUEST and _UNDOES.search(begins) is not None


def asks(text: str) -> bool:
    """Whether a message puts a question."""
    return any(part.endswith(("?", "？")) for part in sentences(text))


def tells(text: str) -> bool:
    """Whether a message says more than "ok, go on"."""
    words = WORD.findall(text)
    if any(not word.isascii() for word in words):
        return sum(map(len, words)) >= 6
    return len(words) >= 4 and sum(map(len, words)) >= 12


def quoted(said: Sequence[tuple[Item, str]], mask: Mask, limit: int) -> tuple[Said, ...]:
    return tuple(_each(said, mask, limit))


def _each(said: Sequence[tuple[Item, str]], mask: Mask, limit: int) -> Iterator[Said]:
    for item, text in said:
        yield Said(message=item.position[0] + 1, text=with_end(mask(ends_of(text)), limit))
