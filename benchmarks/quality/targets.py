"""What leaves, and what it is worth: targets, pairs, originals, later use beside a provider's clearing, and the bill.

Passes run over the beginnings of long sessions. Of those that could be made, the fifty longest count. *Needed* is what
the agent types later, in a call or in words, and what stood before the cut only in results and arguments of calls older
than the newest three.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from measuring import Skipped, table
from real_sessions import sessions

from palimpsest_mcp import Palimpsest
from palimpsest_mcp.hosts.validity import new_problems
from palimpsest_mcp.models.reports import Report

from .billing import MODEL, READ, WRITE, size_of
from .later import specifics
from .replay import Message, all_text, events
from .scoring import View, share

TARGET = 0.3
CUTS = (0.4, 0.55, 0.7, 0.85, 1.0)
"""Shares of a session's results behind which a pass runs; behind the last nothing is needed any more."""
PASSES = 50
LEAST_TOKENS = 8_000
"""Of a beginning. In shorter ones messages and the newest three results, which never leave, exceed the target."""
LEAST_RESULTS = 8
KEPT = 3
LEFT_ALONE = 200
"""Tokens of a call or a result under which nothing takes its place."""
REQUESTS = 20
"""After the cut, for which the bill is compared (Q6)."""
ASKED_AT = 0.6
"""Where below the trigger a pass is asked for: it runs only if it pays back within `REQUESTS`."""
CLEARED = "[Old tool result content cleared]"
"""What stands where a provider's context editing cleared a result."""


@dataclass(frozen=True)
class Cut:
    """The beginning of a session."""

    name: str
    messages: list[Message]
    future: list[Message]
    system: str
    tokens: int


@dataclass
class Left:
    """A list after something left it."""

    messages: list[Message]
    tokens: int
    shown: int = 0
    """Of what was needed, in view."""


@dataclass
class Pass:
    """One cut, compacted."""

    cut: Cut
    report: Report
    after: Left
    wanted: set[str]
    cleared: Left
    """The most that clearing saves with no less of what was needed in view."""
    clearing: Left
    """All but the newest three cleared."""
    pair_errors: int
    restored: bool
    must_stay: int
    """Tokens of what no rule lets go: messages, thinking, system prompt, the newest three calls with their results, and
    all that is small."""
    asked: str = ""
    """What became of a pass that was asked for below the trigger."""
    bill: tuple[float, float] | None = None
    """Over the next requests, in input tokens: without that pass, and with it."""
    forced_bill: tuple[float, float] | None = None

    @property
    def met(self) -> bool:
        return self.report.status == "compacted"


def cuts(only: str = "") -> list[Cut]:
    """The longest beginnings, a session's own cuts in order.

    Raises:
        Skipped: no session is at hand.
    """
    found: list[Cut] = []
    for session in sessions(only):
        at = [one.message for one in events(session.messages) if one.kind == "result"]
        for part in CUTS if len(at) >= LEAST_RESULTS else ():
            number = min(len(at) - 1, int(len(at) * part))
            cut = at[number] + 1 if part < 1 else len(session.messages)
            before = session.messages[:cut]
            tokens = sum(map(size_of, before))
            if number + 1 >= LEAST_RESULTS and tokens >= LEAST_TOKENS and before[-1]["role"] == "user" or part == 1:
                name = f"{session.name} at {100 * part:.0f} %"
                found.append(Cut(name, before, session.messages[cut:], session.system, tokens))
    longest = sorted((one for one in found if one.tokens >= LEAST_TOKENS), key=lambda one: -one.tokens)[:PASSES]
    if not longest:
        raise Skipped("no long session is at hand")
    return [one for one in found if one in longest]


def needed(cut: Cut) -> set[str]:
    """What the agent types after the cut that only old results and old arguments held."""
    past = events(cut.messages)
    old = {one.id for one in [e for e in past if e.kind == "result"][:-KEPT]}
    hidden = [one for one in past if one.kind != "said" and one.id in old]
    visible = View("\n".join(one.text for one in past if one not in hidden))
    held = set[str]().union(*(specifics(one.text) for one in hidden))
    seen, wanted = set[str](), set[str]()
    for one in events(cut.future):
        own = specifics(one.text)
        if one.kind == "called" or (one.kind == "said" and one.by_assistant):
            wanted |= {value for value in own & held - seen - wanted if not visible.has(value)}
        seen |= own
    return wanted


