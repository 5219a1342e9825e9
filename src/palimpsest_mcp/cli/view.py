"""`view`: the store in a browser, or in one file to share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .face import Face, SessionName, pass_face, shared_options
from .screen import on_terminal, out_file, out_options

if TYPE_CHECKING:
    import socket

    from ..core.palimpsest import Palimpsest
    from ..web.answers import Answers


@click.command()
@click.argument("session", type=SessionName(), required=False)
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Of 127.0.0.1; default: one that is free.")
@click.option("--no-browser", is_flag=True, help="Only print the address; else a terminal opens the browser, too.")
@out_options("Write one HTML file instead, masked and complete, to share or to keep; with SESSION of it alone.")
@shared_options
@pass_face
def view(face: Face, session: str | None, port: int, no_browser: bool, out: Path | None, overwrite: bool) -> int | None:
    """Look into the store, or into SESSION, with a browser: until Ctrl-C.

    The page shows what fills each window, every original beside its digest, every pass with its cost, and searches the
    archive. It is served on this machine alone, under an address that nobody can guess; it changes nothing but what its
    buttons say: restore, put back, undo a pass, pin.
    """
    target = out_file(face, out, overwrite=overwrite, session=session or "")
    if target is not None:
        html, shown = face.ask(lambda facade: _stored(facade, session), make=False)
        target.write(html.encode("utf-8", "backslashreplace"))
        _say_written(face, out, shown)
        return None
    try:
        face.ask(lambda facade: _serve(face, facade, session, port, browser=not no_browser), make=False, waits=False)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
    return 0


def _say_written(face: Face, out: Path | None, shown: int) -> None:
    from ..models.text import counted
    from .screen import say, say_json

    if face.as_json:
        say_json({"sessions": shown, "out": str(out)})
    else:
        say(f"{counted(shown, 'session')} written to {out}: one file, masked, opens in any browser without a network")


async def _serve(face: Face, facade: Palimpsest, session: str | None, port: int, *, browser: bool) -> None:
    import secrets

    import uvicorn

    from ..web.answers import Answers
    from ..web.app import app
    from .screen import say, say_json

    token = secrets.token_urlsafe(24)
    place = f"#/s/{(await facade.session(session)).handle}" if session else ""
    config = uvicorn.Config(
        app(Answers(facade), token, home=face.home or ""),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=1,
    )
    with bound(port) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/{token}/{place}"
        if face.as_json:
            say_json({"url": url}, exact=True)
        else:
            say(url, exact=True)
            sys.stderr.write("open it in a browser on this machine; Ctrl-C ends it\n")
        sys.stdout.flush()
        if browser and on_terminal() and not face.as_json:
            import webbrowser

            webbrowser.open(url)
        await uvicorn.Server(config).serve(sockets=[listening])


def bound(port: int) -> socket.socket:
    """A socket at a port of 127.0.0.1; 0 takes any that is free.

    Raises:
        InvalidArgument: it is taken.
    """
    import socket

    from ..errors import InvalidArgument

    try:
        one = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise InvalidArgument(
            f"Port {port} of 127.0.0.1 cannot be used: {error.strerror}.", next="Leave --port out, or name another one."
        ) from None
    # A socket that says it speaks TCP sends at once; else a second write waits 40 ms for the first's acknowledgement.
    return socket.socket(one.family, one.type, socket.IPPROTO_TCP, fileno=one.detach())


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
