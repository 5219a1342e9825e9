"""What fills a window, as a map of lines: by kind in one bar, or as a tree of kinds and tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..models.reports import NOT_APPLIED, OUTSIDE
from .screen import COLOURS, console, cut, on_terminal, percent, say, say_table, terminal_width, tokens

if TYPE_CHECKING:
    from ..models.views import ContextView, ItemView

NAMES = {
    "digest": "digests",
    "tool_result": "results",
    "tool_call": "calls",
    "message": "messages",
    "evidence": "evidence",
    OUTSIDE: "system and tools",
    NOT_APPLIED: "waiting to be applied",
}
"""Of kinds; others are named as they are."""
STYLES = {
    "digest": ("█", COLOURS["digest"]),
    NOT_APPLIED: ("▒", COLOURS["digest"]),
    OUTSIDE: ("▚", ""),
    "free": ("░", COLOURS["apart"]),
}
"""What is whole has no colour."""
WHOLE = "▓▆▅▄▃"
"""Of the kinds that are whole, the largest first; further ones have the last."""
LEAST_BAR, MOST_BAR = 20, 100


def cells(sizes: Sequence[int], room: int) -> list[int]:
    """So many cells for each size that all together they are the room, each within one of its share."""
    whole = sum(sizes)
    if not whole:
        return [0] * len(sizes)
    found = [size * room // whole for size in sizes]
    rest = sorted(range(len(sizes)), key=lambda at: (-(sizes[at] * room % whole), at))
    for at in rest[: room - sum(found)]:
        found[at] += 1
    return found


def say_map(view: ContextView) -> None:
    """One bar of the whole window, and a line for each kind: their tokens sum to what is used, and with what is free
    to the window."""
    used, window = view.usage.used.value, view.usage.effective_window.value
    rows = [(one.reason, one.items, one.tokens) for one in view.by_kind if one.tokens > 0]
    if used is not None and window is not None and window > used:
        rows.append(("free", 0, window - used))
    whole = sum(size for _, _, size in rows)
    signs = _signs([name for name, _, _ in rows])
    if on_terminal() and whole:
        from rich.text import Text

        room = max(LEAST_BAR, min(MOST_BAR, terminal_width()))
        parts = cells([size for _, _, size in rows], room)
        console().print(
            Text.assemble(*((sign * size, style) for (sign, style), size in zip(signs, parts, strict=True)))
        )
    table = [
        (
            sign,
            NAMES.get(name, name.replace("_", " ")),
            f"{items:,}" if items else "",
            tokens(size),
            percent(size / whole),
        )
        for (name, items, size), (sign, _) in zip(rows, signs, strict=True)
    ]
    share = "share" if window is not None else "of what is used"
    say_table(f", fills the window, items:number, tokens:number, {share}:number", table)


def _signs(names: Sequence[str]) -> list[tuple[str, str]]:
    plain = iter(WHOLE)
    return [STYLES.get(name) or (next(plain, WHOLE[-1]), "") for name in names]


def kind_of(item: ItemView) -> str:
    """As the map has it."""
    if item.state == "replaced":
        return "digest"
    return "message" if item.kind == "original_query" else item.kind


def say_tree(view: ContextView) -> None:
    """Kinds, in them tools, in them the largest three items."""
    kinds: dict[str, dict[str, list[ItemView]]] = {}
    for item in view.items:
        if item.state != "gone":
            kinds.setdefault(kind_of(item), {}).setdefault(item.tool_name, []).append(item)
    for kind, tools in sorted(
        kinds.items(), key=lambda one: -_sum([item for each in one[1].values() for item in each])
    ):
        every = [item for each in tools.values() for item in each]
        say(f"{NAMES.get(kind, kind.replace('_', ' '))}  {_sum(every):,} tokens in {len(every):,}")
        groups = sorted(tools.items(), key=lambda one: -_sum(one[1]))
        for at, (tool, items) in enumerate(groups):
            last = at == len(groups) - 1
            if tool:
                say(f"{'└─' if last else '├─'} {tool}  {_sum(items):,} in {len(items):,}")
            _say_leaves(items, ("   " if last else "│  ") if tool else "")


def _say_leaves(items: Sequence[ItemView], lead: str) -> None:
    ordered = sorted(items, key=lambda one: -one.tokens)
    width = (terminal_width() if on_terminal() else PLAIN_WIDTH) - len(lead) - len("├─ ")
    heads = [(f"{item.tokens:>7,}  {item.item_id[:24]}  ", item.preview) for item in ordered[:LEAVES]]
    lines = [head + cut(preview, max(8, width - len(head))) for head, preview in heads]
    if rest := ordered[LEAVES:]:
        lines.append(f"{_sum(rest):>7,}  {len(rest):,} more")
    for at, line in enumerate(lines):
        say(f"{lead}{'└─' if at == len(lines) - 1 else '├─'} {line}")


LEAVES = 3
PLAIN_WIDTH = 120
"""Cells where nobody looks."""


def _sum(items: Sequence[ItemView]) -> int:
    return sum(item.tokens for item in items)
