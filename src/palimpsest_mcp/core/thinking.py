"""What becomes of thinking in a message list of which something earlier changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..hosts.thinking import ASK_TO_DROP, Place, blocks_of, first_change, thinking_in, without
from ..models.plans import DROP, DROP_BLOCK, REFUSE
from ..models.reports import Thinking
from ..models.text import counted, verb
from ..text.tokens.windows import binds_thinking
from .dependencies import ContentCounter
from .importer import Imported


class Sendable(msgspec.Struct, frozen=True, kw_only=True):
    """A list that may be sent."""

    messages: list[Any]
    thinking: Thinking
    request_options: dict[str, Any] = {}


def list_to_send(before: Sequence[Any], messages: list[Any], imported: Imported, *, model: str, way: str) -> Sendable:
    """A rendered list without thinking that the model would refuse, or with what its request needs.

    A model that is not known counts as one that binds thinking: every new one does.

    Args:
        before: the list that came in; `messages` is the same with other contents.
        way: as in `PassOptions.thinking`.
    """
    blocks = sum(1 for _ in thinking_in(messages))
    bound = binds_thinking(model)
    if imported.context.form == "openai" or not blocks or bound is False:
        return Sendable(messages=messages, thinking=Thinking(kept=blocks))
    changed = min(filter(None, [first_change(before, messages), *_put_back(imported)]), default=None)
    places = [place for place in thinking_in(messages) if changed is not None and place > changed]
    who = f"{model} refuses" if bound else "newer models refuse"
    if way == REFUSE and places:
        said = f"the list is as it came: {who} {counted(len(places), 'thinking block')} behind its stored digests"
        return Sendable(messages=list(before), thinking=Thinking(kept=blocks, said=said))
    if way == DROP and places:
        tokens = _tokens(messages, places, imported.counter)
        said = (
            f"{counted(len(places), 'thinking block')} behind the first change left the list ({tokens:,} tokens): "
            f"{who} {verb(len(places), 'it', 'them')}{'' if bound else '; name the model to keep what it takes'}"
        )
        left = Thinking(kept=blocks - len(places), dropped=len(places), dropped_tokens=tokens, said=said)
        return Sendable(messages=without(messages, places), thinking=left)
    said = f"{who} {len(places)} of {counted(blocks, 'thinking block')}" if places else ""
    if way == DROP_BLOCK:
        said = "; ".join(
            filter(None, [said, "send request_options with this and every later request of the conversation"])
        )
    options = dict(ASK_TO_DROP) if way == DROP_BLOCK else {}
    return Sendable(
        messages=messages, thinking=Thinking(kept=blocks, invalid=len(places), said=said), request_options=options
    )


def _put_back(imported: Imported) -> list[Place]:
    """Originals that stand again since a pass was taken back. Which of the thinking behind them was written while the
    digests stood, a list does not say."""
    if imported.context.form != "anthropic":
        return []  # items of a transcript stand by the rows of its file
    decided = imported.fold.decided
    back = decided.reinstated_at.keys() - decided.replacements.keys()
    return [item.position for item in imported.context.items if imported.ids[item.id] in back]


def _tokens(messages: Sequence[Any], places: Sequence[Place], counter: ContentCounter) -> int:
    return sum(counter.count_content([blocks_of(messages[row])[at]]) for row, at in places)
