"""Search beside plain BM25 on questions about long conversations, and what each part of ours is worth.

    python benchmarks/recall.py locomo10.json [--conversations 10]

Takes a file in the form of LoCoMo (snap-research/locomo, `data/locomo10.json`; its licence is not ours to pass on): a
list of conversations with `session_N` lists of turns and `qa` with the turns that are evidence. One entry a session,
its date and its turns one a line; a question counts as found when *all* sessions that hold its evidence are among the
first five, or ten. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from palimpsest_mcp.ports.store import Entry
from palimpsest_mcp.store import DiskStore, score
from palimpsest_mcp.text.stem import stem

WORD = re.compile(r"\w+")


class Conversation(NamedTuple):
    """One conversation: its sessions by number, and its questions with the sessions that answer them."""

    sessions: Mapping[int, str]
    questions: Sequence[tuple[str, frozenset[int]]]


def read(path: Path) -> Iterator[Conversation]:
    """Every conversation of a file; questions without evidence are left out."""
    for told in json.loads(path.read_text("utf-8")):
        talk: dict[str, Any] = told["conversation"]
        sessions: dict[int, str] = {}
        for name, turns in talk.items():
            number = re.fullmatch(r"session_(\d+)", name)
            if number and turns:
                lines = [str(talk.get(f"{name}_date_time", "")), *map(_line, turns)]
                sessions[int(number[1])] = "\n".join(lines)
        asked = [
            (
                one["question"],
                frozenset(int(n) for told in one.get("evidence", []) for n in re.findall(r"D:?(\d+):", told)),
            )
            for one in told["qa"]
        ]
        yield Conversation(sessions, [one for one in asked if one[1]])


def _line(turn: Mapping[str, Any]) -> str:
    picture = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn['speaker']}: {turn['text']}{picture}"


Rank = Callable[[str], Awaitable[list[int]]]


def bm25(sessions: Mapping[int, str], words: Callable[[str], list[str]]) -> Rank:
    """Okapi BM25 with k1 1.2 and b 0.75."""
    counts = {number: Counter(words(text)) for number, text in sessions.items()}
    mean = sum(count.total() for count in counts.values()) / len(counts)
    having = Counter(word for count in counts.values() for word in count)

    async def rank(query: str) -> list[int]:
        scores = dict.fromkeys(counts, 0.0)
        for word in set(words(query)):
            rare = math.log(1 + (len(counts) - having[word] + 0.5) / (having[word] + 0.5))
            for number, count in counts.items():
                norm = 1.2 * (0.25 + 0.75 * count.total() / mean)
                scores[number] += rare * count[word] * 2.2 / (count[word] + norm)
        return sorted(scores, key=lambda number: -scores[number])

    return rank


def plain(text: str) -> list[str]:
    """Words as they stand."""
    return WORD.findall(text.lower())


def stemmed(text: str) -> list[str]:
    """Stems without stop words: what a usual full-text search has."""
    return [stem(word) for word in plain(text) if word not in score.STOP]


def _in_memory(sessions: Mapping[int, str]) -> Rank:
    search = score.LinearSearch()
    search.add(_entries("s", sessions))

    async def rank(query: str) -> list[int]:
        found = search.find(query, principal="", session_ids=None, project=None, limit=10)
        return [int(hit.item_id) for hit in found]

    return rank


def _entries(session: str, sessions: Mapping[int, str]) -> list[Entry]:
    return [
        Entry(session_id=session, batch_id=f"offload_{number:04d}", item_id=str(number), text=text)
        for number, text in sessions.items()
    ]


@contextmanager
def without(**parts: Any) -> Generator[None]:
    """The score with some of its parts replaced."""
    before = {name: getattr(score, name) for name in parts}
    for name, part in parts.items():
        setattr(score, name, part)
    score.keys.cache_clear()
    try:
        yield
    finally:
        for name, part in before.items():
            setattr(score, name, part)
        score.keys.cache_clear()


async def shares(
    conversations: Sequence[Conversation], make: Callable[[Mapping[int, str]], Rank]
) -> tuple[float, float]:
    """Percent of questions of which all sessions are among the first five, and ten."""
    asked, five, ten = 0, 0, 0
    for one in conversations:
        rank = make(one.sessions)
        for question, gold in one.questions:
            found = await rank(question)
            asked, five, ten = asked + 1, five + (gold <= set(found[:5])), ten + (gold <= set(found[:10]))
    return 100 * five / asked, 100 * ten / asked


async def on_disk(conversations: Sequence[Conversation]) -> tuple[float, float]:
    """The same through the index of one store that has all conversations, each searched by itself."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-recall-") as home:
        store = DiskStore(Path(home))
        names = iter(range(len(conversations)))
        rows: list[tuple[str, Conversation]] = []
        for one in conversations:
            session = f"s{next(names)}"
            await store.search.add(_entries(session, one.sessions))
            rows.append((session, one))
        asked, five, ten = 0, 0, 0
        for session, one in rows:
            for question, gold in one.questions:
                found = [int(hit.item_id) for hit in await store.search.find(question, session_ids=[session], limit=10)]
                asked, five, ten = asked + 1, five + (gold <= set(found[:5])), ten + (gold <= set(found[:10]))
        await store.aclose()
    return 100 * five / asked, 100 * ten / asked


def _no_forms(_term: object) -> tuple[str, ...]:
    return ()


def _no_word(_need: object) -> bool:
    return False


def _no_passage(_blocks: object, _worth: object = None) -> tuple[int, dict[int, int]]:
    return 0, {}


async def table(conversations: Sequence[Conversation]) -> list[tuple[str, float, float]]:
    """One row an arm: name, all gold in the first five, in the first ten."""
    rows = [
        ("plain BM25", *await shares(conversations, lambda own: bm25(own, plain))),
        ("BM25 with stems and stop words", *await shares(conversations, lambda own: bm25(own, stemmed))),
        ("ours, through the index", *await on_disk(conversations)),
        ("ours, in memory", *await shares(conversations, _in_memory)),
    ]
    off: tuple[tuple[str, dict[str, Any]], ...] = (
        ("without the best passage", {"_best_passage": _no_passage, "_densest": _no_passage}),
        ("without the root of a word's rarity in a passage", {"_is_plain_word": _no_word}),
        ("without irregular forms", {"_forms": _no_forms}),
        ("without stop words", {"STOP": frozenset()}),
        ("without hiding what has only some of a few terms", {"SENTENCE": 0}),
    )
    for name, parts in off:
        with without(**parts):
            rows.append((f"ours, {name}", *await shares(conversations, _in_memory)))
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--conversations", type=int, default=None, help="the first so many only")
    given = parser.parse_args()
    conversations = list(read(given.file))[: given.conversations]
    questions = sum(len(one.questions) for one in conversations)
    print(f"{questions:,} questions over {len(conversations)} conversations; all evidence in the first 5 and 10, %:\n")
    print("| search | 5 | 10 |\n|---|---|---|")
    for name, five, ten in asyncio.run(table(conversations)):
        print(f"| {name} | {five:.1f} | {ten:.1f} |")


if __name__ == "__main__":
    main()
