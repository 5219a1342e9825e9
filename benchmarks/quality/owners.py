"""Whose value is it? Records of known truth go in; every value that a digest shows must stand with its own record.

Each text holds records with a name and values that occur once. *Owned*: the nearest name before the value on its line
is its record's (in texts of sections: no name stands on it, and the nearest heading above has its own). *Bare*:
nothing says whose it is. *Wrong*: the nearest name is another record's. The rest is left out.
"""

from __future__ import annotations

import json
import random
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import count

from measuring import table

from .arms import tokens
from .passes import digest_of, head_and_tail, lines_by_lot

SHARES = (0.5, 0.3)
ROWS = 60
SEED = 1
UNDER_HEADINGS = frozenset({"json", "yaml", "sections", "listing"})
"""Kinds in which a record begins with a line of its own."""
VERDICTS = ("owned", "bare", "wrong", "left out")


@dataclass(frozen=True)
class Owner:
    """One record."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Made:
    """A text and the truth about it."""

    text: str
    owners: tuple[Owner, ...]


def owners_of(rng: random.Random, rows: int) -> list[Owner]:
    """Records with an address, an amount, a commit and a size each; nothing occurs twice."""
    taken: set[str] = set()

    def once(draw: Callable[[], str]) -> str:
        value = next(value for value in (draw() for _ in count()) if value not in taken)
        taken.add(value)
        return value

    def name() -> str:
        return f"{''.join(rng.choice('bdfgklmnprst') + rng.choice('aeiou') for _ in range(3))}-{rng.randint(10, 98)}"

    return [
        Owner(
            once(name),
            (
                once(lambda: f"10.{rng.randint(0, 255)}.{rng.randint(0, 255)}.{rng.randint(1, 254)}"),
                once(lambda: f"{rng.randint(1000, 99998)}.{rng.randint(1, 9)}{rng.randint(1, 9)}"),
                once(lambda: f"{rng.getrandbits(40):010x}"),
                once(lambda: str(rng.randint(10_000, 999_998))),
            ),
        )
        for _ in range(rows)
    ]


_HEADS = ("unit", "addr", "fee", "rev", "bytes")


def _delimited(owners: Sequence[Owner], mark: str) -> str:
    return "\n".join(mark.join(row) for row in (_HEADS, *((one.name, *one.values) for one in owners)))


def _piped(owners: Sequence[Owner]) -> str:
    rows = [_HEADS, ("---",) * 5, *((one.name, *one.values) for one in owners)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _ruled(owners: Sequence[Owner]) -> str:
    widths = (10, 16, 10, 12, 8)
    rows = [_HEADS, *((one.name, *one.values) for one in owners)]
    lines = [" " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([lines[0], "-+-".join("-" * width for width in widths), *lines[1:], f"({len(owners)} rows)"])


def _aligned(owners: Sequence[Owner]) -> str:
    rows = [(*(head.upper() for head in _HEADS), "READY"), *((one.name, *one.values, "1/1") for one in owners)]
    return "\n".join("".join(cell.ljust(18) for cell in row).rstrip() for row in rows)


def _json(owners: Sequence[Owner]) -> str:
    rows = [
        {"unit": one.name, "net": {"addr": one.values[0]}, "fee": {"due": float(one.values[1])}}
        | {"rev": one.values[2], "bytes": int(one.values[3])}
        for one in owners
    ]
    return json.dumps(rows, indent=2)


def _ndjson(owners: Sequence[Owner]) -> str:
    return "\n".join(json.dumps(dict(zip(_HEADS, (one.name, *one.values), strict=True))) for one in owners)


def _log(owners: Sequence[Owner]) -> str:
    return "\n".join(
        f"2031-04-02 07:{n // 60:02}:{n % 60:02} INFO unit={one.name} addr={one.values[0]} fee={one.values[1]} "
        f"rev={one.values[2]} sent {one.values[3]} bytes"
        for n, one in enumerate(owners)
    )


def _yaml(owners: Sequence[Owner]) -> str:
    leaves = [[f"    {head}: {v}" for head, v in zip(_HEADS[1:], one.values, strict=True)] for one in owners]
    return "\n".join(
        ["units:", *(f"  {one.name}:\n" + "\n".join(rest) for one, rest in zip(owners, leaves, strict=True))]
    )


def _sections(owners: Sequence[Owner]) -> str:
    return "\n\n".join(
        f"### {one.name}\n\nReached at {one.values[0]} for {one.values[1]} a month.\n"
        f"Revision {one.values[2]} has {one.values[3]} bytes."
        for one in owners
    )


def _listing(owners: Sequence[Owner]) -> str:
    return "\n\n".join(
        f"/data/{one.name}:\ntotal 12\n-rw-r--r-- 1 web web {one.values[3]} Apr  2 07:00 {one.values[2]}.bin\n"
        f"-rw-r--r-- 1 web web {one.values[1]} Apr  3 08:00 at-{one.values[0]}.cfg"
        for one in owners
    )


def _tuples(owners: Sequence[Owner]) -> str:
    return str([(one.name, *one.values[:3], int(one.values[3])) for one in owners])


def _html(owners: Sequence[Owner]) -> str:
    rows = ["".join(f"<td>{cell}</td>" for cell in (one.name, *one.values)) for one in owners]
    head = "".join(f"<th>{cell}</th>" for cell in _HEADS)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


KINDS: dict[str, Callable[[Sequence[Owner]], str]] = {
    "json": _json,
    "ndjson": _ndjson,
    "csv": lambda owners: _delimited(owners, ","),
    "tsv": lambda owners: _delimited(owners, "\t"),
    "markdown": _piped,
    "psql": _ruled,
    "fixed": _aligned,
    "log": _log,
    "yaml": _yaml,
    "sections": _sections,
    "listing": _listing,
    "tuples": _tuples,
    "html": _html,
}


def made(kind: str, seed: int = SEED, rows: int = ROWS) -> Made:
    """The text of a kind, by seed."""
    owners = owners_of(random.Random(f"{seed}:{kind}"), rows)
    if kind == "listing":  # sizes are whole numbers
        owners = [Owner(one.name, (one.values[0], one.values[1].replace(".", ""), *one.values[2:])) for one in owners]
    return Made(KINDS[kind](owners), tuple(owners))


def judged(owners: Collection[Owner], view: str, *, under_headings: bool) -> tuple[Counter[str], list[str]]:
    """How many values have which verdict; and lines that show one with another's name."""
    lines = view.split("\n")
    names = [sorted((at, one.name) for one in owners for at in _places(line, one.name)) for line in lines]
    above: list[str] = []
    last = ""
    for found in names:
        above.append(last)
        last = found[-1][1] if found else last
    verdicts = Counter[str]()
    lies: list[str] = []
    for one in owners:
        for value in one.values:
            verdict = ""
            for n, line in enumerate(lines):
                for at in _places(line, value):
                    named = _nearest(names[n], at) or (above[n] if under_headings else "")
                    now = "bare" if not named else "owned" if named == one.name else "wrong"
                    if verdict in ("", "bare") or now == "wrong":
                        verdict = now
                    if now == "wrong":
                        lies.append(f"{value} is of {one.name}: {line[:120]}")
            verdicts[verdict or "left out"] += 1
    return verdicts, lies


