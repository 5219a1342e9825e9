"""`proxy`: a thin gateway to a provider, for programs that have a base URL to set and no other seam."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from .face import Face, pass_face, shared_options

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest

PORT = 8322


@click.command()
@click.option("--to", "upstream", metavar="URL", required=True, help="The provider, such as https://api.openai.com.")
@click.option("--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True, help="Of 127.0.0.1; 0: any.")
@click.option("--window", metavar="TOKENS", type=click.IntRange(min=1), help="Of a model that the table does not know.")
@click.option(
    "--thinking",
    type=click.Choice(["refuse", "drop"]),
    default="refuse",
    show_default=True,
    help="Models that bind thinking to what stood before it: leave such a list alone, or leave that thinking out.",
)
@shared_options
@pass_face
def proxy(face: Face, upstream: str, port: int, window: int | None, thinking: str) -> int:
    """Forward requests to a provider, with digests in the place of older results once a window is nearly full.

    Set a program's base URL to the address that is printed. Requests go on byte for byte until a pass changed one, and
    answers always. Only this machine can reach it; keys are passed on, and neither kept nor logged.

    Not for Claude Code: its plugin compacts in the client itself, which then counts its window, its cache and its own
    compaction by what it really sends. Behind a gateway it would go on counting what left.
    """
    from ..web.gateway import checked_upstream

    url = checked_upstream(upstream)
    try:
        face.ask(lambda facade: _serve(face, facade, url, port, window, thinking), waits=False)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
    return 0


def _log(text: str) -> None:
    sys.stderr.write(text + "\n")


async def _serve(face: Face, facade: Palimpsest, upstream: str, port: int, window: int | None, thinking: str) -> None:
    import uvicorn

    from ..web.gateway import gateway_app
    from .screen import say, say_json
    from .view import bound

    gateway = facade.gateway(window_tokens=window, thinking=thinking)
    config = uvicorn.Config(
        gateway_app(gateway, upstream, _log),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=1,
    )
    with bound(port) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        if face.as_json:
            say_json({"url": address, "to": upstream}, exact=True)
        else:
            say(address, exact=True)
            sys.stderr.write(f"goes on to {upstream}; set it as your program's base URL; Ctrl-C ends it\n")
        sys.stdout.flush()
        await uvicorn.Server(config).serve(sockets=[listening])
