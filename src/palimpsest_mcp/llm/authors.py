"""Sections of an anchored summary in the words of a model: decisions, context, state, open questions, next steps."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..models.llm import TEXT, Judged, JudgeQuestion, SummaryDraft, SummaryRequest, list_of, object_of
from .api import OTHER_FORM, RULE, MarkedQuestions

SYSTEM = f"""\
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

SCHEMA = object_of(
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
    """Implements `ports.text.SummaryAuthor`."""

    async def draft(self, request: SummaryRequest) -> SummaryDraft:
        """Ask once; a failure is a reason."""
        pieces = [("the summary", request.summary)]
        pieces += [(f"message {number}", text) for number, text in enumerate(request.messages, 1)]
        answer = await self.ask(SYSTEM, pieces, SCHEMA, _Sections, most_output=_MOST_OUTPUT)
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
    """Implements `ports.text.Judge`."""

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
