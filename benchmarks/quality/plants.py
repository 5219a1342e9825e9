"""Strings of other shapes than the peers' script plants, under other keys and at other places.

What is planted follows the session itself: each result gets values of the classes that it holds most, so that a digest
cannot do well on planted strings and badly on natural ones without being seen.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from .arms import SEED
from .replay import Message, all_text
from .scoring import specifics

_PLAIN = ("ticket", "upstream", "owner_ref", "pinned", "rollout", "mirror", "build", "lease", "taken_from", "contact")
_LOUD = ("error", "failed_at", "crash_ref", "rejected", "fault")
_MEMBER = re.compile(r"(?<=[{,])(\s*)(?=\"[^\"\\]{1,40}\"\s*:)")
_NUMBERED = re.compile(r"\s*\d+\t")
_EVERY = 6_000
"""Characters of a result for each planted string; at least one, at most three a result."""


def planted_again(
    messages: Sequence[Message], results: dict[str, str], old: Sequence[str]
) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """(results with strings planted into the old ones, the truth about them)."""
    taken = all_text(list(messages))
    views: dict[str, str] = {}
    truth: list[dict[str, Any]] = []
    for call in old:
        rng = random.Random(f"{SEED}:plant:{call}")
        text = results[call]
        mix = {name: len(values) for name, values in specifics(text).items() if name in _SHAPES}
        for _ in range(max(1, min(3, len(text) // _EVERY))):
            kinds, weights = list(_SHAPES), [1 + mix.get(name, 0) for name in _SHAPES]
            kind = rng.choices(kinds, weights)[0]
            value = _SHAPES[kind](rng)
            salient = rng.random() < 0.5
            if value not in taken and value not in text:
                text = _put(text, rng.choice(_LOUD if salient else _PLAIN), value, rng)
                truth.append({"value": value, "type": kind, "salient": salient, "tool_use_id": call})
        views[call] = text
    return views, truth


def _put(text: str, key: str, value: str, rng: random.Random) -> str:
    """As a member of an object, a remark behind a line, or a line of its own, wherever chance says."""
    if text.lstrip()[:1] in ("{", "["):
        places = list(_MEMBER.finditer(text))
        if places:
            at = rng.choice(places)
            grown = f'{text[: at.end()]}"{key}": {json.dumps(value)},{at.group(1) or " "}{text[at.end() :]}'
            if _is_json(grown) or not _is_json(text):
                return grown
    lines = text.split("\n")
    number = rng.randrange(len(lines))
    line = lines[number]
    if _NUMBERED.match(line):
        lines[number] = f"{line}  # {key} {value}"
    elif rng.random() < 0.5 and line.strip():
        lines[number] = f"{line} ({key}: {value})"
    else:
        indent = line[: len(line) - len(line.lstrip())]
        lines.insert(number, f"{indent}{key}={value}" if rng.random() < 0.5 else f"{indent}{key} is {value} here")
    return "\n".join(lines)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _hexes(rng: random.Random, size: int) -> str:
    return f"{rng.choice('abcdef')}{rng.choice('123456789')}" + "".join(rng.choices("0123456789abcdef", k=size - 2))


def _url(rng: random.Random) -> str:
    host = rng.choice(("status.harbour.example", "git.fleet.example.io", "docs.kiln.example"))
    return f"https://{host}/{rng.choice(('t', 'blob/main', 'incidents'))}/{_hexes(rng, 9)}/{rng.randint(2, 9)}.html"


def _date(rng: random.Random) -> str:
    day = f"20{rng.randint(30, 39)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
    return day + rng.choice(("", f" {rng.randint(10, 23)}:{rng.randint(10, 59)}", "T08:15:30+02:00"))


def _line(rng: random.Random) -> str:
    name = rng.choice(("ledger", "router", "gauge"))
    folder, ending = rng.choice(("pkg", "internal", "web/src")), rng.choice(("go", "ts", "rs"))
    return f"{folder}/{name}_{_hexes(rng, 4)}.{ending}:{rng.randint(11, 1999)}"


def _version(rng: random.Random) -> str:
    return f"v{rng.randint(20, 60)}.{rng.randint(10, 99)}.{rng.randint(10, 99)}" + rng.choice(("", "-rc.2", "-beta.1"))


def _code(rng: random.Random) -> str:
    return rng.choice(
        (f"CVE-20{rng.randint(30, 49)}-{rng.randint(10_000, 99_999)}", f"OPS-{rng.randint(10_000, 99_999)}")
    )


def _uuid(rng: random.Random) -> str:
    return "-".join(_hexes(rng, size) for size in (8, 4, 4, 4, 12))


_SHAPES: dict[str, Callable[[random.Random], str]] = {
    "url": _url,
    "date": _date,
    "file:line": _line,
    "version": _version,
    "code": _code,
    "uuid": _uuid,
    "hex": lambda rng: _hexes(rng, rng.choice((7, 10, 40))),
    "ip": lambda rng: f"192.168.{rng.randint(2, 250)}.{rng.randint(2, 250)}",
    "integer": lambda rng: str(rng.randint(200_000, 9_999_999)),
}
