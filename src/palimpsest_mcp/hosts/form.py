"""What message lists of every provider have in common: found, read into items, given back with new contents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..models.items import Content
from ..ports.host import Form, HostContext
from .assemble import assemble
from .pieces import (
    Piece,
    list_form,
    list_of,
    looks_like_messages,
    messages_of,
    model_of,
    render_pieces,
    session_id_of,
    system_text_of,
)


class MessageForm(ABC):
    """A list of messages, or an object that holds one; implements `ports.host.HostTranscript`.

    Args:
        kind_by_tool: tool name -> kind of its results (the policy's).
    """

    def __init__(self, kind_by_tool: Mapping[str, str] | None = None) -> None:
        self._kind_by_tool = dict(kind_by_tool or {})

    @property
    @abstractmethod
    def form(self) -> Form: ...

    @abstractmethod
    def pieces(self, messages: Sequence[Any], root: str) -> Iterator[Piece]:
        """Every block in order.

        Raises:
            FileWrongShape: it names the first value that does not fit.
        """

    @abstractmethod
    def put(self, message: Any, piece: Piece, content: Content) -> Any:
        """The message with one block's content changed.

        Raises:
            InvalidArgument: the block is none that may be changed.
        """

    def fits(self, value: Any) -> bool:
        """Whether it is a list of messages of this form."""
        messages = messages_of(value)
        return messages is not None and looks_like_messages(messages) and list_form(messages) == self.form

    def parse(self, value: Any) -> HostContext:
        """Read a list of messages, or an object that holds one.

        Raises:
            FileWrongShape: it names the first value that does not fit.
        """
        messages, root = list_of(value)
        found = assemble(list(self.pieces(messages, root)), self._kind_by_tool)
        return HostContext(
            form=self.form,
            items=found.items,
            open_units=found.open_units,
            messages=tuple(messages),
            session_id=session_id_of(value),
            model=model_of(value),
            system_text=system_text_of(value),
        )

    def render(self, context: HostContext, contents: Mapping[str, Content]) -> list[Any]:
        """The messages with new contents; see `HostTranscript.render`.

        Raises:
            InvalidArgument: a block that may not be changed was to be.
        """
        return render_pieces(context, contents, self.pieces(context.messages, "messages"), self.put)
