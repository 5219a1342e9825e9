"""`show` and `diff`: what fills a session's window, as a map or a tree, and originals beside what stands for them.

`specifics FILE`: what the registry finds in a text, and what would be masked before anybody sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from ..context.gates import UNSURE
from ..errors import FileEmpty, FileMissing
from ..models.advice import Advice, step
from ..models.reports import NOT_APPLIED, OUTSIDE
from ..models.text import counted, plain, shown
from ..models.views import COMPACTED
from ..text.specifics.delimited import fields_apart
from .face import PAGER, VERBOSE, BatchName, Face, ItemName, SessionName, pass_face, shared_options
from .screen import (
    COLOURS,
    cell_count,
    console,
    cut,
    fill,
    on_terminal,
    paged,
    percent,
    said_as_json,
    say,
    say_bar,
    say_coloured,
    say_fields,
    say_json,
    say_table,
    sources,
    terminal_width,
    tokens,
)

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest
    from ..models.items import Span
    from ..models.views import Beside, ContextView, ItemView
    from ..ports.seams import Redacted


Kinds: TypeAlias = "dict[str, dict[str, list[ItemView]]]"
"""Kind -> tool -> its items."""
SHOWN = "item, kind, tool, tokens:number, state, why:prose, begins with:prose"
LARGEST_SHOWN = "item, what, tokens:number, state, begins with:prose"
STATES: dict[str, Callable[[ItemView], bool]] = {
    "kept": lambda item: item.state == "live",
    "offloaded": lambda item: item.state == "replaced",
    "gone": lambda item: item.state == "gone",
    "protected": lambda item: item.state == "live" and bool(item.protected or item.pinned),
    "free": lambda item: item.state == "live" and not item.protected and not item.pinned,
    "pinned": lambda item: item.pinned,
}
"""What `--state` asks for."""


@click.command()
@click.argument("session", type=SessionName())
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Only the N largest items, the largest first.")
@click.option("--state", type=click.Choice(list(STATES)), help="Only items in this state.")
@click.option("--all", "every", is_flag=True, help="Every item, in the order of the context.")
@click.option("--tree", is_flag=True, help="Kinds, tools and their largest items.")
@click.option("--view", type=click.Choice([COMPACTED]), help="The context itself, to start afresh from.")
@VERBOSE
@PAGER
@shared_options
@pass_face
def show(
    face: Face,
    session: str,
    top: int | None,
    state: str | None,
    every: bool,
    tree: bool,
    view: str | None,
    verbose: bool,
    no_pager: bool,
) -> None:
    """What fills the window of SESSION (id or handle): a map by kind, and the ten largest items with why they stay.

    States: kept (whole in the context), offloaded (a digest stands for it), gone (the host dropped it); of those kept,
    protected (a rule holds it), free (it may leave) and pinned.
    """
    if view is not None:
        text = face.ask(lambda facade: facade.compacted_view(session), make=False)
        if not said_as_json(face, {"view": view, "text": text}):
            say(text)
        return
    short = top is None and state is None and not every and not verbose
    if short and not face.as_json:
        top = LARGEST
    kinds: Kinds = {}

    def chosen(rows: Iterable[ItemView]) -> Sequence[ItemView]:
        if tree and not face.as_json:
            kinds.update(by_kind(rows))
            return leaves(kinds)
        some = (item for item in rows if state is None or STATES[state](item))
        return list(some) if top is None else nlargest(top, some, key=_size)

    found = face.ask(lambda facade: facade.show_context(session, rows=chosen), make=False)
    if said_as_json(face, found):
        return
    with paged(wanted=not no_pager):
        _say_window(found, face, verbose=verbose)
        if tree:
            say_tree(kinds, found.items)
        else:
            _say_items(found, face, short=short)


LARGEST = 10
"""Items that are shown where nothing else was asked for."""


def _say_window(view: ContextView, face: Face, *, verbose: bool) -> None:
    from .compact import say_meaning

    say_fields([("session", f"{view.session_id} (handle {view.handle})")])
    zone = "" if view.usage.ratio is None else f", zone {view.usage.zone}: {view.usage.action}"
    say_bar("window ", view.usage.ratio, f"{fill(view.usage)}{zone}")
    say(f"         {sources(view.usage)}")
    say_meaning(view.usage, face, verbose=verbose)
    say_map(view)


def _say_items(view: ContextView, face: Face, *, short: bool) -> None:
    items = view.items
    states = [item.batch_id or ("kept" if item.state == "live" else item.state) for item in items]
    if short:
        rows = [
            (item.item_id, item.tool_name or item.kind.replace("_", " "), f"{item.tokens:,}", state, item.preview[:60])
            for item, state in zip(items, states, strict=True)
        ]
        say_table(LARGEST_SHOWN, rows)
    else:
        rows = [
            (item.item_id, item.kind, item.tool_name, f"{item.tokens:,}", state, _why(item), item.preview[:60])
            for item, state in zip(items, states, strict=True)
        ]
        say_table(SHOWN, rows)
    for line in view.citations:
        say(f"citation {line}")
    of = f"{len(items):,} of " if len(items) < view.item_count else ""
    every = f"; all: {face.command('show_context', session_id=view.handle)} --all" if of else ""
    say(f"{of}{counted(view.item_count, 'item')}, {counted(len(view.batches), 'batch')} offloaded{every}")


def _why(item: ItemView) -> str:
    if item.state != "live":
        return f"{item.gate}: {item.evidence}" if item.gate == "forget" else ""
    unsure = item.gate == "preserve" and item.evidence == UNSURE
    gate = "" if not item.gate else item.gate if unsure else f"{item.gate}: {item.evidence}"
    if item.protected == item.gate:
        return gate
    return ", ".join(dict.fromkeys(filter(None, (item.protected, "pinned" if item.pinned else "", gate))))


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
LEAVES = 3
TREE_WIDTH = 120
"""Cells where nobody looks."""


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


def by_kind(items: Iterable[ItemView]) -> Kinds:
    """What is in the context, by kind and tool."""
    kinds: Kinds = {}
    for item in items:
        if item.state != "gone":
            kinds.setdefault(kind_of(item), {}).setdefault(item.tool_name, []).append(item)
    return kinds


def leaves(kinds: Kinds) -> list[ItemView]:
    """The items that a tree shows."""
    return [item for tools in kinds.values() for items in tools.values() for item in _leaves(items)]


def _leaves(items: Sequence[ItemView]) -> list[ItemView]:
    return nlargest(LEAVES, items, key=_size)


def _size(item: ItemView) -> int:
    return item.tokens


def say_tree(kinds: Kinds, told: Iterable[ItemView]) -> None:
    """Kinds, in them tools, in them the largest three items.

    Args:
        told: these items, with what is said of them.
    """
    previews = {item.item_id: item.preview for item in told}
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
            _say_leaves(items, previews, ("   " if last else "│  ") if tool else "")


def _say_leaves(items: Sequence[ItemView], previews: Mapping[str, str], lead: str) -> None:
    largest = _leaves(items)
    width = (terminal_width() if on_terminal() else TREE_WIDTH) - len(lead) - len("├─ ")
    heads = [(f"{item.tokens:>7,}  {item.item_id[:24]}  ", previews[item.item_id]) for item in largest]
    lines = [head + cut(preview, max(8, width - len(head))) for head, preview in heads]
    if rest := len(items) - len(largest):
        lines.append(f"{_sum(items) - _sum(largest):>7,}  {rest:,} more")
    for at, line in enumerate(lines):
        say(f"{lead}{'└─' if at == len(lines) - 1 else '├─'} {line}")


def _sum(items: Sequence[ItemView]) -> int:
    return sum(item.tokens for item in items)


GAP = " │ "
FEW = 3
"""Lines that are left out in a row and stand all the same: a count would take as much room."""
PLAIN_WIDTH = 160
"""Cells where nobody looks."""


@click.command()
@click.argument("session", type=SessionName())
@click.argument("batch", type=BatchName())
@click.option("--item", type=ItemName(), help="One item of the batch.")
@click.option("--all", "every", is_flag=True, help="Every line of the originals, those that were left out too.")
@PAGER
@shared_options
@pass_face
def diff(face: Face, session: str, batch: str, item: str | None, every: bool, no_pager: bool) -> None:
    """Originals of BATCH of SESSION on the left, what stands for them on the right, both masked.

    Each line of the digest stands beside the line that it quotes; runs of lines that were left out are counted.
    """
    from ..errors import ItemUnknown

    found = face.ask(lambda facade: facade.beside_batch(session, batch), make=False)
    chosen = [one for one in found if item is None or one.item_id == item]
    if not chosen:
        raise ItemUnknown(
            f"{batch} has no item {shown(item or '')}.",
            next=Advice("See its items: {}", step("list_offloaded", session_id=session)),
        )
    if said_as_json(face, {"items": chosen}):
        return
    with paged(wanted=not no_pager):
        for one in chosen:
            _say_both(one, every=every)


def _say_both(one: Beside, *, every: bool) -> None:
    about = " ".join(filter(None, (one.tool_name, one.title)))
    say(
        f"--- {one.item_id} {about}",
        f"    {counted(one.original_tokens, 'token')} in {counted(one.original_lines, 'line')}; its digest "
        f"{counted(one.digest_tokens, 'token')}, with words of {counted(one.quoted_lines, 'line')}",
    )
    if one.note:
        say(f"    {one.note}")
    width = terminal_width() if on_terminal() else PLAIN_WIDTH
    for left, right, is_quoted in side_by_side(one, every=every):
        left, right = _row(left, right, width)
        say_coloured(left if is_quoted else (left, "apart"), GAP.rstrip() if not right else GAP, (right, "digest"))


def side_by_side(one: Beside, *, every: bool) -> Iterator[tuple[str, str, bool]]:
    """Rows: a line of the original with its number, the digest's line beside it, and whether it is one of the digest's.

    Every line of the digest comes once, in its order wherever the original's allows; lines without a place come with
    those before them.
    """
    original = one.original.split("\n") if one.original else []
    digest = one.digest.split("\n") if one.digest else []
    places: dict[int, int] = {}
    for quote in one.quotes:
        if quote.source < len(original):
            places.setdefault(quote.line, quote.source)
    beside: dict[int, list[str]] = {}
    last = -1
    for number, text in enumerate(digest):
        last = places.get(number, last)
        beside.setdefault(last, []).append(text)
    quoted = {quote.source for quote in one.quotes}
    yield from (("", text, True) for text in beside.get(-1, []))
    hidden: list[int] = []
    for number, text in enumerate(original):
        if number not in quoted:
            hidden.append(number)
            continue
        yield from _left_out(original, hidden, every=every)
        hidden = []
        first, *more = beside.get(number, [""])
        yield f"{number + 1:>5} {text}", first, True
        yield from (("", each, True) for each in more)
    yield from _left_out(original, hidden, every=every)


def _left_out(original: Sequence[str], hidden: Sequence[int], *, every: bool) -> Iterator[tuple[str, str, bool]]:
    if every or len(hidden) <= FEW:
        yield from ((f"{number + 1:>5} {original[number]}", "", False) for number in hidden)
    else:
        yield f"    ⋯ {counted(len(hidden), 'line')} left out", "", False


def _row(left: str, right: str, width: int) -> tuple[str, str]:
    """Both sides in half of the width each."""
    room = (width - len(GAP)) // 2
    left, right = (cut(plain(side.expandtabs(4)), room) for side in (left, right))
    return f"{left}{' ' * (room - cell_count(left))}", right


EXAMPLES = 6


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@shared_options
@pass_face
def specifics(face: Face, file: Path) -> None:
    """What must survive word for word in FILE (any text), by class, and what would be masked."""
    text = _read(file)
    masked, spans, version = face.ask(lambda facade: _found(facade, text), make=False)
    by_class: dict[str, list[str]] = {}
    for span in spans:
        by_class.setdefault(span.cls, []).append(span.text)
    if face.as_json:
        classes = {name: {"count": len(found), "texts": _distinct(found)} for name, found in by_class.items()}
        say_json({"registry": version, "specifics": classes, "masked": masked.counts})
    else:
        _say(masked, by_class, version)


async def _found(facade: Palimpsest, text: str) -> tuple[Redacted, list[Span], str]:
    """As a digest would see it: masked first."""
    registry = facade.deps.registry
    masked = facade.deps.redactor.redact(text)
    return masked, registry.spans(fields_apart(masked.text)), registry.version


def _say(masked: Redacted, by_class: dict[str, list[str]], version: str) -> None:
    rows = [
        (name, str(len(found)), str(len(_distinct(found))), ", ".join(_distinct(found)[:EXAMPLES]))
        for name, found in sorted(by_class.items(), key=lambda pair: -len(pair[1]))
    ]
    say_table("class, found:number, distinct:number, such as:list", rows)
    if not rows:
        say("no specifics found")
    words = ", ".join(f"{number} {kind}" for kind, number in sorted(masked.counts.items())) or "nothing"
    say_fields([("masked", words), ("registry", version)])


def _distinct(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _read(file: Path) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise FileMissing(f"{file.name} cannot be read ({error.strerror}).", next="Name a text file.") from None
    if not data.strip():
        raise FileEmpty(f"{file.name} is empty.", next="Name a file with text in it.")
    return data.decode("utf-8", "replace")
