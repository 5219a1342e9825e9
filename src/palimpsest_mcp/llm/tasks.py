"""What a model is asked for: prose for digests (fast tier), sections of a summary, a second opinion on probes.

It gives words only. What it wrote of results is checked, and everything that must be exact is added, by
`digest/prose.py`; any failure here is a reason in a note, and what code made stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from ..models.llm import (
    TEXT,
    Judged,
    JudgeQuestion,
    SummaryDraft,
    SummaryRequest,
    WriteRequest,
    Written,
    list_of,
    object_of,
)
from .api import (
    NO_KEY,
    OTHER_FORM,
    RULE,
    SCHEMA,
    SYSTEM,
    UNREADABLE,
    Answer,
    Line,
    MarkedQuestions,
    MessagesApi,
    quoted,
)

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
    """Implements `ports.seams.Writer`.

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
        """Summaries for batches (`ports.seams.Writer`)."""
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


_DRAFT_SYSTEM = f"""\
You keep the running summary of an agent's session, which must survive when older messages are gone. You are given the \
summary as it stands and the newest messages of user and agent. {RULE}

Answer with what the messages say and the summary does not have yet. decisions_made: what was settled, with its \
rationale. standing_orders: rules, limits, deadlines and preferences that the user laid down for the rest of the \
session, in the user's own words. technical_context: facts about the system that later work needs. current_state: \
where the work stands, two sentences at most. blockers: questions that wait for an answer. next_steps: what was \
announced and not done yet.

Plain, whole sentences, one a list entry, at most 30 words each. Say only what the messages say. Every number, name, \
path and code must be a verbatim copy; leave it out where you are not sure. An empty list, or an empty text, where \
there is nothing new."""

_DRAFT_SCHEMA = object_of(
    decisions_made=list_of(object_of(decision=TEXT, rationale=TEXT)),
    standing_orders=list_of(TEXT),
    technical_context=list_of(TEXT),
    current_state=TEXT,
    blockers=list_of(TEXT),
    next_steps=list_of(TEXT),
)
_MOST_OUTPUT = 2_500


class _Decision(msgspec.Struct):
    decision: str
    rationale: str


class _Sections(msgspec.Struct):
    decisions_made: list[_Decision]
    technical_context: list[str]
    current_state: str
    blockers: list[str]
    next_steps: list[str]
    standing_orders: list[str] = []


class AnthropicSummaryAuthor(MarkedQuestions):
    """Implements `ports.seams.SummaryAuthor`."""

    async def draft(self, request: SummaryRequest) -> SummaryDraft:
        """Ask once; a failure is a reason."""
        pieces = [("the summary", request.summary)]
        pieces += [(f"message {number}", text) for number, text in enumerate(request.messages, 1)]
        answer = await self.ask(_DRAFT_SYSTEM, pieces, _DRAFT_SCHEMA, _Sections, most_output=_MOST_OUTPUT)
        if answer.found is None:
            return SummaryDraft(failure=answer.failure, spent=answer.spent)
        return SummaryDraft(sections=msgspec.to_builtins(answer.found), spent=answer.spent)


# A model's opinion on probes: whether what stays still says what the original said. Beside code's, never above it.


JUDGE_SYSTEM = f"""\
You check whether a shortened text still answers a question. For each number you are given a question, the original \
lines that answer it, and the passage that stands in their place. {RULE}

answered is true only where the passage alone gives the same answer as the original: the same names, numbers and \
outcome, nothing to be guessed. Anything less is false."""

JUDGE_SCHEMA = object_of(answers=list_of(object_of(number={"type": "integer"}, answered={"type": "boolean"})))
_MOST_JUDGED = 1_500


class _Said(msgspec.Struct):
    number: int
    answered: bool


class _Answers(msgspec.Struct):
    answers: list[_Said]


class AnthropicJudge(MarkedQuestions):
    """Implements `ports.seams.Judge`."""

    async def judge(self, questions: Sequence[JudgeQuestion]) -> Judged:
        """Ask once about all of them; a failure is a reason."""
        if not questions:
            return Judged()
        pieces = [
            piece
            for number, one in enumerate(questions, 1)
            for piece in (
                (f"{number} question", one.question),
                (f"{number} original", one.original),
                (f"{number} passage", one.passage),
            )
        ]
        answer = await self.ask(JUDGE_SYSTEM, pieces, JUDGE_SCHEMA, _Answers, most_output=_MOST_JUDGED)
        if answer.found is None:
            return Judged(failure=answer.failure, spent=answer.spent)
        said = answer.found.answers
        by_number = {one.number: one.answered for one in said}
        if len(said) != len(questions) or by_number.keys() != set(range(1, len(questions) + 1)):
            return Judged(failure=OTHER_FORM, spent=answer.spent)
        return Judged(answered=tuple(by_number[n] for n in range(1, len(questions) + 1)), spent=answer.spent)
