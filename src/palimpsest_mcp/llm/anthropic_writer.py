"""Summaries of tool results by a model of the fast tier, over the Messages API.

It writes words only. What it wrote is checked, and everything that must be exact is added, by `digest/handed.py`; any
failure here is a reason in a note, and the extractive digest stands.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ..models.writing import Rate, Spent, WriteRequest, Written, dollars
from .fencing import SCHEMA, SYSTEM, quoted

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

NO_KEY = "no key (ANTHROPIC_API_KEY)"
_OUTPUT_TOKENS = 1_500
"""On top of what may be used: for the form of the answer, and for a model that thinks before it writes."""
_PROMPT_TOKENS = 1_000
"""Of the task itself, about; counters differ, so a quarter of the sources is added."""
_UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)


class _Block(msgspec.Struct):
    type: str
    text: str = ""


class _Usage(msgspec.Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Message(msgspec.Struct):
    """What is read of an answer of the Messages API."""

    content: list[_Block]
    stop_reason: str | None = None
    usage: _Usage = msgspec.field(default_factory=_Usage)


class _Result(msgspec.Struct):
    number: int
    lines: list[str]


class _Answer(msgspec.Struct):
    results: list[_Result]


class AnthropicWriter:
    """Implements `ports.text.Writer`.

    Without a key nothing is imported and nobody is asked: every answer is the failure `NO_KEY`.

    Args:
        base_url: of the Messages API; empty takes `ANTHROPIC_BASE_URL`, else the SDK's own.
        parallel: requests at a time, over all passes of the process.
        time_limit_s: for one batch, the SDK's retries included.
        pass_limit_s: for all batches of a pass.
        window_tokens: what is longer is not sent; None: no limit is known.
        rates: dollars a million tokens; empty where the price is not known.
        random_hex: random characters, for the fences around what is quoted.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str,
        random_hex: Callable[[int], str],
        auth_token: str = "",
        base_url: str = "",
        parallel: int = 4,
        time_limit_s: float = 20.0,
        pass_limit_s: float = 45.0,
        window_tokens: int | None = None,
        rates: Sequence[Rate] = (),
    ) -> None:
        self._model = model
        self._api_key = api_key
        self._auth_token = auth_token
        self._base_url = base_url
        self._gate = asyncio.Semaphore(parallel)
        self._time_limit_s = time_limit_s
        self._pass_limit_s = pass_limit_s
        self._window_tokens = window_tokens
        self._rates = tuple(rates)
        self._random_hex = random_hex

    @property
    def name(self) -> str:
        return f"anthropic/{self._model}"

    @property
    def author(self) -> str:
        return self._model

    @property
    def pass_limit_s(self) -> float:
        return self._pass_limit_s

    async def write(self, requests: Sequence[WriteRequest], *, within_s: float) -> tuple[Written, ...]:
        """Summaries for batches (`ports.text.Writer`)."""
        if not requests:
            return ()
        if not self._api_key and not self._auth_token:
            return tuple(Written(failure=NO_KEY) for _ in requests)
        answers: dict[int, Written] = {}
        try:
            async with asyncio.timeout(within_s):
                await self._write_all(requests, answers)
        except TimeoutError:
            pass  # what is there by now is used
        late = Written(failure=f"no answer within the {within_s:.3g} s of the pass")
        return tuple(answers.get(n, late) for n in range(len(requests)))

    async def _write_all(self, requests: Sequence[WriteRequest], answers: dict[int, Written]) -> None:
        # Importing the SDK takes a second: not before it is needed, and not on the loop.
        sdk = await asyncio.to_thread(importlib.import_module, "anthropic")

        async def one(number: int) -> None:
            async with self._gate:
                answers[number] = await self._answered(sdk, client, requests[number])

        async with (
            sdk.AsyncAnthropic(
                api_key=self._api_key or None,
                auth_token=None if self._api_key else self._auth_token,
                base_url=self._base_url or None,
                timeout=self._time_limit_s,
            ) as client,
            asyncio.TaskGroup() as tasks,
        ):
            for number in range(len(requests)):
                tasks.create_task(one(number))

    async def _answered(self, sdk: Any, client: AsyncAnthropic, request: WriteRequest) -> Written:
        if self._too_long(request):
            return Written(failure="the batch is longer than the model's window")
        try:
            async with asyncio.timeout(self._time_limit_s):
                body = await self._asked(client, request)
        except (TimeoutError, sdk.APITimeoutError):
            return Written(failure=f"no answer within {self._time_limit_s:.3g} s")
        except sdk.APIStatusError as error:
            return Written(failure=f"HTTP {error.status_code}")
        except sdk.APIConnectionError:
            return Written(failure="no connection")
        except Exception as error:  # whatever else an SDK may raise: the pass goes on without a model
            return Written(failure=f"the client failed ({type(error).__name__})")
        return self._read(body, len(request.sources))

    def _too_long(self, request: WriteRequest) -> bool:
        tokens = sum(source.tokens for source in request.sources)
        needed = _PROMPT_TOKENS + tokens * 5 // 4 + self._most_output(request)
        return self._window_tokens is not None and needed > self._window_tokens

    def _most_output(self, request: WriteRequest) -> int:
        return _OUTPUT_TOKENS + 2 * request.most_tokens

    async def _asked(self, client: AsyncAnthropic, request: WriteRequest) -> bytes:
        """The raw body: it is read here, strictly, whatever the SDK would make of it."""
        answer = await client.messages.with_raw_response.create(
            model=self._model,
            max_tokens=self._most_output(request),
            system=SYSTEM,
            messages=[{"role": "user", "content": quoted(request, self._random_hex)}],
            output_config={"format": {"type": "json_schema", "schema": SCHEMA}},
        )
        return await answer.read()

    def _read(self, body: bytes, sources: int) -> Written:
        try:
            message = msgspec.json.decode(body, type=_Message)
        except _UNREADABLE:
            return Written(failure="the answer is not of the Messages API")
        spent = self._spent(message.usage)
        if message.stop_reason != "end_turn":
            why = {"refusal": "the model refused", "max_tokens": "the answer was cut off"}
            return Written(failure=why.get(message.stop_reason or "", "the answer did not end"), spent=spent)
        text = "".join(block.text for block in message.content if block.type == "text")
        try:
            results = msgspec.json.decode(text, type=_Answer).results
        except _UNREADABLE:
            return Written(failure="the answer has another form", spent=spent)
        texts = {one.number: "\n".join(one.lines) for one in results}
        if len(texts) != len(results) or not texts.keys() <= set(range(1, sources + 1)):
            return Written(failure="the answer has another form", spent=spent)
        return Written(texts=tuple(texts.get(n, "") for n in range(1, sources + 1)), spent=spent)

    def _spent(self, usage: _Usage) -> Spent:
        tokens = usage.input_tokens + (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
        price = dollars(self._rates, tokens, usage.output_tokens)
        return Spent(calls=1, tokens_in=tokens, tokens_out=usage.output_tokens, dollars=price)


__all__ = ["NO_KEY", "AnthropicWriter"]
