"""`proxy`: a thin gateway to a provider, for programs that have a base URL to set and no other seam."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from .face import Face, pass_face, shared_options
from .view import say_address, until_interrupted

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest

PORT = 8322


@click.command()
@click.option("--to", "upstream", metavar="URL", required=True, help="The provider, such as https://api.openai.com.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True, help="Port on 127.0.0.1; 0: a free one."
)
@click.option("--window", metavar="TOKENS", type=click.IntRange(min=1), help="Window of a model that we do not know.")
@click.option(
    "--thinking",
    type=click.Choice(["refuse", "drop"]),
    default="refuse",
    show_default=True,
    help="For models that bind thinking to all before it: leave their lists alone, or leave that thinking out.",
)
@shared_options
@pass_face
def proxy(face: Face, upstream: str, port: int, window: int | None, thinking: str) -> int:
    """Forward requests to a provider, with digests in the place of older results once a window is nearly full.

    Set a program's base URL to the address that is printed. Requests pass through byte for byte until a pass changes
    one, and answers always do. Only this machine can reach it; keys are passed on, and neither kept nor logged.

    Not for Claude Code: its plugin compacts in the client itself, which then counts its window, its cache and its own
    compaction by what it really sends. Behind a gateway it would keep counting what has left.
    """
    from ..web.gateway import checked_upstream

    url = checked_upstream(upstream)
    return until_interrupted(face, lambda facade: _serve(face, facade, url, port, window, thinking), make=True)


def _log(text: str) -> None:
    sys.stderr.write(text + "\n")


async def _serve(face: Face, facade: Palimpsest, upstream: str, port: int, window: int | None, thinking: str) -> None:
    from ..web.gateway import gateway_app
    from ..web.loopback import address_of, bound, local_server

    gateway = facade.gateway(window_tokens=window, thinking=thinking)
    with bound(port) as listening:
        note = f"goes on to {upstream}; set it as your program's base URL; Ctrl-C ends it"
        say_address(face, {"url": address_of(listening), "to": upstream}, note)
        await local_server(gateway_app(gateway, upstream, _log)).serve(sockets=[listening])
