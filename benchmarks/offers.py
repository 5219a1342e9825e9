"""What recall offers at the new requests of recorded sessions, what was needed then, and what points to it.

    python benchmarks/offers.py [--source tau-bench] [--each 10] [--target 0.3] [--lost]

Every request with four results before it is asked after a pass over these. *Needed* is what the agent typed before the
next request and had only from results that left (arguments' names are its tools' own); *lost* is what of it stands
nowhere in view. A line is useful where it leads to a result that holds something lost.

Two bounds hold for every rule that looks at words. Where nothing was lost an offer is useless, however it was made. And
a value is *pointed to* only where a rare word that somebody said (one that a tenth of what left has, at most) stands
near it: in the request, in the agent's last words before it, in its last three calls, or in what it typed since.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from measuring import table
from quality.later import specifics
from quality.replay import Event, Message, all_text, events, leaves, results_of
from quality.scoring import places, share, stands
from real_sessions import RealSession, sessions

from palimpsest_mcp.core.offloaded import Recall
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import PalimpsestError
from palimpsest_mcp.text.stem import stem

FEWEST = 4
"""Results before a request that is asked."""
NEAR = 200
"""Characters on either side of a value in which a word points to it."""
COMMON = 10
"""A word is rare where one of so many results that left has it, or only one."""
CALLS = 3
_WORD = re.compile(r"[^\W_]{4,}|\d{3}")
POINTERS = ("the request", "the agent’s last words", "its last calls", "what it typed since")


@dataclass
class Tally:
    """What came of the requests of one source."""

    requests: int = 0
    needing: int = 0
    """Requests with a value that was lost."""
    needed: int = 0
    lost: int = 0
    offered: int = 0
    offers: int = 0
    useful_offers: int = 0
    lines: int = 0
    useful_lines: int = 0
    pointed: Counter[str] = field(default_factory=Counter[str])


@dataclass(frozen=True)
class Asked:
    """One request, and all that came before and after it until the next."""

    at: int
    """Its message."""
    text: str
    before: Sequence[Event]
    after: Sequence[Event]


def requests(messages: list[Message]) -> Iterator[Asked]:
    """Those with results before and something of the agent's behind them."""
    found = events(messages)
    said = [one for one in found if one.kind == "said" and not one.by_assistant and one.text.strip()]
    places = sorted({one.message for one in said})
    for place, end in zip(places, [*places[1:], len(messages)], strict=True):
        before = [one for one in found if one.message < place]
        after = [one for one in found if place < one.message < end]
        if sum(one.kind == "result" for one in before) >= FEWEST and any(one.by_assistant for one in after):
            yield Asked(place, "\n".join(one.text for one in said if one.message == place), before, after)


def typed(event: Event) -> set[str]:
    """What of an event could be typed again; of a call, of its values."""
    if event.kind != "called":
        return specifics(event.text)
    values = [value for value in leaves(event.arguments) if len(value) >= 4]
    whole = {value for value in values if "\n" not in value and any(char.isdigit() for char in value)}
    return whole.union(*map(specifics, values))


def needed(asked: Asked, left: Mapping[str, str]) -> dict[str, int]:
    """Value -> number of the event that typed it, of values that nothing but what left had."""
    kept = [one.text for one in asked.before if one.id not in left or one.kind != "result"]
    rest = "\n".join([*kept, asked.text])
    gone = "\n".join(left.values())
    seen: set[str] = set()
    found: dict[str, int] = {}
    for number, event in enumerate(asked.after):
        own = typed(event)
        if event.by_assistant:
            new = (value for value in own - seen - found.keys() if stands(gone, value) and not stands(rest, value))
            found.update(dict.fromkeys(new, number))
        seen |= own
    return found


def pointing(asked: Asked, typed_by: int) -> Iterator[tuple[str, str]]:
    """What might point to a value, and its words, what is at hand first."""
    own = [one for one in asked.before if one.by_assistant]
    said = [one.text for one in own if one.kind == "said" and one.text.strip()]
    calls = [" ".join(leaves(one.arguments)) for one in own if one.kind == "called"]
    since = [one.text for one in asked.after[:typed_by] if one.by_assistant]
    texts = asked.text, " ".join(said[-1:]), " ".join(calls[-CALLS:]), " ".join(since)
    yield from zip(POINTERS, texts, strict=True)


def words(text: str) -> set[str]:
    """Stems of all words of four letters and more, and numbers."""
    return {stem(word) for word in _WORD.findall(text.lower())}


def near(text: str, value: str) -> set[str]:
    """Words around every place of a value."""
    return set[str]().union(*(words(text[max(0, at - NEAR) : at + len(value) + NEAR]) for at in places(text, value)))


