"""A request over HTTP on its way in: its body, whose call it is, how often and how long."""

from __future__ import annotations

import json
import math
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, ErrorData
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .access import principal_of
from .lifespan import OpenOnFirstUse, caller
from .transport import Refusal, read_line

if TYPE_CHECKING:
    pass

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
