"""`view`: the store in a browser, or in one file to share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..models.text import counted
from .face import Face, SessionName, pass_face, shared_options
from .screen import on_terminal, out_file, out_options, said_as_json, say

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest
    from ..web.answers import Answers


@click.command()
@click.argument("session", type=SessionName(), required=False)
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Port on 127.0.0.1; default: a free one.")
@click.option(
    "--no-browser", is_flag=True, help="Only print the address; otherwise, on a terminal, the browser opens too."
)
@out_options("Write one masked HTML file instead, to share or to keep; of SESSION alone if one is named.")
@shared_options
@pass_face
def view(face: Face, session: str | None, port: int, no_browser: bool, out: Path | None, overwrite: bool) -> int | None:
    """Look into the store, or into SESSION, with a browser: until Ctrl-C.

    The page shows what fills each window, every original beside its digest, every pass with its cost, and searches the
    archive. It is served on this machine alone, under an address that nobody can guess; only its buttons change
    anything: restore, put back, undo a pass, pin.
    """
    target = out_file(face, out, overwrite=overwrite, session=session or "")
    if target is not None:
        html, shown = face.ask(lambda facade: _stored(facade, session), make=False)
        target.write(html.encode("utf-8", "backslashreplace"))
        _say_written(face, out, shown)
        return None
    return until_interrupted(
        face, lambda facade: _serve(face, facade, session, port, browser=not no_browser), make=False
    )


def _say_written(face: Face, out: Path | None, shown: int) -> None:
    if not said_as_json(face, {"sessions": shown, "out": str(out)}):
        say(f"{counted(shown, 'session')} written to {out}: one file, masked, opens in any browser without a network")


async def _serve(face: Face, facade: Palimpsest, session: str | None, port: int, *, browser: bool) -> None:
    import secrets

    from ..web.answers import Answers
    from ..web.app import address_of, app, bound, local_server

    token = secrets.token_urlsafe(24)
    place = f"#/s/{(await facade.session(session)).handle}" if session else ""
    page = app(Answers(facade), token, home=face.home or "")
    with bound(port) as listening:
        url = f"{address_of(listening)}/{token}/{place}"
        say_address(face, {"url": url}, "open it in a browser on this machine; Ctrl-C ends it")
        if browser and on_terminal() and not face.as_json:
            import webbrowser

            webbrowser.open(url)
        await local_server(page).serve(sockets=[listening])


def say_address(face: Face, answer: dict[str, str], note: str) -> None:
    """Print where a server listens before it does: the URL alone, or all of the answer as JSON.

    Args:
        answer: with its `url`.
        note: for people, on standard error.
    """
    if not said_as_json(face, answer, exact=True):
        say(answer["url"], exact=True)
        sys.stderr.write(note + "\n")
    sys.stdout.flush()


def until_interrupted(face: Face, served: Callable[[Palimpsest], Coroutine[Any, Any, None]], *, make: bool) -> int:
    """Serve from a store; Ctrl-C is how it ends."""
    try:
        face.ask(served, make=make, waits=False)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
    return 0


async def _stored(facade: Palimpsest, session: str | None) -> tuple[str, int]:
    from ..web.answers import Answers
    from ..web.app import shared_page

    answers = Answers(facade)
    store = await answers.store({})
    if session is not None:
        only = (await facade.session(session)).handle
        store = {**store, "sessions": [one for one in store["sessions"] if one["handle"] == only], "figures": []}
    found: dict[str, Any] = {"store": store}
    for one in store["sessions"]:
        if not one["note"]:
            await _store_session(answers, one["handle"], found)
    if session is None:
        found["experience"] = await answers.experience({})
        found["handoffs"] = await answers.handoffs({})
    return shared_page(found), len(store["sessions"])


_UNTOUCHED = "!'()*~"
"""Characters that `encodeURIComponent` leaves as they are, beside letters, digits and `-_.`."""


async def _store_session(answers: Answers, handle: str, found: dict[str, Any]) -> None:
    from urllib.parse import quote

    told = found[f"session?session={handle}"] = await answers.session({"session": handle})
    offset = 0
    while offset == 0 or offset < told["items"]:
        rows = await answers.items({"session": handle, "offset": str(offset)})
        found[f"items?session={handle}&offset={offset}"] = rows
        for row in rows["items"]:
            key = f"item?session={handle}&item={quote(row['item_id'], safe=_UNTOUCHED)}"
            found[key] = await answers.item({"session": handle, "item": row["item_id"]})
        offset += max(1, len(rows["items"]))
