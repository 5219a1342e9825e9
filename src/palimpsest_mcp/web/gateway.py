"""The thin gateway: requests of a program on this machine go on to their provider, answers come back as they are."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ..core.gateway import Gateway
from ..errors import InvalidArgument
from ..models.tools import is_loopback

_HOP = frozenset(
    ("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "host")
)
"""Of one connection, not of the request."""
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
_WAIT = httpx2.Timeout(None, connect=30.0)
"""The program that asks has limits of its own: an answer may take as long as it lets it."""
Say = Callable[[str], None]


def checked_upstream(url: str) -> str:
    """The provider's base URL.

    Raises:
        InvalidArgument: it is none, or would send keys in the clear.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise InvalidArgument("The provider's address is no URL.", next="Such as https://api.anthropic.com.")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise InvalidArgument("Keys would travel unencrypted.", next="Give the provider's https address.")
    return url.rstrip("/")


def gateway_app(gateway: Gateway, upstream: str, say: Say) -> Starlette:
    """The application.

    Args:
        upstream: as `checked_upstream` gives it.
        say: gets a line for a request that was changed, or could not be; never a header, nor words of a request.
    """
    client = httpx2.AsyncClient(timeout=_WAIT, follow_redirects=False)
    said: set[str] = set()

    def say_once(text: str) -> None:
        if text not in said:
            said.add(text)
            say(text)

    async def forward(request: Request) -> Response:
        if not is_loopback(request.url.hostname or "") or "origin" in request.headers:
            return _refused(403, "only programs on this machine may ask here, and no web pages")
        if "upgrade" in request.headers:
            return _refused(426, "this is plain HTTP; switch the program's web sockets off")
        body = await request.body()
        path = request.scope["raw_path"].decode("ascii").split("?", 1)[0]
        if request.method == "POST" and "content-encoding" not in request.headers:
            passed = await gateway.request(request.url.path, request.headers, body)
            if passed.why:
                say_once(f"untouched: {passed.why}")
            elif passed.body is not body:
                say_once(
                    f"digests stand in session {passed.session}" if passed.session else "digests stand in a session"
                )
            body = passed.body
        headers = [(name, value) for name, value in request.headers.raw if name.decode("latin-1") not in _HOP]
        headers = [(name, value) for name, value in headers if name != b"content-length"]
        query = request.scope["query_string"]
        url = httpx2.URL(f"{upstream}{path}{'?' + query.decode('ascii') if query else ''}")
        host = (b"host", url.netloc)
        length = [(b"content-length", str(len(body)).encode())] if body or "content-length" in request.headers else []
        asked = httpx2.Request(request.method, url, headers=[host, *headers, *length], content=body or None)
        try:
            answer = await client.send(asked, stream=True)
        except httpx2.HTTPError as error:
            return _refused(502, f"the provider could not be reached ({type(error).__name__})")
        response = StreamingResponse(_pieces(answer), status_code=answer.status_code)
        response.raw_headers = [
            (name.lower(), value) for name, value in answer.headers.raw if name.decode("latin-1").lower() not in _HOP
        ]
        return response

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await client.aclose()

    return Starlette(routes=[Route("/{path:path}", forward, methods=_METHODS)], lifespan=lifespan)


async def _pieces(answer: httpx2.Response) -> AsyncGenerator[bytes]:
    """As they come, in the coding that they have."""
    try:
        async for piece in answer.aiter_raw():
            yield piece
    finally:
        await answer.aclose()


def _refused(status: int, why: str) -> Response:
    error = {"type": "error", "error": {"type": "palimpsest_proxy", "message": f"palimpsest-mcp proxy: {why}"}}
    return JSONResponse(error, status_code=status)
