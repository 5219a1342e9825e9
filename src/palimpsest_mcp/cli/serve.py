"""`serve`: the MCP server, on a pipe or over HTTP.

`view`: the store in a browser, or in one file to share.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ..core.host_seam import ROWS
from ..errors import InvalidArgument
from ..models.host_table import HOSTS
from ..models.text import counted, plain_line
from ..models.tools import PORT, HttpOptions
from .face import Face, SessionName, pass_face, shared_options
from .screen import on_terminal, out_file, out_options, said_as_json, say

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest
    from ..web.answers import Answers


_WITH_HOOKS = [name for name, row in ROWS.items() if row.quick is not None]
_HOSTS = [row.name for row in HOSTS.values() if row.attached]


@click.command()
@click.option("--host", type=click.Choice(_HOSTS), help="Also answer this host's hooks: what its plugin starts.")
@click.option(
    "--only-session", metavar="SESSION", help="Answer only for this session (id or handle), and its parents'."
)
@click.option(
    "--http",
    metavar="[ADDRESS:PORT]",
    is_flag=False,
    flag_value=f"127.0.0.1:{PORT}",
    help=f"Serve over Streamable HTTP; without a value at 127.0.0.1:{PORT}, for this machine only.",
)
@click.option("--tokens", metavar="FILE", default="", help="HTTP: who may call, a line NAME TOKEN for each.")
@click.option("--oauth-issuer", "issuer", metavar="URL", default="", help="HTTP: take this issuer's access tokens.")
@click.option("--oauth-scope", "scopes", metavar="SCOPE", multiple=True, help="HTTP: what such a token must allow.")
@click.option("--public-url", metavar="URL", default="", help="HTTP: where clients reach it, with /mcp.")
@click.option(
    "--allow-host", "hosts", metavar="NAME", multiple=True, help="HTTP: a further name of this server (NAME:*, too)."
)
@click.option(
    "--allow-origin",
    "origins",
    metavar="ORIGIN",
    multiple=True,
    help="HTTP: a further origin of web pages that may call.",
)
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="HTTP: processes.")
@click.option(
    "--rate",
    type=click.FloatRange(min=0),
    help="HTTP: requests per second and caller [default: 100 with tokens; 0: any].",
)
@click.option(
    "--time-limit",
    "time_limit_s",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    help="HTTP: seconds after which a call is stopped.",
)
@click.option(
    "--max-body", type=click.IntRange(1, 1024), default=16, show_default=True, help="HTTP: MiB of one request."
)
@click.option("--tls-cert", metavar="FILE", default="", help="HTTP: certificate, as PEM.")
@click.option("--tls-key", metavar="FILE", default="", help="HTTP: its key, as PEM.")
@click.option(
    "--drain",
    "drain_s",
    type=click.FloatRange(0, 3600),
    default=0.0,
    show_default=True,
    help="HTTP: seconds after SIGTERM in which a balancer is told, and calls are still answered.",
)
@click.option(
    "--tools",
    type=click.Choice(["all", "core"]),
    default="all",
    show_default=True,
    help="core: nine tools with the arguments that most work needs, for half the tokens.",
)
@shared_options
@click.pass_context
def serve(
    context: click.Context, host: str | None, only_session: str | None, http: str | None, tools: str, **options: Any
) -> int:
    """Run the MCP server on stdin and stdout until stdin ends (0) or Ctrl-C (130), or over HTTP (--http).

    Register it in Claude Code by: claude mcp add palimpsest -- palimpsest-mcp
    """
    face = context.ensure_object(Face)
    if http is None:
        flags = {one.name: one.opts[0] for one in context.command.params}
        given = [flags[name] for name in options if context.get_parameter_source(name) == ParameterSource.COMMANDLINE]
        if given:
            raise InvalidArgument(f"{given[0]} is for HTTP.", next="Add --http, or leave it out.")
        return face.serve(face.home, host or "", only_session or "", None, tools == "core")
    if host:
        raise InvalidArgument("A host's hooks call a server on a pipe.", next="Leave out --host, or --http.")
    if tools != "all":
        raise InvalidArgument("Over HTTP all tools are listed.", next="Leave out --tools, or --http.")
    address, port = _address(http)
    if options["rate"] is None:
        options["rate"] = _RATE if options["tokens"] or options["issuer"] else 0.0
    options["max_body"] <<= 20
    chosen = HttpOptions(address=address, port=port, **options)
    return face.serve(face.home, "", only_session or "", chosen, False)


_RATE = 100.0


def _address(text: str) -> tuple[str, int]:
    """`127.0.0.1:8321`, `[::1]:8321`, `:8321` or `8321`.

    Raises:
        InvalidArgument: it is none of these.
    """
    name, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535 or (":" in name and name[:1] + name[-1:] != "[]"):
        raise InvalidArgument(f"--http {plain_line(text, 80)} is no address and port.", next="Such as 127.0.0.1:8321.")
    return name.strip("[]") or "127.0.0.1", int(port)


# `hook`: one event of a host's hooks, for those that a server cannot answer.


@click.command()
@click.argument("event", required=False, default="")
@click.option("--host", type=click.Choice(_WITH_HOOKS), default=_WITH_HOOKS[0], help="Whose hook it is.")
@shared_options
@pass_face
def hook(face: Face, event: str, host: str) -> int:
    """Answer one event of a host's hooks: its JSON on stdin, the answer on stdout. The plugin calls it.

    EVENT is the hook's name, such as SessionStart; without it the JSON names it. The exit status is always 0: what goes
    wrong is kept for `doctor` and never breaks the client.
    """
    from .hook import answer_hook

    return answer_hook(event, face.home, host)


# `statusline`: one line for Claude Code's status bar.


@click.command()
@shared_options
@pass_face
def statusline(face: Face) -> int:
    """Print one line for Claude Code's status bar, from the JSON that it gives on stdin."""
    from .statusline import main

    return main(face.home)


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