def cleared(messages: Sequence[Message], keep: int) -> list[Message]:
    """The list as a provider's context editing leaves it: of all calls but the newest `keep`, oldest first, results and
    inputs are gone."""
    calls = [one.id for one in events(list(messages)) if one.kind == "result"]
    gone = set(calls[: max(0, len(calls) - keep)])
    found: list[Message] = []
    for message in messages:
        content = message["content"]
        if not isinstance(content, str):
            content = [_without(block, gone) for block in content]
        found.append({**message, "content": content})
    return found


def _without(block: dict[str, Any], gone: set[str]) -> dict[str, Any]:
    if block["type"] == "tool_result" and block["tool_use_id"] in gone:
        return {**block, "content": CLEARED}
    return {**block, "input": {}} if block["type"] == "tool_use" and block["id"] in gone else block


def _left(messages: list[Message], wanted: set[str]) -> Left:
    view = View(all_text(messages))
    return Left(messages, sum(map(size_of, messages)), sum(view.has(value) for value in wanted))


def _as_good(cut: Cut, wanted: set[str], shown: int) -> Left:
    """Clearing that leaves as much of what was needed in view, with as few calls kept as that takes."""
    low, high = KEPT, sum(one.kind == "result" for one in events(cut.messages))
    best = _left(cut.messages, wanted)
    while low <= high:
        keep = (low + high) // 2
        tried = _left(cleared(cut.messages, keep), wanted)
        if tried.shown >= shown:
            best, high = tried, keep - 1
        else:
            low = keep + 1
    return best


def must_stay(cut: Cut) -> int:
    """Tokens of what no rule lets go, near enough; of long results with the same bytes only the last."""
    found = events(cut.messages)
    results = [one for one in found if one.kind == "result"]
    last = {one.text: one.id for one in results}
    newest = [one.id for one in results if last[one.text] == one.id or size_of({"content": one.text}) < LEFT_ALONE]
    stays = [
        one
        for one in found
        if one.kind == "said" or one.id in newest[-KEPT:] or size_of({"content": one.text}) < LEFT_ALONE
    ]
    return sum(size_of({"content": one.text}) for one in stays) + size_of({"content": cut.system})


def bill(before: Sequence[Message], after: Sequence[Message], future: Sequence[Message]) -> float:
    """What the next requests cost when the list before the cut, which is cached, is followed by this one. Where the
    session ends earlier, the remaining ones add nothing to it."""
    total = 0.0
    now, cached = list(after), list(before)
    later = iter(future)
    for _ in range(REQUESTS):
        same = 0
        while same < min(len(now), len(cached)) and now[same] == cached[same]:
            same += 1
        read, every = sum(map(size_of, now[:same])), sum(map(size_of, now))
        total += READ * read + WRITE * (every - read)
        cached = now
        now = [*now, *islice(later, 2)]
    return total


async def _passes(only: str) -> list[Pass]:
    found: list[Pass] = []
    for cut in cuts(only):
        with tempfile.TemporaryDirectory(prefix="palimpsest-targets-") as home:
            async with Palimpsest.open(home) as palimpsest:
                found.append(await _pass(palimpsest, cut))
    return found


async def _pass(palimpsest: Palimpsest, cut: Cut) -> Pass:
    before, wanted = cut.messages, needed(cut)
    done = await palimpsest.compact_messages(
        before, session_id="pass", system=cut.system, force=True, target=TARGET, model=MODEL
    )
    after = _left(done.messages, wanted)
    back = await palimpsest.expand_messages(done.messages, session_id="pass")
    made = Pass(
        cut=cut,
        report=done.report,
        after=after,
        wanted=wanted,
        cleared=_as_good(cut, wanted, after.shown),
        clearing=_left(cleared(before, KEPT), wanted),
        pair_errors=len(new_problems(before, done.messages, "anthropic")),
        restored=_results(back) == _results(before),
        must_stay=must_stay(cut),
    )
    if cut.future:
        plain = bill(before, before, cut.future)
        made.forced_bill = (plain, bill(before, done.messages, cut.future))
        made.asked, shorter = await _asked(palimpsest, cut)
        made.bill = (plain, bill(before, shorter, cut.future))
    return made


