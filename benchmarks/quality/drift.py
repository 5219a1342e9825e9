"""Twelve facts told in the first round of a session that is compacted ten times while it grows.

Every round adds results of the agent's work and runs one pass through the library, one store, the list it gave back
going in again. After each round: which facts stand in the list as they were told, which come back from the store, and
whether anything stands in it that no source holds. The floors compact the same list to the same size in every round.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from measuring import table

from palimpsest_mcp.core.palimpsest import Palimpsest

from .arms import SEED, floors, tokens
from .own_files import own_files
from .replay import Message, all_text, replaced, results_of
from .scoring import share, specifics, stands, strangers
from .sessions import count
from .shapes import Changer

ROUNDS = 10
RESULTS = 9
"""Results that every round adds."""
WINDOW = 24_000
TARGET = 0.4
KEPT = 3
FACTS = (
    ("region", "eu-central-{a}", "deploying to region {v} as agreed"),
    ("incident", "INC-{d}", "opened incident {v}, severity 2"),
    ("deadline", "2027-03-{e} 17:30", "cut-over deadline is {v}, no later"),
    ("owner", "k.sandoval{b}", "on-call owner: {v}"),
    ("bucket", "acme-ledger-archive-{h}", "exports go to bucket {v}"),
    ("commit", "{h}{h2}", "last good commit {v}"),
    ("endpoint", "https://billing.internal.example/v{a}/invoices/{d}", "failing endpoint {v}"),
    ("budget", "${c}.50", "approved budget {v} a month"),
    ("version", "{a}.{b}.{c}-rc{a}", "pinned to version {v}"),
    ("address", "10.{b}.{c2}.{a}:{p}", "replica listens on {v}"),
    ("error", "ERR_QUOTA_{d}", "first seen error {v}"),
    ("ratio", "{b}.{a}%", "error rate threshold {v}"),
)
DECOYS = (
    ("eu-north-7", "moving to region {v} was considered and rejected"),
    ("INC-20417", "incident {v} was taken for the same one and rejected as another"),
    ("3.99.120-rc8", "an upgrade to version {v} was rejected"),
    ("10.77.31.9:5999", "a replica on {v} was tried and rejected"),
    ("$913.75", "a budget of {v} a month was rejected"),
    ("2027-09-30 09:15", "a deadline of {v} was rejected"),
)
"""Values like the facts', told beside them, that do not hold; `rejected` says so."""


@dataclass
class Arm:
    """What became of the facts in one way of compacting, round by round."""

    in_view: list[float] = field(default_factory=list[float])
    natural: list[float] = field(default_factory=list[float])
    """All scored specifics that only the first round's results hold."""
    restorable: list[float] = field(default_factory=list[float])
    invented: list[int] = field(default_factory=list[int])
    decoys: list[int] = field(default_factory=list[int])
    """Decoys in view."""
    misleading: list[int] = field(default_factory=list[int])
    """Those of them that stand in no line that says they were rejected."""
    size: list[int] = field(default_factory=list[int])
    levels: list[int] = field(default_factory=list[int])
    """Batches of level 2 that stand."""


def facts() -> dict[str, tuple[str, str]]:
    """Name -> (value, the sentence that tells it)."""
    rng = random.Random(SEED)
    found: dict[str, tuple[str, str]] = {}
    for name, shape, sentence in FACTS:
        fills = {
            "a": rng.randint(2, 9),
            "b": rng.randint(11, 98),
            "c": rng.randint(101, 998),
            "c2": rng.randint(1, 250),
        }
        fills |= {"d": rng.randint(41_000, 98_000), "e": rng.randint(10, 28), "p": rng.randint(3_000, 9_000)}
        value = shape.format(**fills, h=f"{rng.getrandbits(24) | 0xA00000:06x}", h2=f"{rng.getrandbits(24):06x}")
        found[name] = (value, sentence.format(v=value))
    return found


@cache
def round_messages(number: int) -> list[Message]:
    """Results of one round out of our own files, each a stretch of one; the first round's hold the facts."""
    rng = random.Random(f"{SEED}:{number}")
    files = list(own_files().values())
    told = [sentence for _, sentence in facts().values()] if number == 0 else []
    told += [sentence.format(v=value) for value, sentence in DECOYS] if number == 0 else []
    messages: list[Message] = [
        {"role": "user", "content": f"Step {number + 1}: go on with the next part of the migration."}
    ]
    for at in range(RESULTS):
        lines = rng.choice(files).split("\n")
        start = rng.randrange(max(1, len(lines) - 90))
        stretch = lines[start : start + rng.randint(40, 90)]
        for sentence in told[at::RESULTS]:
            stretch.insert(rng.randrange(len(stretch)), sentence)
        call = f"call_{number:02d}_{at:02d}"
        use = {"type": "tool_use", "id": call, "name": "read", "input": {"step": number, "part": at}}
        messages.append({"role": "assistant", "content": [use]})
        result = {"type": "tool_result", "tool_use_id": call, "content": "\n".join(stretch)}
        messages.append({"role": "user", "content": [result]})
    messages.append({"role": "assistant", "content": f"Step {number + 1} is done."})
    if number:
        return messages
    # What else the first round tells must not be told again later: it gets values of its own.
    kept = [value for value, _ in facts().values()] + [value for value, _ in DECOYS]
    return Changer(messages, kept).messages(messages)


