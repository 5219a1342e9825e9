"""The server over Streamable HTTP: one application of the SDK's parts, and the processes that run it.

A request over HTTP on its way in: its body, whose call it is, how often and how long.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import math
import os
import re
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

import anyio
import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, ErrorData
from pydantic import AnyHttpUrl, BaseModel, ConfigDict, TypeAdapter
from pydantic_core import PydanticSerializationError, to_json
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.supervisors.multiprocess import Multiprocess

from ..errors import InvalidArgument, PalimpsestError
from ..models.tools import HEALTH, LIVE, PATH, HttpOptions
from .access import Access, principal_of
from .lifespan import OpenOnFirstUse, caller
from .server import (
    GRACE_S,
    INTERRUPTED,
    build_server,
    installed_version,
    let_answers_through,
    library_log_level,
)
from .transport import Refusal, read_line

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest


_BODY_S = 30.0
"""A client has so long to send the body of a request."""
_HALF = re.compile("[\ud800-\udfff]")
_HALVES = "palimpsest.halves"
"""In the scope of a request whose texts hold halves of surrogate pairs: what marks them, for `_per_call`."""


def refusal(status: int, code: int, message: str, **headers: str) -> Response:
    """The answer to what never became a message."""
    said = Refusal(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message))
    return _answer(status, said, **headers)


def _answer(status: int, said: Refusal, **headers: str) -> Response:
    value = said.model_dump(mode="json", by_alias=True, exclude_unset=True)
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return JSONResponse(_whole(value), status_code=status, headers=named)


class ReadableBody:
    """Reads the body of a POST, and hands on what the SDK can read; everything else is answered here."""

    def __init__(self, app: ASGIApp, most_bytes: int, security: TransportSecuritySettings) -> None:
        self._app, self._most, self._security = app, most_bytes, TransportSecurityMiddleware(security)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self._app(scope, receive, send)
        if (refused := await self._security.validate_request(Request(scope), is_post=True)) is not None:
            return await refused(scope, receive, send)  # before anything of a stranger is read
        body: bytes | None = None
        try:
            with anyio.fail_after(_BODY_S):
                body = await self._body(scope, receive)
        except TimeoutError:
            answer = refusal(408, INVALID_REQUEST, f"The body did not come within {_BODY_S:.0f} seconds.")
            return await answer(scope, receive, send)
        if body is None:
            said = (
                f"The body is longer than {self._most} bytes. Send less at once, or start the server with --max-body."
            )
            return await refusal(413, INVALID_REQUEST, said)(scope, receive, send)
        text = body.decode("utf-8", "replace")
        found = read_line(text)
        if found is None and not text.strip():
            found = Refusal(jsonrpc="2.0", id=None, error=ErrorData(code=PARSE_ERROR, message="The body is empty."))
        if isinstance(found, Refusal):
            return await _answer(400, found)(scope, receive, send)
        body = _with_marks(text, scope) if "\\ud" in text.lower() else text.encode()
        await self._app(scope, _replay(body, receive), send)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The whole of it; None when it is too long."""
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > self._most:
            return None
        parts = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":  # the client is gone, and nobody hears the answer
                return bytes(parts)
            parts += message.get("body", b"")
            if len(parts) > self._most:
                return None
            if not message.get("more_body", False):
                return bytes(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """What gives a body that was read, and then what the client does next."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message


def _with_marks(text: str, scope: Scope) -> bytes:
    """The message with marks where its params hold halves of surrogate pairs: the SDK's parser refuses those.

    They are texts that clients written in JavaScript cut in the middle of a character; stdio takes them as they are.
    """
    value = json.loads(text)
    if not isinstance(value, dict) or _HALF.search(json.dumps(value, ensure_ascii=False)) is None:
        return text.encode()
    mark = scope[_HALVES] = f"\ue000{secrets.token_hex(8)}"
    fields = cast("dict[str, Any]", value)
    marked = {
        name: _mapped(one, lambda part: _HALF.sub(lambda half: f"{mark}{ord(half[0]):04x}", part))
        if name == "params"
        else _whole(one)
        for name, one in fields.items()
    }
    return json.dumps(marked).encode()


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """The same value with every text in it changed, names too. As deep as a message that could be read."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_mapped(one, change) for one in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        return {_mapped(key, change): _mapped(one, change) for key, one in cast("Mapping[Any, Any]", value).items()}
    return value


def _whole(value: Any) -> Any:
    """The same with U+FFFD for every half of a pair, as on stdio."""
    return _mapped(value, lambda text: _HALF.sub("\ufffd", text))


_ENDLESS = frozenset({"subscriptions/listen"})


@dataclass(frozen=True, slots=True)
class PerCall:
    """Middleware of the server, for requests that came over HTTP."""

    time_limit_s: float

    async def __call__(self, ctx: ServerRequestContext[OpenOnFirstUse, Any], call_next: CallNext) -> HandlerResult:
        request = ctx.request
        scope: Scope = request.scope if isinstance(request, Request) else {}
        if mark := scope.get(_HALVES):
            halves = re.compile(re.escape(mark) + "([0-9a-f]{4})")
            given = _mapped(ctx.params, lambda text: halves.sub(lambda half: chr(int(half[1], 16)), text))
            ctx = replace(ctx, params=given)
        set_before = caller.set(principal_of(scope.get("user")))
        limit = math.inf if ctx.method in _ENDLESS else self.time_limit_s
        try:
            with anyio.move_on_after(limit):
                return _sendable(await call_next(ctx))
        except MCPError as error:
            raise MCPError(error.error.code, _whole(error.error.message), _whole(error.error.data)) from None
        finally:
            caller.reset(set_before)
        raise MCPError(
            INTERNAL_ERROR,
            f"{ctx.method} took longer than {limit:g} seconds and was stopped; nothing that was acknowledged is lost. "
            "Ask for less at once, or start the server with a longer --time-limit.",
        )


def _sendable(result: HandlerResult) -> HandlerResult:
    """The result itself; where it holds half of a surrogate pair, the same with U+FFFD in its place."""
    try:
        to_json(result)
    except (UnicodeEncodeError, PydanticSerializationError):
        if isinstance(result, BaseModel):
            said = _whole(result.model_dump(by_alias=True, exclude_unset=True))
            return type(result).model_validate(said, by_name=False)
        return _whole(result)
    return result


class RateLimit:
    """So many requests a second for each principal, with five seconds' worth at once."""

    _WORTH_S = 5.0

    def __init__(self, app: ASGIApp, rate: float) -> None:
        self._app, self._rate = app, rate
        self._left: dict[str, tuple[float, float]] = {}
        """Principal -> requests left at a moment."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._rate and scope["type"] == "http" and (wait_s := self._wait(principal_of(scope.get("user")))):
            said = f"More than {self._rate:g} requests a second. Try again in {wait_s} s."
            return await refusal(429, INVALID_REQUEST, said, retry_after=str(wait_s))(scope, receive, send)
        await self._app(scope, receive, send)

    def _wait(self, principal: str) -> int:
        """0, or whole seconds after which there is room again."""
        now, most = time.monotonic(), max(1.0, self._rate * self._WORTH_S)
        left, at = self._left.get(principal, (most, now))
        left = min(most, left + (now - at) * self._rate)
        self._left[principal] = (left - 1 if left >= 1 else left, now)
        return 0 if left >= 1 else math.ceil((1 - left) / self._rate)


# The application.


_draining = threading.Event()
"""The process was told to end, and answers still."""


async def _live(_: Request) -> Response:
    """200 as long as the process answers at all."""
    return JSONResponse({"status": "ok"})


class Health:
    """Whether the next call should come here: the store can be opened, which is looked at again after five seconds, and
    the process does not end."""

    _FRESH_S = 5.0

    def __init__(self, home: str | None) -> None:
        self._home = home
        self._known: tuple[float, str] | None = None
        self._one_at_a_time = anyio.Lock()

    async def answer(self, _: Request) -> Response:
        """200 or 503; no more than a code is told to whoever asks."""
        if _draining.is_set():
            return JSONResponse({"status": "draining"}, 503)
        async with self._one_at_a_time:
            if self._known is None or time.monotonic() - self._known[0] > self._FRESH_S:
                self._known = (time.monotonic(), await self._code())
            code = self._known[1]
        return JSONResponse({"status": "error", "code": code} if code else {"status": "ok"}, 503 if code else 200)

    async def _code(self) -> str:
        from ..core.palimpsest import Palimpsest

        try:
            async with Palimpsest.open(self._home, make=False):
                return ""
        except PalimpsestError as error:
            return error.code


def _security(options: HttpOptions) -> TransportSecuritySettings:
    """Which Host and Origin are answered: a page that a browser shows must not reach a server on its machine."""
    hosts, origins = list(options.hosts), list(options.origins)
    if options.is_local:
        for name in ("127.0.0.1", "localhost", "[::1]"):
            hosts += [name, f"{name}:*"]
            origins += [f"http://{name}", f"http://{name}:*"]
    elif options.address not in ("0.0.0.0", "::"):
        name = f"[{options.address}]" if ":" in options.address else options.address
        hosts += [name, f"{name}:*"]
    if options.public_url:
        url = _URL.validate_python(options.public_url)
        name = str(url.host)
        hosts += [name, f"{name}:*"]
        origins += [f"{url.scheme}://{name}", f"{url.scheme}://{name}:*"]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


_URL = TypeAdapter(AnyHttpUrl, config=ConfigDict(url_preserve_empty_path=True))
"""Issuers are compared letter by letter (RFC 8414): no slash is added."""


def make_app(
    home: str | None, only_session: str, options: HttpOptions, state_key: bytes, shared: bool = False
) -> Starlette:
    """The application of one process.

    Args:
        shared: other machines serve the same store.
        state_key: 32 bytes that all processes share, since a client's next request may come to another one.

    Raises:
        InvalidArgument: tokens or URLs in the options are none.
    """
    let_answers_through()

    def open_facade() -> AbstractAsyncContextManager[Palimpsest]:
        from ..core.palimpsest import Palimpsest

        return Palimpsest.open(home, principal=caller.get(), only_session=only_session)

    server = build_server(
        open_facade, version=installed_version(), middleware=(PerCall(options.time_limit_s),), state_key=state_key
    )
    security = _security(options)
    manager = StreamableHTTPSessionManager(
        server.low_level,
        stateless=options.workers > 1 or shared,
        security_settings=security,
        max_request_body_size=options.max_body,
    )
    endpoint: ASGIApp = ReadableBody(StreamableHTTPASGIApp(manager), options.max_body, security)
    endpoint = RateLimit(endpoint, options.rate / options.workers)
    routes = [Route(HEALTH, Health(home).answer, methods=["GET"]), Route(LIVE, _live, methods=["GET"])]
    middleware: list[Middleware] = []
    if options.has_tokens:
        resource = _URL.validate_python(options.public_url) if options.issuer else None
        backend = BearerAuthBackend(Access(options), resource_server_url=resource)
        middleware = [Middleware(AuthenticationMiddleware, backend=backend), Middleware(AuthContextMiddleware)]
        metadata = build_resource_metadata_url(resource) if resource else None
        endpoint = RequireAuthMiddleware(endpoint, list(options.scopes), metadata)
        if resource:
            routes += create_protected_resource_routes(
                resource, [_URL.validate_python(options.issuer)], scopes_supported=list(options.scopes) or None
            )
    routes.append(Route(PATH, endpoint))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with manager.run():
            yield

    return Starlette(routes=routes, middleware=middleware, lifespan=lifespan)


# The processes.

_MOST_CONNECTIONS = 1_000
"""At once, a process; more are answered by 503."""
_STARTS_S = 60
"""A worker that does not answer for so long is killed; a busy machine needs ten seconds to start one, and in
uvicorn's own five it would start them for ever."""


def serve_http(home: str | None, only_session: str, options: HttpOptions) -> int:
    """Serve until SIGTERM (0) or an interrupt (130). One line on stderr says where.

    Raises:
        InvalidArgument: the address cannot be listened at, or needs a token or a host's name; or the tokens are none.
    """
    _checked(options)
    shared_key = asyncio.run(_shared_key(home))
    listening = _listen(options)
    state_key = shared_key or secrets.token_bytes(32)
    app = partial(make_app, home, only_session, options, state_key, bool(shared_key))
    config = uvicorn.Config(
        app,
        factory=True,
        workers=options.workers,
        log_config=None,
        log_level=library_log_level().lower(),
        access_log=False,
        proxy_headers=False,
        server_header=False,
        http="h11",  # another parser, where one is installed, would judge headers by other rules
        ws="none",
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=math.ceil(GRACE_S),
        timeout_worker_healthcheck=_STARTS_S,
        ssl_certfile=options.tls_cert or None,
        ssl_keyfile=options.tls_key or None,
    )
    if not options.tokens and not options.issuer:
        who = "for you alone: it listens on this machine only, and asks for no token"
    else:
        who = "for callers with a token"
    sys.stderr.write(f"Palimpsest serves MCP at {options.url(listening.getsockname()[1])}, {who}. Ctrl-C ends it.\n")
    sys.stderr.flush()
    with listening:
        return _run_many(config, listening) if options.workers > 1 else _run_one(config, listening, options)


async def _shared_key(home: str | None) -> bytes:
    """What all servers of a database seal with what a client keeps for them; empty where the store is a folder.

    Raises:
        StoreUnusable, StoreNewer, InvalidSettings: no call could be answered.
    """
    from ..core.upkeep import shared_secret

    secret = await shared_secret(home)
    return hmac.digest(secret, b"what clients keep for servers", "sha256") if secret else b""


def _checked(options: HttpOptions) -> None:
    if options.drain_s and options.workers > 1:
        raise InvalidArgument(
            "Several processes cannot drain as one.", next="Run more servers of one process in the place of --workers."
        )
    if not options.is_local and not options.has_tokens:
        raise InvalidArgument(
            f"At {options.address} others can reach the server, and whoever can may read every session.",
            next="Name who may call: --tokens FILE, or --oauth-issuer URL; or leave the address at 127.0.0.1.",
        )
    if options.address in ("0.0.0.0", "::") and not (options.hosts or options.public_url):
        raise InvalidArgument(
            f"{options.address} is every address of this machine, so the server cannot tell its own name.",
            next="Give the name that clients use: --allow-host NAME, or --public-url URL.",
        )
    if bool(options.tls_cert) != bool(options.tls_key):
        raise InvalidArgument("A certificate needs its key.", next="Give both, --tls-cert and --tls-key.")
    for path in filter(None, (options.tls_cert, options.tls_key)):
        if not Path(path).is_file():
            raise InvalidArgument(f"There is no file {path}.", next="Name the certificate and its key as PEM files.")
    if options.has_tokens:
        Access(options)


def _listen(options: HttpOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.address else socket.AF_INET
    try:
        one = socket.create_server((options.address, options.port), family=family, backlog=2048)
    except OSError as error:
        raise InvalidArgument(
            f"The server cannot listen at {options.address}:{options.port} ({error.strerror or 'no such address'}).",
            next="Give another by --http ADDRESS:PORT; port 0 takes any that is free.",
        ) from error
    # The event loop sends at once (TCP_NODELAY) where a socket says that it speaks TCP, which that one does not: an
    # answer's second write then waited 40 ms for the first to be acknowledged.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=one.detach())


def _run_one(config: uvicorn.Config, listening: socket.socket, options: HttpOptions) -> int:
    came: list[int] = []
    # The library raises the signal that ended it once more, when all is closed.
    before = {one: signal.signal(one, lambda number, _: came.append(number)) for one in _ENDING}
    try:
        server = _Server(config, options.drain_s)
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:  # uvloop where it is installed
            runner.run(server.serve(sockets=[listening]))
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    if not server.started:
        return 1
    return INTERRUPTED if signal.SIGINT in came else 0


_ENDING = (signal.SIGINT, signal.SIGTERM)


class _Server(uvicorn.Server):
    """Ends whatever its threads are at: the store stands kills at any point."""

    def __init__(self, config: uvicorn.Config, drain_s: float) -> None:
        super().__init__(config)
        self._drain_s = drain_s

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first SIGTERM begins to drain; whatever comes then ends it."""
        if sig != signal.SIGTERM or not self._drain_s or _draining.is_set():
            super().handle_exit(sig, frame)
            return
        _draining.set()
        last = threading.Timer(self._drain_s, super().handle_exit, (sig, frame))
        last.daemon = True
        last.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        last = threading.Timer(2 * GRACE_S + 1, os._exit, (INTERRUPTED if self._interrupted() else 0,))
        last.daemon = True
        last.start()
        await super().shutdown(sockets)

    def _interrupted(self) -> bool:
        return signal.SIGINT in self._captured_signals


class _Workers(Multiprocess):
    interrupted = False

    def handle_int(self) -> None:
        self.interrupted = True
        super().handle_int()


def _run_many(config: uvicorn.Config, listening: socket.socket) -> int:
    with suppress(KeyboardInterrupt):
        workers = _Workers(config, [listening])
        workers.run()
        return INTERRUPTED if workers.interrupted else 0
    return INTERRUPTED
