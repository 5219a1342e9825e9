"""A model's opinion on probes: whether what stays still says what the original said. Beside code's, never above it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..models.asking import Judged, JudgeQuestion
from .asking import MarkedQuestions
from .marked import RULE
from .messages_api import OTHER_FORM

SYSTEM = f"""\
You check whether a shortened text still answers a question. For each number you are given a question, the original \
lines that answer it, and the passage that stands in their place. {RULE}

answered is true only where the passage alone gives the same answer as the original: the same names, numbers and \
outcome, nothing to be guessed. Anything less is false."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["answers"],
    "properties": {
        "answers": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["number", "answered"],
                "properties": {"number": {"type": "integer"}, "answered": {"type": "boolean"}},
            },
        }
    },
}
_MOST_OUTPUT = 1_500


class _Said(msgspec.Struct):
    number: int
    answered: bool


class _Answers(msgspec.Struct):
    answers: list[_Said]


class AnthropicJudge(MarkedQuestions):
    """Implements `ports.asking.Judge`."""

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
        answer = await self.ask(SYSTEM, pieces, SCHEMA, _Answers, most_output=_MOST_OUTPUT)
        if answer.found is None:
            return Judged(failure=answer.failure, spent=answer.spent)
        said = answer.found.answers
        by_number = {one.number: one.answered for one in said}
        if len(said) != len(questions) or by_number.keys() != set(range(1, len(questions) + 1)):
            return Judged(failure=OTHER_FORM, spent=answer.spent)
        return Judged(answered=tuple(by_number[n] for n in range(1, len(questions) + 1)), spent=answer.spent)


__all__ = ["AnthropicJudge"]
