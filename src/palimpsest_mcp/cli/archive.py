"""`list`, `search`, `restore`, `undo`, `pin`: what was taken out of a session, and back."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..errors import InvalidArgument
from ..models.advice import Advice, step
from ..models.reports import counts_to_json
from ..models.text import counted, plain
from .face import PAGER, VERBOSE, BatchName, Face, ItemName, SessionName, masked, pass_face, shared_options
from .screen import (
    free_name,
    json_bytes,
    out_file,
    out_options,
    paged,
    said_as_json,
    say,
    say_bytes,
    say_json,
    say_table,
)

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest
    from ..models.records import OffloadRecord
    from ..models.reports import Saved, Usage
    from ..models.views import BatchView, Restored


@click.command("list")
@click.argument("session", type=SessionName())
@VERBOSE
@PAGER
@click.option("--full", is_flag=True, help="Whole records with originals as JSON; without --json: the digests.")
@shared_options
@pass_face
def list_batches(face: Face, session: str, full: bool, verbose: bool, no_pager: bool) -> None:
    """Batches that were offloaded from SESSION: when, why, what, how big."""
    from .compact import say_meaning, say_saved

    if face.as_json and full:
        records = face.ask(lambda facade: _records(facade, session), make=False)
        say_json({"batches": records}, exact=True)
        return
    batches, usage, saved = face.ask(lambda facade: _listed(facade, session), make=False)
    if face.as_json:
        rows = [{**msgspec.to_builtins(one), "specifics": counts_to_json(one.specifics)} for one in batches]
        say_json({"batches": rows, "saved": saved.to_json()})
        return
    with paged(wanted=not no_pager):
        _say_batches(batches, full=full, verbose=verbose)
        if batches:
            say_saved(saved)
        if usage.waiting:
            say_meaning(usage, face, verbose=verbose)


async def _listed(facade: Palimpsest, session: str) -> tuple[Sequence[BatchView], Usage, Saved]:
    return await facade.list_offloaded(session), await facade.usage(session), await facade.saved(session)


async def _records(facade: Palimpsest, session: str) -> list[OffloadRecord]:
    batches = await facade.list_offloaded(session)
    return [
        await facade.record(session, batch.batch_id) for batch in batches if batch.state not in ("purged", "damaged")
    ]


def _say_batches(batches: Sequence[BatchView], *, full: bool, verbose: bool) -> None:
    from .compact import say_overhead

    if not batches:
        say("nothing was offloaded from this session")
    rows = [
        (
            batch.batch_id,
            batch.ts[:16].replace("T", " "),
            batch.reason,
            ", ".join(f"{number} {kind}" for kind, number in batch.kinds.items()),
            f"{batch.original_tokens:,}",
            f"{batch.tokens_after:,}",
            batch.state if batch.restorable else f"{batch.state}, not restorable",
        )
        for batch in batches
    ]
    say_table(
        "batch, when, why, what:list, tokens:number, digest:number, state",
        rows,
    )
    if verbose:
        say_overhead(batches)
    for batch in batches if full else ():
        say("", f"{batch.batch_id}: {', '.join(batch.item_ids)}", batch.digest)


@click.command()
@click.argument("query")
@click.option("--session", type=SessionName(), help="Only in this session; default: in all.")
@click.option("--limit", type=click.IntRange(min=1), default=10, show_default=True, help="At most this many hits.")
@shared_options
@pass_face
def search(face: Face, query: str, session: str | None, limit: int) -> None:
    """Find the words of QUERY in what was offloaded; quotes inside it make a phrase."""
    hits = face.ask(lambda facade: facade.search_offloaded(query, session_id=session, limit=limit), make=False)
    if said_as_json(face, {"hits": hits}):
        return
    for hit in hits:
        given = {"session_id": hit.handle, "batch_id": hit.batch_id, "item_id": hit.item_id}
        say(face.command("restore_batch", **given), *([f"    {hit.about}"] if hit.about else []), f"    {hit.snippet}")
    if not hits:
        say("nothing found; try fewer or other words")


@click.command()
@click.argument("session", type=SessionName())
@click.argument("batch", type=BatchName(), required=False)
@click.option("--item", type=ItemName(), help="One item of the batch, by its id or call id.")
@click.option("--raw", is_flag=True, help="Exactly the original bytes and nothing else.")
@click.option("--all", "whole", is_flag=True, help="Undo every pass: the messages as they came in; needs --out.")
@out_options("Where --all writes the messages.")
@shared_options
@pass_face
def restore(
    face: Face,
    session: str,
    batch: str | None,
    item: str | None,
    raw: bool,
    whole: bool,
    out: Path | None,
    overwrite: bool,
) -> None:
    """Give the originals of BATCH of SESSION back, or with --all every message as it came in."""
    if whole or out is not None or overwrite:
        _restore_all(
            face, session, out, overwrite=overwrite, alone=whole and batch is None and item is None and not raw
        )
        return
    if batch is None:
        raise InvalidArgument(
            "restore needs a batch, or --all.",
            next=Advice("See the batches: {}", step("list_offloaded", session_id=session)),
        )
    if raw and face.as_json:
        raise InvalidArgument("--raw and --json exclude each other.", next="Use one of them.")
    restored = face.ask(lambda facade: _restored(facade, session, batch, item, raw=raw), make=False)
    if raw:
        say_bytes(restored[0].data)
    elif face.as_json:
        _say_blocks(restored)
    else:
        _say_texts(restored)


async def _restored(
    facade: Palimpsest, session: str, batch: str, item: str | None, *, raw: bool
) -> tuple[Restored, ...]:
    if item is not None or raw:
        found: tuple[Restored, ...] = (await facade.restore(session, batch, item, noted=False),)
    else:
        found = await facade.restore_batch(session, batch, noted=False)
    # An agent that ran this in a shell has our lines in its context, by which the copy is known again (L13).
    await facade.note_fetched(session, found, [], also=["\n".join(line for one in found for line in _lines(one))])
    return found


def _lines(one: Restored) -> tuple[str, str]:
    return plain(f"--- {masked(one.item_id)}, {counted(len(one.text), 'character')}, sha256 {one.sha256}"), plain(
        one.text
    )


def _say_blocks(restored: Sequence[Restored]) -> None:
    first = restored[0]
    items: list[dict[str, Any]] = [
        {"item_id": masked(one.item_id), "sha256": one.sha256, "content": one.content} for one in restored
    ]
    ids = {"session_id": masked(first.session_id), "batch_id": first.batch_id}
    say_json({**ids, "items": items}, exact=True)


def _say_texts(restored: Sequence[Restored]) -> None:
    for one in restored:
        say(*_lines(one), exact=True)
    if any(plain(one.text) != one.text for one in restored):
        sys.stderr.write("note: characters that a terminal would act on are not shown; --raw gives the exact bytes\n")


def _restore_all(face: Face, session: str, out: Path | None, *, overwrite: bool, alone: bool) -> None:
    from ..hosts.pieces import messages_of

    if not alone or out is None:
        raise InvalidArgument(
            "--all goes with --out FILE, and without batch, --item and --raw.",
            next=Advice("{}", step("restore_all", session_id=session, out=free_name(session, "original"))),
        )
    target = out_file(face, out, overwrite=overwrite, session=session)
    value = face.ask(lambda facade: facade.restore_all(session), make=False)
    if target is not None:
        target.write(json_bytes(value))
    number = len(messages_of(value) or value)
    if not said_as_json(face, {"messages": number, "out": str(out)}):
        say(f"{counted(number, 'message')} written to {out}, equal to what the last compaction was given")


@click.command()
@click.argument("session", type=SessionName())
@click.option(
    "--pass", "number", type=click.IntRange(min=1), metavar="N", help="Which pass, from 1; default: the newest."
)
@shared_options
@pass_face
def undo(face: Face, session: str, number: int | None) -> None:
    """One step back: what the newest pass over SESSION replaced (or pass N) stands in its context again.

    Digests and originals stay in the archive; later passes leave these items alone for a few answers.
    """
    done = face.ask(lambda facade: facade.undo(session, number), make=False)
    if said_as_json(face, done):
        return
    say(
        f"pass {done.number} of {done.handle} is taken back: {counted(len(done.batch_ids), 'batch')} of "
        f"{counted(len(done.item_ids), 'item')}, {counted(done.tokens, 'token')} more in the context"
    )
    say(f"apply: {face.worded(done.how)}")


@click.command()
@click.argument("session", type=SessionName())
@click.argument("item", type=ItemName())
@click.option("--off", is_flag=True, help="Take the pin off again.")
@shared_options
@pass_face
def pin(face: Face, session: str, item: str, off: bool) -> None:
    """Keep ITEM of SESSION whole in every later pass."""
    pins, unpins = ((), (item,)) if off else ((item,), ())
    view = face.ask(lambda facade: facade.show_context(session, pin=pins, unpin=unpins, rows=slice(0)), make=False)
    if not said_as_json(
        face, {"session_id": view.session_id, "handle": view.handle, "item_id": item, "pinned": not off}
    ):
        say(f"{item} is {'no longer pinned' if off else 'pinned'} in {view.handle}")
