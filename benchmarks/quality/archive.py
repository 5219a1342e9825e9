"""Does a search of the archive find the dropped result that holds the answer?

Questions are made from the sessions themselves. tau-bench: which payment, which flights, asked with the words of the
record and without the value. The others: a sentence of the agent's own later text, without the address, figure or name
that it took from a result. An answer is found when one of the first k hits holds the value. The floors hand back
results without looking, by lot or from both ends; *clear* has nothing to hand back. Plain BM25 over the same results
is the yardstick.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from measuring import Skipped, table
from real_sessions import RealSession, sessions

from palimpsest_mcp.core.palimpsest import Palimpsest

from .arms import SEED
from .replay import events, results_of
from .scoring import share, stands

SOURCES = ("tau-bench", "deer-flow", "pi-mono", "spotter")
ARMS = ("palimpsest", "plain BM25", "clear", "random", "head+tail")
MOST = 60
"""Questions of one source, drawn by lot."""
RARE = 3
"""A value that more dropped results hold than this makes no question."""
LITERAL = re.compile(
    r"(?:[\w.~@-]*/){2,}[\w.@-]+|[\w.-]+/[\w-]+\.\w{1,5}\b"
    r"|(?<![\w-])[0-9a-f]*\d[0-9a-f]{6,39}(?![\w-])|(?<![\w.,-])\d{5,}(?![\w,-])"
    r"|\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b|\b[a-z0-9]+(?:_[a-z0-9]+){2,}\b"
)
_WORD = re.compile(r"[a-z]+|\d+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_FIGURE = re.compile(
    r"https?://[^\s)\]>\"']{12,}|\$?\d[\d,.]*\d(?:%| ?(?:million|billion|trillion|km|GW|MW|TWh|stars))?"
)
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True)
class Dropped:
    """One archived result."""

    session: str
    call: str
    text: str


@dataclass(frozen=True)
class Question:
    """What is looked for, and what shows that it was found."""

    session: str
    query: str
    value: str


async def offload(palimpsest: Palimpsest, session: RealSession) -> list[Dropped]:
    """Compact a session as far as it goes; what left it."""
    name = session.name.replace(":", "-")
    await palimpsest.compact_messages(session.messages, session_id=name, target=0.02, keep_last=3, force=True)
    found = results_of(session.messages)
    gone: list[Dropped] = []
    for batch in await palimpsest.list_offloaded(name):
        gone += [Dropped(name, item, found[item]) for item in batch.item_ids if item in found]
    return gone


def from_records(name: str, text: str) -> Iterator[Question]:
    """Questions to one of tau-bench's records."""
    try:
        record: Any = json.loads(text)
    except ValueError:
        return
    if not isinstance(record, dict):
        return
    record = cast("dict[str, Any]", record)
    if "payment_methods" in record:
        person, town = record["name"], record["address"]["city"]
        for method in record["payment_methods"]:
            kind = method.rpartition("_")[0].replace("_", " ")
            yield Question(name, f"{kind} of {person['first_name']} {person['last_name']} from {town}", method)
    elif "flights" in record and "reservation_id" in record:
        who = " and ".join(f"{one['first_name']} {one['last_name']}" for one in record.get("passengers", []))
        ends = f"{record['origin']} to {record['destination']}"
        yield Question(name, f"reservation of {who}, {ends}, {record['cabin']}", record["reservation_id"])


def from_reports(name: str, session: RealSession) -> Iterator[Question]:
    """Sentences that the agent wrote later, each without one value."""
    for event in events(session.messages):
        if not event.by_assistant:
            continue
        text = event.text.replace("\\n", "\n")
        for sentence in _SENTENCE.split(text):
            for match in (*_FIGURE.finditer(sentence), *LITERAL.finditer(sentence)):
                if len(match.group()) < 3 or _YEAR.fullmatch(match.group()):
                    continue
                query = " ".join((sentence[: match.start()] + " " + sentence[match.end() :]).split())
                if 6 <= len(_WORD.findall(query.lower())) <= 40:
                    yield Question(name, query, match.group().rstrip(".,"))


def questions(dropped: Sequence[Dropped], source: str) -> list[Question]:
    """Those of a source that can be answered from what was dropped, and only there; at most `MOST`."""
    made: dict[tuple[str, str], Question] = {}
    for session in sessions(source):
        name = session.name.replace(":", "-")
        if source == "tau-bench":
            own = (one for one in dropped if one.session == name)
            asked = [question for one in own for question in from_records(name, one.text)]
        else:
            asked = list(from_reports(name, session))
        for one in asked:
            made.setdefault((one.session, one.value), one)
    candidates = list(made.values())
    random.Random(SEED).shuffle(candidates)
    chosen: list[Question] = []
    for one in candidates:
        holders = [kept.session for kept in dropped if stands(kept.text, one.value)]
        if one.session in holders and len(holders) <= RARE:
            chosen.append(one)
        if len(chosen) == MOST:
            break
    return chosen


