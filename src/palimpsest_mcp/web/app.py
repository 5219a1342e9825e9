"""The routes of the page: on loopback, under a random token, for the page's own origin only."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import socket
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import InvalidArgument, PalimpsestError
from ..models.advice import in_form
from .answers import Answer, Answers

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
DATA = '<script type="application/json" id="stored"></script>'
"""Where a file to share has its answers."""
MOST_BODY = 64 * 1024
"""Bytes of what the page may send."""


@cache
def page() -> str:
    """The page, as it stands in the package."""
    return files("palimpsest_mcp.web").joinpath("page.html").read_text("utf-8")


@cache
def policy() -> str:
    """What the page may do: run its own script and style, ask its own server, and nothing else."""
    html = page()
    scripts = " ".join(_hash(one) for one in re.findall(r"<script>(.*?)</script>", html, re.DOTALL))
    styles = " ".join(_hash(one) for one in re.findall(r"<style>(.*?)</style>", html, re.DOTALL))
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def app(answers: Answers, token: str, *, home: str = "") -> ASGIApp:
    """The page's server.

    Args:
        token: the first part of every path; who does not know it is told nothing.
        home: as the user typed it, for the commands that errors name.
    """

    def show(request: Request) -> Response:
        return HTMLResponse(page())

    routes = [Route("/{token}/", show)]
    routes += [Route(f"/{{token}}/api/{name}", _read(answers, one, home)) for name, one in answers.reads.items()]
    routes += [
        Route(f"/{{token}}/api/{name}", _write(answers, one, home), methods=["POST"])
        for name, one in answers.writes.items()
    ]
    return _Guard(Starlette(routes=routes), token)


class _Guard:
    """Lets only the page itself through, and says on every answer what a browser may do with it."""

    def __init__(self, inner: ASGIApp, token: str) -> None:
        self._inner, self._token = inner, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_headers()]
            await send(message)

        refused = self._refusal(Request(scope))
        await (refused or self._inner)(scope, receive, with_headers)

    def _refusal(self, request: Request) -> Response | None:
        """Host first (a name made to point here is none of ours), then token, then where a change comes from."""
        host = request.headers.get("host", "")
        if re.sub(r":[0-9]{1,5}$", "", host) not in LOOPBACK:
            return PlainTextResponse("This page is asked on loopback only.", 421)
        given = request.url.path.split("/")[1:2]
        if not given or not secrets.compare_digest(given[0].encode(), self._token.encode()):
            return PlainTextResponse("Not found. The address with its token was printed by palimpsest-mcp view.", 404)
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return PlainTextResponse("Asked from another page.", 403)
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return PlainTextResponse("Asked from another page.", 403)
        if request.method == "POST" and request.headers.get("content-type") != "application/json":
            return PlainTextResponse("A change is asked for as JSON.", 415)
        return None


@cache
def _headers() -> tuple[tuple[bytes, bytes], ...]:
    said = {
        "content-security-policy": f"{policy()}; frame-ancestors 'none'",
        "cache-control": "no-store",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
    }
    return tuple((name.encode(), value.encode()) for name, value in said.items())


def _read(answers: Answers, answer: Answer, home: str) -> Callable[[Request], Any]:
    async def read(request: Request) -> Response:
        return await _answered(answers, answer, dict(request.query_params), home)

    return read


def _write(answers: Answers, answer: Answer, home: str) -> Callable[[Request], Any]:
    async def write(request: Request) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BODY:
                return _error("invalid_argument", "That is too long.", "Load the page anew.", 413)
        try:
            asked: dict[str, Any] = json.loads(body)
            texts = {str(name): str(value) for name, value in asked.items()}
        except (ValueError, AttributeError, RecursionError):
            return _error("invalid_argument", "That is no JSON object.", "Load the page anew.", 400)
        return await _answered(answers, answer, texts, home)

    return write


async def _answered(answers: Answers, answer: Answer, asked: dict[str, str], home: str) -> Response:
    try:
        # ASCII, as `--json` prints it: half a surrogate pair in a stored text must not cost an answer.
        return Response(json.dumps(await answer(asked)), media_type="application/json")
    except PalimpsestError as error:
        message, next = answers.masked(error.message), answers.masked(in_form(error.next, "command", home))
        return _error(error.code, message, next, 400)


def _error(code: str, message: str, next: str, status: int) -> Response:
    return JSONResponse({"code": code, "message": message, "next": next}, status)


def shared_page(stored: dict[str, Any]) -> str:
    """The page as one file that asks nobody: `stored` has its answers, by route and what it asks."""
    data = json.dumps(stored).replace("<", "\\u003c").replace("&", "\\u0026")
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
    html = page().replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{meta}', 1)
    return html.replace(DATA, DATA.replace("></", f">{data}</"), 1)


def hosted_page() -> str:
    """The page for a frame of a host, which carries what it asks to the MCP server."""
    return page().replace(DATA, DATA.replace("></", ' data-from="host"></'), 1)


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
