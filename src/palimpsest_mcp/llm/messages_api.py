"""One question to a model over the Messages API: a text in the asked form, or a short reason why there is none.

The SDK is imported when the first question is asked: that takes a second. No failure here is an exception.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ..models.writing import Rate, Spent, dollars

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

NO_KEY = "no key (ANTHROPIC_API_KEY)"
UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""What decoding an answer may raise."""
OTHER_FORM = "the answer has another form"
_MOST_CHARS_A_TOKEN = 20
"""No text has more, and a service that keeps to the tokens asked for sends none; what does is not even checked."""


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


class Answer(NamedTuple):
    """What came back."""

    text: str = ""
    failure: str = ""
    """Why there is no text, in a few words that hold nothing of question or answer."""
    spent: Spent = Spent()


class Line(NamedTuple):
    """An open connection."""

    sdk: Any
    client: AsyncAnthropic


class MessagesApi:
    """A model, and how to reach it.

    Args:
        base_url: of the Messages API; empty takes `ANTHROPIC_BASE_URL`, else the SDK's own.
        time_limit_s: for one question, the SDK's retries included.
        rates: dollars a million tokens; empty where the price is not known.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str,
        auth_token: str = "",
        base_url: str = "",
        time_limit_s: float = 20.0,
        rates: Sequence[Rate] = (),
    ) -> None:
        self.model = model
        self._api_key = api_key
        self._auth_token = auth_token
        self._base_url = base_url
        self._time_limit_s = time_limit_s
        self._rates = tuple(rates)

    @property
    def has_key(self) -> bool:
        """Whether there is anything to ask with."""
        return bool(self._api_key or self._auth_token)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Line]:
        """A connection for as long as the block runs."""
        sdk = await asyncio.to_thread(importlib.import_module, "anthropic")  # not on the loop
        async with sdk.AsyncAnthropic(
            api_key=self._api_key or None,
            auth_token=None if self._api_key else self._auth_token,
            base_url=self._base_url or None,
            timeout=self._time_limit_s,
        ) as client:
            yield Line(sdk, client)

    async def ask(self, line: Line, system: str, question: str, schema: dict[str, Any], *, most_output: int) -> Answer:
        """Ask once, within the time limit."""
        try:
            async with asyncio.timeout(self._time_limit_s):
                body = await self._asked(line.client, system, question, schema, most_output)
        except (TimeoutError, line.sdk.APITimeoutError):
            return Answer(failure=f"no answer within {self._time_limit_s:.3g} s")
        except line.sdk.APIStatusError as error:
            return Answer(failure=f"HTTP {error.status_code}")
        except line.sdk.APIConnectionError:
            return Answer(failure="no connection")
        except Exception as error:  # whatever else an SDK may raise: the work goes on without a model
            return Answer(failure=f"the client failed ({type(error).__name__})")
        answer = self._read(body)
        if len(answer.text) > _MOST_CHARS_A_TOKEN * most_output:
            return Answer(failure="the answer is longer than was asked for", spent=answer.spent)
        return answer

    async def ask_once(self, system: str, question: str, schema: dict[str, Any], *, most_output: int) -> Answer:
        """The same with a connection of its own; all of it within the time limit, loading the SDK apart."""
        if not self.has_key:
            return Answer(failure=NO_KEY)
        try:
            async with self.open() as line:
                return await self.ask(line, system, question, schema, most_output=most_output)
        except Exception as error:  # the SDK may be missing or refuse its own settings
            return Answer(failure=f"the client failed ({type(error).__name__})")

    async def _asked(
        self, client: AsyncAnthropic, system: str, question: str, schema: dict[str, Any], most_output: int
    ) -> bytes:
        """The raw body: it is read here, strictly, whatever the SDK would make of it."""
        answer = await client.messages.with_raw_response.create(
            model=self.model,
            max_tokens=most_output,
            system=system,
            messages=[{"role": "user", "content": question}],
            output_config={"format": {"type": "json_schema", "schema": schema}},
        )
        return await answer.read()

    def _read(self, body: bytes) -> Answer:
        try:
            message = msgspec.json.decode(body, type=_Message)
        except UNREADABLE:
            return Answer(failure="the answer is not of the Messages API")
        spent = self._spent(message.usage)
        if message.stop_reason != "end_turn":
            why = {"refusal": "the model refused", "max_tokens": "the answer was cut off"}
            return Answer(failure=why.get(message.stop_reason or "", "the answer did not end"), spent=spent)
        return Answer("".join(block.text for block in message.content if block.type == "text"), spent=spent)

    def _spent(self, usage: _Usage) -> Spent:
        tokens = usage.input_tokens + (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
        price = dollars(self._rates, tokens, usage.output_tokens)
        return Spent(calls=1, tokens_in=tokens, tokens_out=usage.output_tokens, dollars=price)


__all__ = ["NO_KEY", "OTHER_FORM", "UNREADABLE", "Answer", "Line", "MessagesApi"]
