"""Summaries of tool results by a model of the fast tier, over the Messages API.

It writes words only. What it wrote is checked, and everything that must be exact is added, by `digest/prose.py`; any
failure here is a reason in a note, and the extractive digest stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from ..models.llm import WriteRequest, Written
from .api import NO_KEY, OTHER_FORM, SCHEMA, SYSTEM, UNREADABLE, Answer, Line, MessagesApi, quoted

_OUTPUT_TOKENS = 1_500
"""On top of what may be used: for the form of the answer, and for a model that thinks before it writes."""
_PROMPT_TOKENS = 1_000
"""Of the task itself, about; counters differ, so a quarter of the sources is added."""


class _Result(msgspec.Struct):
    number: int
    lines: list[str]


class _Answer(msgspec.Struct):
    results: list[_Result]


class AnthropicWriter:
    """Implements `ports.text.Writer`.

    Without a key nothing is imported and nobody is asked: every answer is the failure `NO_KEY`.

    Args:
        api: the model, and how to reach it; its time limit is for one batch.
        parallel: requests at a time, over all passes of the process.
        pass_limit_s: for all batches of a pass.
        window_tokens: what is longer is not sent; None: no limit is known.
        random_hex: random characters, for the fences around what is quoted.
    """

    def __init__(
        self,
        api: MessagesApi,
        *,
        random_hex: Callable[[int], str],
        parallel: int = 4,
        pass_limit_s: float = 45.0,
        window_tokens: int | None = None,
    ) -> None:
        self._api = api
        self._gate = asyncio.Semaphore(parallel)
        self._pass_limit_s = pass_limit_s
        self._window_tokens = window_tokens
        self._random_hex = random_hex

    @property
    def name(self) -> str:
        return f"anthropic/{self._api.model}"

    @property
    def author(self) -> str:
        return self._api.model

    @property
    def pass_limit_s(self) -> float:
        return self._pass_limit_s

    async def write(self, requests: Sequence[WriteRequest], *, within_s: float) -> tuple[Written, ...]:
        """Summaries for batches (`ports.text.Writer`)."""
        if not requests:
            return ()
        if not self._api.has_key:
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
        async def one(line: Line, number: int) -> None:
            async with self._gate:
                answers[number] = await self._answered(line, requests[number])

        async with self._api.open() as line, asyncio.TaskGroup() as tasks:
            for number in range(len(requests)):
                tasks.create_task(one(line, number))

    async def _answered(self, line: Line, request: WriteRequest) -> Written:
        if self._too_long(request):
            return Written(failure="the batch is longer than the model's window")
        question = quoted(request, self._random_hex)
        answer = await self._api.ask(line, SYSTEM, question, SCHEMA, most_output=self._most_output(request))
        return _read(answer, len(request.sources))

    def _too_long(self, request: WriteRequest) -> bool:
        tokens = sum(source.tokens for source in request.sources)
        needed = _PROMPT_TOKENS + tokens * 5 // 4 + self._most_output(request)
        return self._window_tokens is not None and needed > self._window_tokens

    def _most_output(self, request: WriteRequest) -> int:
        return _OUTPUT_TOKENS + 2 * request.most_tokens


def _read(answer: Answer, sources: int) -> Written:
    if answer.failure:
        return Written(failure=answer.failure, spent=answer.spent)
    try:
        results = msgspec.json.decode(answer.text, type=_Answer).results
    except UNREADABLE:
        return Written(failure=OTHER_FORM, spent=answer.spent)
    texts = {one.number: "\n".join(one.lines) for one in results}
    if len(texts) != len(results) or not texts.keys() <= set(range(1, sources + 1)):
        return Written(failure=OTHER_FORM, spent=answer.spent)
    return Written(texts=tuple(texts.get(n, "") for n in range(1, sources + 1)), spent=answer.spent)
