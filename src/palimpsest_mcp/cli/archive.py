"""`show`, `list`, `search`, `restore`, `pin`: what a session has, and what was taken out of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidArgument
from ..policy.gates import UNSURE
from .face import Face, pass_face, shared_options

if TYPE_CHECKING:
    from ..app import Palimpsest
    from ..models.records import OffloadRecord
    from ..models.reports import BatchView, ContextView, ItemView, Restored


@click.command()
@click.argument("session")
@shared_options
@pass_face
def show(face: Face, session: str) -> None:
    """What SESSION (id or handle) holds now: items, sizes, why they stay, what was replaced."""
    import msgspec

    from .screen import say_json

    view = face.ask(lambda facade: facade.show_context(session))
    if face.as_json:
        say_json(msgspec.to_builtins(view))
    else:
        _say_context(view)


def _say_context(view: ContextView) -> None:
    from .numbers import counted, fill, sources
    from .screen import say, say_bar, say_fields, say_table

    say_fields([("session", f"{view.session_id} (handle {view.handle})")])
    say_bar("window ", view.usage.ratio, f"{fill(view.usage)}, zone {view.usage.zone}: {view.usage.action}")
    say(f"         {sources(view.usage)}")
    rows = [
        (
            item.item_id,
            item.kind,
            item.tool_name,
            f"{item.tokens:,}",
            item.batch_id or item.state,
            _why(item),
            item.preview[:60],
        )
        for item in view.items
    ]
    say_table(("item", "kind", "tool", "tokens", "state", "why", "begins with"), rows, numbers=(3,))
    for line in view.citations:
        say(f"citation {line}")
    say(f"{counted(len(view.items), 'item')}, {counted(len(view.batches), 'batch')} offloaded")


def _why(item: ItemView) -> str:
    if item.state != "live":
        return f"{item.gate}: {item.evidence}" if item.gate == "forget" else ""
    unsure = item.gate == "preserve" and item.evidence == UNSURE
    gate = "" if not item.gate else item.gate if unsure else f"{item.gate}: {item.evidence}"
    if item.protected == item.gate:
        return gate
    return ", ".join(dict.fromkeys(filter(None, (item.protected, "pinned" if item.pinned else "", gate))))


@click.command("list")
@click.argument("session")
@click.option("--full", is_flag=True, help="Whole records with originals as JSON; without --json: the digests.")
@shared_options
@pass_face
def list_batches(face: Face, session: str, full: bool) -> None:
    """Batches that were offloaded from SESSION: when, why, what, how big."""
    import msgspec

    from ..models.reports import counts_to_json
    from .screen import say_json

    if face.as_json and full:
        say_json({"batches": msgspec.to_builtins(face.ask(lambda facade: _records(facade, session)))})
        return
    batches = face.ask(lambda facade: facade.list_offloaded(session))
    if face.as_json:
        rows = [{**msgspec.to_builtins(one), "specifics": counts_to_json(one.specifics)} for one in batches]
        say_json({"batches": rows})
    else:
        _say_batches(batches, full=full)


async def _records(facade: Palimpsest, session: str) -> list[OffloadRecord]:
    batches = await facade.list_offloaded(session)
    return [
        await facade.record(session, batch.batch_id) for batch in batches if batch.state not in ("purged", "damaged")
    ]


def _say_batches(batches: Sequence[BatchView], *, full: bool) -> None:
    from .screen import say, say_table

    if not batches:
        say("nothing was offloaded from this session")
    rows = [
        (
            batch.batch_id,
            batch.ts[:16].replace("T", " "),
            batch.reason,
            ", ".join(f"{number} {kind}" for kind, number in batch.kinds.items()),
            f"{batch.original_tokens:,}",
            f"{batch.digest_tokens:,}",
            batch.state if batch.restorable else f"{batch.state}, not restorable",
        )
        for batch in batches
    ]
    say_table(("batch", "when", "why", "what", "tokens", "digest", "state"), rows, numbers=(4, 5))
    for batch in batches if full else ():
        say("", f"{batch.batch_id}: {', '.join(batch.item_ids)}", batch.digest)


@click.command()
@click.argument("query")
@click.option("--session", help="Only in this session; default: in all.")
@click.option("--limit", type=click.IntRange(min=1), default=10, show_default=True, help="At most this many hits.")
@shared_options
@pass_face
def search(face: Face, query: str, session: str | None, limit: int) -> None:
    """Find the words of QUERY in what was offloaded; quotes inside it make a phrase."""
    import msgspec

    from .screen import say, say_json

    hits = face.ask(lambda facade: facade.search_offloaded(query, session_id=session, limit=limit))
    if face.as_json:
        say_json({"hits": msgspec.to_builtins(hits)})
        return
    for hit in hits:
        say(f"palimpsest-mcp restore {hit.handle} {hit.batch_id} --item {hit.item_id}", f"    {hit.snippet}")
    if not hits:
        say("nothing found; try fewer or other words")


@click.command()
@click.argument("session")
@click.argument("batch", required=False)
@click.option("--item", help="One item of the batch, by its id or call id.")
@click.option("--raw", is_flag=True, help="Exactly the original bytes and nothing else.")
@click.option("--all", "whole", is_flag=True, help="Undo every pass: the messages as they came in; needs --out.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Where --all writes the messages.")
@shared_options
@pass_face
def restore(
    face: Face, session: str, batch: str | None, item: str | None, raw: bool, whole: bool, out: Path | None
) -> None:
    """Give the originals of BATCH of SESSION back, or with --all the whole input of its last compaction."""
    if whole or out is not None:
        _restore_all(face, session, out, alone=whole and batch is None and item is None and not raw)
        return
    if batch is None:
        raise InvalidArgument(
            "restore needs a batch, or --all.", next=f"See the batches: palimpsest-mcp list {session}."
        )
    if raw and face.as_json:
        raise InvalidArgument("--raw and --json exclude each other.", next="Use one of them.")
    restored = face.ask(lambda facade: _restored(facade, session, batch, item, raw=raw))
    if raw:
        from .screen import say_bytes

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
    from ..models.plain_text import plain

    return plain(f"--- {one.item_id}, {len(one.text):,} characters, sha256 {one.sha256}"), plain(one.text)


def _say_blocks(restored: Sequence[Restored]) -> None:
    from .screen import say_json

    first = restored[0]
    items: list[dict[str, Any]] = [
        {"item_id": one.item_id, "sha256": one.sha256, "content": one.content} for one in restored
    ]
    say_json({"session_id": first.session_id, "batch_id": first.batch_id, "items": items})


def _say_texts(restored: Sequence[Restored]) -> None:
    from ..models.plain_text import plain
    from .screen import say

    for one in restored:
        say(*_lines(one))
    if any(plain(one.text) != one.text for one in restored):
        sys.stderr.write("note: characters that a terminal would act on are not shown; --raw gives the exact bytes\n")


def _restore_all(face: Face, session: str, out: Path | None, *, alone: bool) -> None:
    from ..hosts.marks import messages_of
    from .out_file import check_out, write_json
    from .screen import say, say_json

    if not alone or out is None:
        raise InvalidArgument(
            "--all goes with --out FILE, and without batch, --item and --raw.",
            next=f"palimpsest-mcp restore {session} --all --out FILE",
        )
    check_out(out)
    value = face.ask(lambda facade: facade.restore_all(session))
    write_json(out, value)
    number = len(messages_of(value) or value)
    if face.as_json:
        say_json({"messages": number, "out": str(out)})
    else:
        say(f"{number} messages written to {out}, equal to the input of the last compaction")


@click.command()
@click.argument("session")
@click.argument("item")
@click.option("--off", is_flag=True, help="Take the pin off again.")
@shared_options
@pass_face
def pin(face: Face, session: str, item: str, off: bool) -> None:
    """Keep ITEM of SESSION whole in every later pass."""
    from .screen import say, say_json

    pins, unpins = ((), (item,)) if off else ((item,), ())
    view = face.ask(lambda facade: facade.show_context(session, pin=pins, unpin=unpins))
    if face.as_json:
        say_json({"session_id": view.session_id, "handle": view.handle, "item_id": item, "pinned": not off})
    else:
        say(f"{item} is {'no longer pinned' if off else 'pinned'} in {view.handle}")
