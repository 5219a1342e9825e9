"""A server for this machine alone: an application at a port of 127.0.0.1, until it is interrupted."""

from __future__ import annotations

import socket

import uvicorn
from starlette.types import ASGIApp

from ..errors import InvalidArgument


def bound(port: int) -> socket.socket:
    """A socket at a port of 127.0.0.1; 0 takes any that is free.

    Raises:
        InvalidArgument: it is taken.
    """
    try:
        one = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise InvalidArgument(
            f"Port {port} of 127.0.0.1 cannot be used: {error.strerror}.", next="Leave --port out, or name another one."
        ) from None
    # A socket that says it speaks TCP sends at once; else a second write waits 40 ms for the first's acknowledgement.
    return socket.socket(one.family, one.type, socket.IPPROTO_TCP, fileno=one.detach())


def address_of(listening: socket.socket) -> str:
    """The URL that a browser, or a program, finds it by."""
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


def local_server(app: ASGIApp) -> uvicorn.Server:
    """What serves an application. Requests are not logged, and no header names what answers."""
    return uvicorn.Server(
        uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, date_header=False, timeout_graceful_shutdown=1
        )
    )
