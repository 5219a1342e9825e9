"""`diff`: originals beside what stands for them, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from ..models.advice import Advice, step
from ..models.text import counted, plain, shown
from .face import PAGER, BatchName, Face, ItemName, SessionName, pass_face, shared_options
from .screen import cell_count, cut, on_terminal, paged, said_as_json, say, say_coloured, terminal_width

if TYPE_CHECKING:
    from ..models.looks import Beside

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
