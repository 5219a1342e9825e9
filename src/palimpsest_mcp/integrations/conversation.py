"""A framework's messages as one list that the library compacts, and what changed in it back in their place."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar, cast

Role = Literal["user", "assistant", "system"]
Block = dict[str, Any]
"""In the form of the Messages API: text, thinking, tool_use, tool_result, or any other type, which stays as it is."""
M = TypeVar("M")

_THINKING = ("thinking", "redacted_thinking")


class Part(NamedTuple):
    """One block of a message."""

    role: Role
    place: Any
    """Where it stands in its message, in the adapter's own terms; hashable, each once."""
    block: Block


class Form(Protocol[M]):
    """How one framework writes its messages."""

    def parts(self, message: M) -> Iterable[Part]:
        """Every block of a message, in order. Calls and results carry the framework's own call ids."""
        ...

    def put(self, message: M, changed: Mapping[Any, Block | None]) -> M:
        """A new message with other blocks at some places: a result with another `content`, a call with another
        `input`; None where thinking is to go. The message given stays as it is."""
        ...


@dataclass(frozen=True)
class Listed(Generic[M]):
    """A framework's messages beside the list made of them."""

    source: Sequence[M]
    messages: list[dict[str, Any]]
    places: list[tuple[int, list[Any]]]
    """For each message of the list: which of the source it is of, and the places of its blocks."""


def listed(source: Sequence[M], form: Form[M]) -> Listed[M]:
    """The list that the library reads. A message of several roles becomes several, one without blocks none."""
    messages: list[dict[str, Any]] = []
    places: list[tuple[int, list[Any]]] = []
    for at, message in enumerate(source):
        for role, group in groupby(form.parts(message), key=lambda part: part.role):
            parts = list(group)
            messages.append({"role": role, "content": [part.block for part in parts]})
            places.append((at, [part.place for part in parts]))
    return Listed(source, messages, places)


def unlisted(before: Listed[M], after: Sequence[Mapping[str, Any]], form: Form[M]) -> list[M]:
    """The framework's messages with what changed in the list; those in which nothing did are the very same objects.

    Raises:
        ValueError: the list does not fit the one that was made.
    """
    changed: dict[int, dict[Any, Block | None]] = {}
    rest = iter(after)
    row = next(rest, None)
    for (at, places), old in zip(before.places, before.messages, strict=True):
        blocks: list[Block] = old["content"]
        if row is None or row["role"] != old["role"]:
            found = _only_thinking_went(blocks)
        else:
            found = _aligned(blocks, cast("list[Block]", row["content"]))
            if found is not None:
                row = next(rest, None)
            else:
                found = _only_thinking_went(blocks)
        if found is None:
            raise ValueError("the compacted list does not fit the messages that it was made from")
        for index, block in found.items():
            changed.setdefault(at, {})[places[index]] = block
    if row is not None:
        raise ValueError("the compacted list has more messages than it was made from")
    return [form.put(one, changed[at]) if at in changed else one for at, one in enumerate(before.source)]


def _aligned(old: Sequence[Block], new: Sequence[Block]) -> dict[int, Block | None] | None:
    """Which blocks changed, by index; None where these are not the blocks of the same message. Calls and results are
    told by their ids, and only thinking may be missing."""
    found: dict[int, Block | None] = {}
    rest = list(new)
    for index, block in enumerate(old):
        if rest and _same(block, rest[0]):
            if rest[0] is not block and rest[0] != block:
                found[index] = rest[0]
            del rest[0]
        elif block.get("type") in _THINKING:
            found[index] = None
        else:
            return None
    return None if rest else found


def _same(old: Block, new: Block) -> bool:
    if old is new:
        return True
    kind = old.get("type")
    if kind != new.get("type"):
        return False
    if kind == "tool_use":
        return old.get("id") == new.get("id")
    if kind == "tool_result":
        return old.get("tool_use_id") == new.get("tool_use_id")
    return old == new


def _only_thinking_went(blocks: Sequence[Block]) -> dict[int, Block | None] | None:
    if blocks and all(block.get("type") in _THINKING for block in blocks):
        return dict.fromkeys(range(len(blocks)))
    return None


def text_block(text: str) -> Block:
    """A text."""
    return {"type": "text", "text": text}


def call_block(call_id: str, name: str, args: Any, *, signed: bool = False) -> Block:
    """A call. Arguments that are no object stand under `input`.

    Args:
        signed: the provider signed or checks the arguments: they never change.
    """
    fields = cast("dict[str, Any]", args) if isinstance(args, dict) else {"input": args}
    block: Block = {"type": "tool_use", "id": call_id, "name": name, "input": plain(fields)}
    return {**block, "signature": "the provider's"} if signed else block


def result_block(call_id: str, content: str | list[Any], *, is_error: bool = False) -> Block:
    """A result: a text, or blocks of its own."""
    block: Block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return {**block, "is_error": True} if is_error else block


def whole_block(kind: str, value: Any) -> Block:
    """A block that only the framework or its provider understands: it stays as it is, and is known again."""
    text = json.dumps(plain(value), ensure_ascii=False, sort_keys=True)
    if len(text) <= 2_000:
        return {"type": f"framework_{kind}", "value": json.loads(text)}
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {"type": f"framework_{kind}", "sha256": digest, "characters": len(text)}


def texts_in(content: Any) -> str:
    """All text of a block's content: what takes a result's place, where the framework holds one text."""
    if isinstance(content, str):
        return content
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    return "\n".join(str(cast("Block", one).get("text", "")) for one in blocks if isinstance(one, dict))


def arguments_of(told: Any) -> Any:
    """A call's arguments, where a framework may hold them as JSON text; what is no JSON stays as it is."""
    if not isinstance(told, str):
        return told
    try:
        return json.loads(told or "{}")
    except ValueError:
        return told


def object_of(told: Any) -> dict[str, Any]:
    """The same where only an object will do; empty for anything else."""
    found = arguments_of(told)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def first_text(args: Mapping[str, Any]) -> str:
    """The first argument that is a text: of a call that starts a sub-agent, what it is asked."""
    return next((value for value in args.values() if isinstance(value, str)), "")


def plain(value: Any) -> Any:
    """A value as JSON holds it: models as their fields, bytes as base64, anything else by its own words."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in cast("Sequence[Any]", value)]
    if isinstance(value, (bytes, bytearray)):
        return {"base64": base64.b64encode(value).decode()}
    dump = getattr(value, "model_dump", None)
    return plain(dump(mode="json")) if callable(dump) else str(value)
