"""One question about data of a session, and its answer in the form that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from ..models.writing import Spent
from .marked import marked
from .messages_api import OTHER_FORM, UNREADABLE, MessagesApi

Form = TypeVar("Form")


class Told(msgspec.Struct, Generic[Form], frozen=True, kw_only=True):
    """An answer, or why there is none."""

    found: Form | None
    failure: str = ""
    spent: Spent


class MarkedQuestions:
    """Who asks a model of the fast tier about a session; everything of the session stands between marks."""

    def __init__(self, api: MessagesApi, random_hex: Callable[[int], str]) -> None:
        self._api = api
        self._random_hex = random_hex

    @property
    def author(self) -> str:
        return self._api.model

    async def ask(
        self,
        task: str,
        pieces: Sequence[tuple[str, str]],
        schema: dict[str, Any],
        form: type[Form],
        *,
        most_output: int,
    ) -> Told[Form]:
        """Ask once; a failure is a reason."""
        question = marked(pieces, self._random_hex)
        answer = await self._api.ask_once(task, question, schema, most_output=most_output)
        if answer.failure:
            return Told(found=None, failure=answer.failure, spent=answer.spent)
        try:
            return Told(found=msgspec.json.decode(answer.text, type=form), spent=answer.spent)
        except UNREADABLE:
            return Told(found=None, failure=OTHER_FORM, spent=answer.spent)


__all__ = ["MarkedQuestions", "Told"]