def _results(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Every call with its arguments, and every result."""
    return [(one.id, one.text) for one in events(list(messages)) if one.kind != "said"]


async def _asked(palimpsest: Palimpsest, cut: Cut) -> tuple[str, list[Message]]:
    """A pass that somebody asks for below the trigger."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "session.json"
        file.write_text(json.dumps(cut.messages), encoding="utf-8", errors="surrogatepass")
        window = int(cut.tokens / ASKED_AT)
        done = await palimpsest.compact_file(
            file, session_id="asked", window_tokens=window, used_tokens=cut.tokens, target=0.3, model=MODEL
        )
    return done.report.status, done.messages


@dataclass(frozen=True)
class Targets:
    """What the page takes."""

    passes: list[Pass] = field(default_factory=list[Pass])


def targets(only: str = "") -> tuple[str, Targets]:
    """The table of all passes, and what the page takes."""
    made = asyncio.run(_passes(only))
    rows = [
        [
            one.cut.name,
            f"{one.cut.tokens:,}",
            "met" if one.met else one.report.status,
            f"{one.after.tokens / one.cut.tokens:.2f}",
            f"{one.must_stay / one.cut.tokens:.2f}",
            _most_of_what_stays(one.report),
            str(len(one.wanted)),
            f"{share(one.after.shown, len(one.wanted)):.0f}",
            f"{_saved(one.after, one.cut):.0f}",
            f"{_saved(one.cleared, one.cut):.0f}",
            f"{share(one.clearing.shown, len(one.wanted)):.0f}, {_saved(one.clearing, one.cut):.0f}",
            "" if one.forced_bill is None else f"{100 * (one.forced_bill[1] / one.forced_bill[0] - 1):+.0f} %",
            "" if one.bill is None else f"{one.asked}, {100 * (one.bill[1] / one.bill[0] - 1):+.0f} %",
        ]
        for one in made
    ]
    head = ("beginning", "tokens", f"target {TARGET:g}", "share left", "never leaves", "stays", "needed", "in view %")
    head += ("saved %", "clearing saves % with as much in view", "clearing all: in view %, saved %")
    head += (f"billed, {REQUESTS} requests", "asked for below the trigger")
    return table(head, rows), Targets(made)


def _saved(left: Left, cut: Cut) -> float:
    return 100 * (1 - left.tokens / cut.tokens)


def _most_of_what_stays(report: Report) -> str:
    total = report.after.used.value or 1
    parts = Counter({part.reason: part.tokens for part in report.stayed})
    return ", ".join(f"{name} {100 * tokens / total:.0f} %" for name, tokens in parts.most_common(3))


def figures(found: Targets) -> list[list[str]]:
    """(figure, goal, ours, clearing) for the page."""
    made = found.passes
    out_of_reach = [one for one in made if not one.met and one.must_stay > TARGET * one.cut.tokens]
    later = [one for one in made if one.wanted]
    wanted = sum(len(one.wanted) for one in later)
    total = sum(one.cut.tokens for one in later)
    saved = [100 * (1 - sum(pick.tokens for pick in side) / total) for side in _sides(later)]
    shown = [share(sum(pick.shown for pick in side), wanted) for side in _sides(later)]
    asked = [one for one in made if one.bill is not None]
    ran = [one for one in asked if one.asked in ("compacted", "target_not_reached")]
    worse = [one for one in ran if one.bill is not None and one.bill[1] > one.bill[0]]
    return [
        [f"target {TARGET:g} met", "≥ 35 of 50", f"{sum(one.met for one in made)} of {len(made)}", ""],
        ["of the others, what never leaves is more than the target in", "–", str(len(out_of_reach)), ""],
        ["pairs of call and result broken", "0", str(sum(one.pair_errors for one in made)), ""],
        ["lists whose originals all come back", "all", f"{sum(one.restored for one in made)} of {len(made)}", ""],
        [f"needed later and in view, %, of {wanted}", "–", f"{shown[0]:.1f}", f"{shown[2]:.1f}"],
        ["whole list saved, %", "–", f"{saved[0]:.1f}", f"{saved[2]:.1f}"],
        ["whole list saved, %, with no less in view than ours", "below ours", f"{saved[0]:.1f}", f"{saved[1]:.1f}"],
        [f"passes asked for below the trigger that ran, of {len(asked)}", "–", str(len(ran)), ""],
        [f"of these billed more than none over {REQUESTS} requests", "0", str(len(worse)), ""],
    ]


def _sides(made: Sequence[Pass]) -> tuple[list[Left], list[Left], list[Left]]:
    return [one.after for one in made], [one.cleared for one in made], [one.clearing for one in made]