async def offered(before: list[Message], request: str, target: float) -> tuple[list[Message], list[str]]:
    """The list after a pass, and the items that the lines of an offer lead to."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-offers-") as home:
        async with Palimpsest.open(home) as palimpsest:
            done = await palimpsest.compact_messages(before, session_id="s", target=target, force=True)
            recall = Recall(palimpsest._deps, palimpsest._sessions)  # pyright: ignore[reportPrivateUsage]
            offer = await recall.offer(await palimpsest.session("s"), request)
    return done.messages, [line.split()[3].rstrip(":") for line in offer.splitlines()[1:]]


async def measure(session: RealSession, asked: Asked, target: float, tallies: Sequence[Tally]) -> list[str]:
    """Count one request; the values that were lost, each with what points to it."""
    before = session.messages[: asked.at]
    try:
        after, items = await offered(before, asked.text, target)
    except PalimpsestError:
        return []
    full, shown = results_of(before), results_of(after)
    left = {name: text for name, text in full.items() if shown.get(name) != text}
    if not left:
        return []
    wanted = needed(asked, left)
    view = f"{all_text(after)}\n{asked.text}"
    lost = {value: number for value, number in wanted.items() if not stands(view, value)}
    holders = {value: {name for name, text in left.items() if stands(text, value)} for value in lost}
    useful = [any(item in names for names in holders.values()) for item in items]
    having = Counter(word for text in left.values() for word in words(text))
    rare = {word for word, count in having.items() if count <= max(1, len(left) // COMMON)}
    pointed: list[tuple[str, ...]] = []
    for value, number in lost.items():
        around = rare & set[str]().union(*(near(left[name], value) for name in holders[value]))
        pointed.append(tuple(name for name, text in pointing(asked, number) if around & words(text)))
    for tally in tallies:
        tally.requests += 1
        tally.needing += bool(lost)
        tally.needed += len(wanted)
        tally.lost += len(lost)
        tally.offered += sum(not names.isdisjoint(items) for names in holders.values())
        tally.offers += bool(items)
        tally.useful_offers += any(useful)
        tally.lines += len(items)
        tally.useful_lines += sum(useful)
        for names in pointed:
            tally.pointed.update(POINTERS[at] for at in range(len(POINTERS)) if set(POINTERS[: at + 1]) & set(names))
    return [
        f"{session.name}, message {asked.at}: {value}: {', '.join(names) or 'nothing points to it'}"
        for value, names in zip(lost, pointed, strict=True)
    ]


async def measured(source: str, each: int, target: float) -> tuple[dict[str, Tally], list[str]]:
    """Source -> its tally, all of them under `all`; and the values that were lost."""
    found = {"all": Tally()}
    told: list[str] = []
    number = 0
    for session in sessions(source):
        own = found.setdefault(session.name.partition(":")[0], Tally())
        for asked in requests(session.messages):
            if number % each == 0:
                told += await measure(session, asked, target, (found["all"], own))
            number += 1
    return {name: one for name, one in found.items() if one.requests}, told


HEAD = (
    "source", "requests", "of these with a loss", "needed", "lost", "offered", "offers", "useful, %", "lines",
    "useful, %",
)  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=float, default=0.3)
    parser.add_argument("--source", default="")
    parser.add_argument("--each", type=int, default=1, help="only one of so many requests")
    parser.add_argument("--lost", action="store_true", help="print what was lost, and what points to it")
    given = parser.parse_args()
    os.environ["PALIMPSEST_RECALL"] = "on"
    found, told = asyncio.run(measured(given.source, given.each, given.target))
    rows: list[list[str]] = []
    for name, one in found.items():
        counts = one.requests, one.needing, one.needed, one.lost, one.offered, one.offers
        useful = share(one.useful_offers, one.offers), one.lines, share(one.useful_lines, one.lines)
        rows.append([name, *map(str, counts), f"{useful[0]:.0f}", str(useful[1]), f"{useful[2]:.0f}"])
    print(table(HEAD, rows))
    bounds = [
        [name, f"{share(one.needing, one.requests):.0f}"]
        + [f"{share(one.pointed[pointer], one.lost):.0f}" for pointer in POINTERS]
        for name, one in found.items()
    ]
    heads = "source", "requests with a loss, %", *(f"{'and ' if at else ''}{one}" for at, one in enumerate(POINTERS))
    print(
        f"\nBounds: the requests with a loss; lost values to which a rare word points, %, in …\n{table(heads, bounds)}"
    )
    print(*(told if given.lost else ()), sep="\n")


if __name__ == "__main__":
    main()