def _nearest(names: Sequence[tuple[int, str]], at: int) -> str:
    """The last name before a place of the line; where all stand behind it: the one, or nobody's for several."""
    before = bisect_left(names, (at, ""))
    if before:
        return names[before - 1][1]
    behind = {name for _, name in names}
    return "" if not behind else behind.pop() if len(behind) == 1 else "(several)"


def _places(line: str, value: str) -> list[int]:
    """Where a value stands as a whole: not in a word, not in a longer number."""
    if value not in line:
        return []
    return [found.start() for found in re.finditer(rf"(?<![\w.]){re.escape(value)}(?!\w|\.\d)", line)]


@dataclass(frozen=True)
class Owned:
    """One arm over all kinds, per cent of all values."""

    shares: dict[str, float]
    lies: tuple[str, ...] = ()
    tokens: int = 0


def measured(
    share: float, kinds: Sequence[str] = tuple(KINDS), seed: int = SEED, rows: int = ROWS
) -> tuple[Owned, dict[str, Owned]]:
    """Our digests: (all together, kind by kind)."""
    found = {kind: _of(kind, made(kind, seed, rows), lambda text: digest_of(text, share)) for kind in kinds}
    return _together(list(found.values())), found


def floors(share: float, seed: int = SEED) -> dict[str, Owned]:
    """What a cut and lines by lot of the same share own."""
    rng = random.Random(seed)
    arms: dict[str, Callable[[str], str]] = {
        "head+tail": lambda text: head_and_tail(text, int(share * len(text))),
        "lines by lot": lambda text: lines_by_lot(text, int(share * len(text)), rng),
    }
    return {name: _together([_of(kind, made(kind, seed), arm) for kind in KINDS]) for name, arm in arms.items()}


def _of(kind: str, one: Made, view_of: Callable[[str], str]) -> Owned:
    view = view_of(one.text)
    found, lies = judged(one.owners, view, under_headings=kind in UNDER_HEADINGS)
    total = sum(found.values())
    return Owned({name: 100 * found[name] / total for name in VERDICTS}, tuple(lies), tokens(view))


def _together(found: Sequence[Owned]) -> Owned:
    mean = {name: sum(one.shares[name] for one in found) / len(found) for name in VERDICTS}
    return Owned(mean, tuple(lie for one in found for lie in one.lies), sum(one.tokens for one in found))


@dataclass(frozen=True)
class Owners:
    """What the page takes: share -> arm -> what it owns."""

    arms: dict[float, dict[str, Owned]]


def owners() -> tuple[str, Owners]:
    """The table by kind, and the arms."""
    arms: dict[float, dict[str, Owned]] = {}
    rows: list[list[str]] = []
    lies: list[str] = []
    for share in SHARES:
        ours, by_kind = measured(share)
        arms[share] = {"palimpsest": ours, **floors(share)}
        lies += ours.lies
        for kind, one in by_kind.items():
            rows.append([f"{100 * share:.0f} %", kind, *(f"{one.shares[name]:.1f}" for name in VERDICTS)])
    text = table(("tokens kept", "kind", *(f"{name} %" for name in VERDICTS)), rows)
    return text + "".join(f"\n- wrong: {lie}" for lie in lies[:20]), Owners(arms)
