"""Serves one client on stdin and stdout."""

from __future__ import annotations

import sys
from contextlib import AbstractAsyncContextManager
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import TYPE_CHECKING

from .build import build_server

if TYPE_CHECKING:
    from ..app import Palimpsest

HAND_OVER_S = 0.001
"""After which a thread that works out a digest lets the others go on: an answer takes several such turns."""


def serve_stdio(home: str | None, host: str = "") -> None:
    """Serve until stdin ends. Nothing but the protocol goes to stdout; logs go to stderr.

    Args:
        home: root of the store; None: from the environment, else the platform's data folder.
        host: the host whose hooks call this server; empty for none.
    """

    def open_facade() -> AbstractAsyncContextManager[Palimpsest]:
        from ..app import Palimpsest

        return Palimpsest.open(home, attached=host)

    sys.setswitchinterval(HAND_OVER_S)
    build_server(open_facade, version=_version(), hooks=bool(host)).run("stdio")


def _version() -> str:
    try:
        return installed("palimpsest-mcp")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return ""