@cache
def first_rounds_own() -> tuple[str, ...]:
    """Specifics of the first round that no later round tells again."""
    later = "\n".join(all_text(round_messages(number)) for number in range(1, ROUNDS))
    own = {value for values in specifics(all_text(round_messages(0))).values() for value in values}
    return tuple(sorted(value for value in own if not stands(later, value)))


async def ours() -> Arm:
    """The library, ten passes on one store."""
    arm = Arm()
    values = [value for value, _ in facts().values()]
    source: list[Message] = []
    now: list[Message] = []
    with tempfile.TemporaryDirectory(prefix="palimpsest-drift-") as home:
        for number in range(ROUNDS):
            source += round_messages(number)
            now = [*now, *round_messages(number)]
            # Every round in an instance of its own: nothing may depend on what a process remembers.
            async with Palimpsest.open(home) as palimpsest:
                done = await palimpsest.compact_messages(
                    now,
                    session_id="drift",
                    window_tokens=WINDOW,
                    target=TARGET,
                    keep_last=KEPT,
                    force=True,
                    model="gpt-5",
                )
                now = done.messages
                back = all_text(await palimpsest.expand_messages(now, session_id="drift"))
                batches = await palimpsest.list_offloaded("drift")
            arm.levels.append(sum(one.level > 1 and one.state == "replaced" for one in batches))
            _note(arm, now, source, values, back)
    return arm


def floor(view: Callable[[Sequence[str], Sequence[int]], list[str]], sizes: Sequence[int]) -> Arm:
    """A floor compacts its own list again and again to the size that ours has after the same round."""
    arm = Arm()
    values = [value for value, _ in facts().values()]
    source: list[Message] = []
    now: list[Message] = []
    for number, size in enumerate(sizes):
        source += round_messages(number)
        now = [*now, *round_messages(number)]
        results = results_of(now)
        old = list(results)[:-KEPT]
        taken = sum(tokens(results[one]) for one in old)
        left = max(0.0, min(1.0, (size - (count(now) - taken)) / taken))
        views = view([results[one] for one in old], [int(left * tokens(results[one])) for one in old])
        now = replaced(now, dict(zip(old, views, strict=True)))
        _note(arm, now, source, values, all_text(now))
    return arm


def _note(arm: Arm, now: list[Message], source: list[Message], values: Sequence[str], back: str) -> None:
    text = all_text(now)
    first = first_rounds_own()
    arm.natural.append(share(sum(stands(text, value) for value in first), len(first)))
    cut, invented = strangers(all_text(source), text)
    arm.in_view.append(share(sum(stands(text, value) for value in values), len(values)))
    arm.restorable.append(share(sum(stands(back, value) for value in values), len(values)))
    arm.invented.append(len(cut) + len(invented))
    seen = [[line for line in text.split("\n") if stands(line, value)] for value, _ in DECOYS]
    arm.decoys.append(sum(bool(lines) for lines in seen))
    arm.misleading.append(sum(bool(lines) and not any("rejected" in line for line in lines) for lines in seen))
    arm.size.append(count(now))


def drift() -> tuple[str, dict[str, Arm]]:
    """The table, and the arms for the page."""
    mine = asyncio.run(ours())
    arms = {"palimpsest": mine} | {name: floor(view, mine.size) for name, view in floors().items()}
    rows: list[list[str]] = []
    for name, arm in arms.items():
        decoys = f"{arm.decoys[-1]}, {arm.misleading[-1]}"
        last = [f"{arm.restorable[-1]:.0f}", str(sum(arm.invented)), decoys, f"{arm.size[-1]:,}"]
        rows.append([f"{name}: facts", *(f"{value:.0f}" for value in arm.in_view), *last])
        rows.append([f"{name}: all of round 1", *(f"{value:.0f}" for value in arm.natural), "", "", "", ""])
    head = ("arm", *(f"{n + 1}" for n in range(ROUNDS)), "restorable after 10", "cut or invented")
    head += ("decoys in view, without their rejection", "tokens after 10")
    note = (
        f"\n\n{len(FACTS)} facts and {len(DECOYS)} decoys, told once in the first round, and "
        f"{len(first_rounds_own())} natural specifics of "
        f"that round; {RESULTS} results a round; window {WINDOW:,}, target "
        f"{TARGET:.0%}. Batches of level 2 that stand after each round: {', '.join(map(str, mine.levels))}."
    )
    return "In view as they were told, % after each round:\n\n" + table(head, rows) + note, arms
