"""What a face prints, masked: the one way by which names, ids, paths, policies and error texts go out."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any, TypeVar, cast

import msgspec

from ..models.text import plain_line
from ..ports.text import Redactor

Named = TypeVar("Named")
Viewed = TypeVar("Viewed")
_SHORTEST = 6
"""Characters below which nothing is a secret of its own."""
_KEPT = 8_000
"""Characters of the longest text whose masked form is kept."""
_MARK = "[redacted:"


class Surface:
    """Masks what is shown. Numbers and truth values are never touched."""

    def __init__(self, redactor: Redactor) -> None:
        def masked(text: str) -> str:
            return redactor.redact(text).text

        self._short = lru_cache(maxsize=4_096)(masked)
        self._long = lru_cache(maxsize=256)(masked)
        self._redactor = redactor

    def text(self, text: str) -> str:
        """One text with its secrets masked."""
        if len(text) < _SHORTEST:
            return text
        size = len(text)
        masked = (
            self._short(text)
            if size <= 200
            else self._long(text)  # digests, which are listed again and again
            if size <= _KEPT
            else self._redactor.redact(text).text
        )
        return text if masked == text else masked  # advice stays advice: each face words it

    def value(self, value: Any) -> Any:
        """The same for every text in a JSON value, a view or a tuple of these, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            fields = cast("dict[Any, Any]", value)
            return {self.value(key): self.value(one) for key, one in fields.items()}
        if isinstance(value, (list, tuple)):
            parts = [self.value(one) for one in cast("list[Any]", value)]
            return tuple(parts) if isinstance(value, tuple) else parts
        if isinstance(value, msgspec.Struct):
            fields: dict[str, Any] = {}
            for name in value.__struct_fields__:
                before = getattr(value, name)
                if isinstance(before, str):  # nearly all of them
                    after = self.text(before)
                elif before is None or isinstance(before, (int, float)):
                    continue
                else:
                    after = self.value(before)
                if after is not before:
                    fields[name] = after
            return msgspec.structs.replace(value, **fields) if fields else value
        return value

    def view(self, view: Viewed) -> Viewed:
        """A view of the library as a face may cut and lay it out: half a secret would not look like one any more."""
        return cast("Viewed", self.value(view))


@cache
def storeless() -> Surface:
    """For what is said where no store is open: the built-in rules, and marks that nobody can compare."""
    from ..text.redaction.redactor import open_redactor

    return Surface(open_redactor(secrets.token_bytes(32)))


def named_by_mark(name: str, things: Iterable[Named], id_of: Callable[[Named], str], redactor: Redactor) -> list[Named]:
    """The things whose id a face shows as `name`, since it holds a secret; none where the name holds no mark."""
    if _MARK not in name:
        return []
    return [one for one in things if name in (shown := redactor.redact(id_of(one)).text, plain_line(shown))]