def bm25(dropped: Sequence[Dropped]) -> Callable[[str], list[int]]:
    """Ranks results for a query; k1 1.2, b 0.75, words and numbers as they stand."""
    docs = [Counter(_WORD.findall(one.text.lower())) for one in dropped]
    length = [sum(doc.values()) for doc in docs]
    mean = sum(length) / max(1, len(length))
    holds = Counter(word for doc in docs for word in doc)

    def rank(query: str) -> list[int]:
        scores = [0.0] * len(docs)
        for word in set(_WORD.findall(query.lower())):
            rarity = math.log(1 + (len(docs) - holds[word] + 0.5) / (holds[word] + 0.5))
            for n, doc in enumerate(docs):
                if doc[word]:
                    scores[n] += rarity * doc[word] * 2.2 / (doc[word] + 1.2 * (0.25 + 0.75 * length[n] / mean))
        return sorted(range(len(docs)), key=lambda n: -scores[n])

    return rank


async def _archive() -> tuple[str, dict[str, tuple[float, float]]]:
    rows: list[list[str]] = []
    best: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory(prefix="palimpsest-archive-") as home:
        async with Palimpsest.open(home) as palimpsest:
            dropped = [one for source in SOURCES for s in sessions(source) for one in await offload(palimpsest, s)]
            for source in SOURCES:
                asked = questions(dropped, source)
                if not asked:
                    raise Skipped(f"no question could be made from {source}")
                # tau-bench's sessions are short: within one, ten hits are everything.
                for label, within in (("all sessions", False), ("its session", True))[
                    : 1 if source == "tau-bench" else 2
                ]:
                    arms = await _answers(palimpsest, dropped, asked, within=within)
                    at = {
                        name: [share(sum(rank <= k for rank in ranks), len(ranks)) for k in (1, 5, 10)]
                        for name, ranks in arms.items()
                    }
                    best |= {f"{source}, {label}, {name}": (found[1], found[2]) for name, found in at.items()}
                    cells = [" / ".join(f"{value:.0f}" for value in found) for found in at.values()]
                    rows.append([f"{source} ({len(asked)}), {label}", *cells])
    text = f"{len(dropped)} results of {len(SOURCES)} sources were dropped. R@1 / R@5 / R@10, %:\n\n"
    return text + table(("source (questions), searched", *ARMS), rows), best


async def _answers(
    palimpsest: Palimpsest,
    dropped: Sequence[Dropped],
    asked: Sequence[Question],
    *,
    within: bool,
) -> dict[str, list[int]]:
    """Arm -> rank of the first hit that holds the value, one a question; 99 where none of ten does."""
    found: dict[str, list[int]] = {name: [] for name in ARMS}
    texts = {(one.session, one.call): one.text for one in dropped}
    names = {question.session for question in asked} if within else {""}
    pools = {name: [one for one in dropped if name in ("", one.session)] for name in names}
    ranked = {name: bm25(pool) for name, pool in pools.items()}
    lot = random.Random(SEED)
    for question in asked:
        name = question.session if within else ""
        hits = await palimpsest.search_offloaded(question.query, session_id=name or None, limit=MOST)
        # The arguments of old calls are searched, too: among them the very text that a question was made of.
        results = [text for hit in hits if (text := texts.get((hit.session_id, hit.item_id)))]
        originals = results[:10]
        found["palimpsest"].append(_rank(originals, question.value))
        pool = pools[name]
        others = {
            "plain BM25": ranked[name](question.query)[:10],
            "clear": [],
            "random": lot.sample(range(len(pool)), min(10, len(pool))),
            "head+tail": [n // 2 if n % 2 == 0 else len(pool) - 1 - n // 2 for n in range(min(10, len(pool)))],
        }
        for arm, order in others.items():
            found[arm].append(_rank([pool[n].text for n in order], question.value))
    return found


def _rank(hits: Sequence[str], value: str) -> int:
    return next((n for n, text in enumerate(hits, start=1) if stands(text, value)), 99)


def archive() -> tuple[str, dict[str, tuple[float, float]]]:
    """The table, and (R@5, R@10) of every row for the page."""
    return asyncio.run(_archive())
