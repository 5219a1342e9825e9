"""`serve`: the MCP server, on a pipe or over HTTP."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from ..core.host_seam import ROWS
from ..errors import InvalidArgument
from ..models.host_table import HOSTS
from ..models.http import PORT, HttpOptions
from ..models.text import plain_line
from .face import Face, pass_face, shared_options

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
