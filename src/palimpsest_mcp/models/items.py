"""What a context is made of: items with their exact content."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from typing import Any, Literal, TypeAlias, cast

import msgspec

Content: TypeAlias = str | list[Any] | dict[str, Any]
"""An item's content exactly as the host gave it.

A string; a list of content blocks (text, image …); or one mapping: `{"base64": …}` for raw bytes,
or a host block kept whole (a tool call, a thinking block). Never re-formatted.
"""

Kind: TypeAlias = str
"""What an item is. Ours: `message`, `tool_call`, `tool_result`, `thinking`, `image`, `system_prompt`, `evidence`,
`original_query`, `clarify_verification`, `restored_copy`, and the protected kinds of the seed:
`clarify_result`, `reflective_loop_state`, `graph_plan`, `citation_index`, `rubrics`. Others may appear."""

Verb: TypeAlias = Literal["read", "write", "edit", "run", "search", "plan", "other"]


class Action(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What a tool call did, in one vocabulary for all hosts."""

    verb: Verb
    target: str = ""
    """A path, a command line, a query or a URL, as the call named it."""


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One piece of context, verbatim."""

    id: str
    """Key of the item in its session (L4): agent, then call id, host uuid with block index, or hash, then `#n`."""
    kind: Kind
    role: str
    """`system`, `user`, `assistant` or `tool`."""
    position: tuple[int, int]
    """Row (message) and block in the host's own order, 0-based (L2)."""
    content: Content | None
    """None: recorded by a model with title and tokens only; such an item is not restorable (I6)."""
    sha256: str
    """Of `content_bytes(content)`, lower-case hex; empty without content."""
    size_bytes: int = 0
    tokens: int = 0
    """By the session's counter, without the per-result overhead."""
    agent: str = ""
    """Empty for the main chain (L14)."""
    unit: str = ""
    """Id of the unit: a tool call with all its results. An item outside any unit is a unit by itself."""
    tool_name: str = ""
    call_id: str = ""
    args: dict[str, Any] | None = None
    action: Action | None = None
    is_error: bool = False
    title: str = ""
    url: str = ""
    source_channel: str = ""
    ts: str = ""
    """When the host made it, for people; order never depends on it."""
    warnings: tuple[str, ...] = ()
    purged: bool = False
    """The user had the content removed: none is here, and none of this hash is written again (L15)."""


def content_bytes(content: Content | None) -> bytes:
    """The bytes that an item's hash and size speak of.

    A string gives its UTF-8 (lone surrogates as their three-byte form, so every Python string has bytes);
    `{"base64": …}` the decoded bytes; other structures their compact JSON in the given key order.
    """
    if content is None:
        return b""
    if isinstance(content, str):
        return content.encode("utf-8", "surrogatepass")
    if is_raw_bytes(content):
        return base64.b64decode(cast("dict[str, str]", content)["base64"], validate=True)
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def content_sha256(content: Content | None) -> str:
    """Lower-case hex SHA-256 of `content_bytes`; empty for no content."""
    return "" if content is None else hashlib.sha256(content_bytes(content)).hexdigest()


def content_text(content: Content | None) -> str:
    """The text of a content: the string itself, or the texts of its blocks joined by a newline.

    Blocks without text (images, documents) are named by kind, media type, size and hash: counted and seen.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return _block_text(content)
    return "\n".join(_block_text(block) for block in content)


def is_raw_bytes(content: Content | None) -> bool:
    """Whether the content is `{"base64": …}`: bytes, not text."""
    return isinstance(content, dict) and set(content) == {"base64"} and isinstance(content["base64"], str)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return json.dumps(block, ensure_ascii=False)
    fields = cast("dict[str, Any]", block)
    text = fields.get("text")
    if isinstance(text, str):
        return text
    inner = fields.get("content")
    if isinstance(inner, (str, list)):
        return content_text(cast("Content", inner))
    source = fields.get("source")
    media = cast("dict[str, Any]", source) if isinstance(source, dict) else fields
    data = media.get("data", media.get("base64"))
    if isinstance(data, str):
        kind = str(fields.get("type", "binary"))
        media_type = str(media.get("media_type", media.get("mimeType", "application/octet-stream")))
        digest = hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()
        return f"[{kind} {media_type}, {len(data)} base64 characters, sha256 {digest}]"
    return json.dumps(fields, ensure_ascii=False, default=str)


# A specific: a string that must survive verbatim.


class Specific(msgspec.Struct, frozen=True, order=True, gc=False, cache_hash=True):
    """One thing that must survive, as found in one piece of text."""

    cls: str
    """Class name in the registry: `url`, `path`, `number`, `error` …"""
    text: str
    """Verbatim."""
    key: str = ""
    """The words that say what it is: the key of `key=value`, a JSON key, a column's name. Empty where there is none."""


class Span(msgspec.Struct, frozen=True, gc=False):
    """Where a specific stands in a text: characters from `start` up to `end`."""

    start: int
    end: int
    cls: str
    text: str
    key: str = ""


# Item ids: who an item is, whatever its bytes are at the moment (L4).

_SANE = re.compile(r"[!$-&(-.0-_a-~]{1,128}")
"""1-128 printable ASCII characters without white space, quotes, `#` and `/`. `#` numbers repeats and `/` ends an
agent's name, so an id that holds them could pass for another item's."""

_KEYS = json.JSONEncoder(sort_keys=True, ensure_ascii=False, default=str)
_ROLE_PREFIX = {"user": "u", "assistant": "a", "system": "s", "developer": "s", "tool": "t"}


def is_sane(name: object) -> bool:
    """Whether a host's id can be used as it is: short, one word, typed without quoting surprises."""
    return isinstance(name, str) and _SANE.fullmatch(name) is not None


def call_key(call_id: object, *, otherwise: str = "") -> str:
    """The short name of a call id: the id itself where it is sane, else `h-` and 16 hex digits of its SHA-256.

    Args:
        call_id: as the host gave it; any JSON value.
        otherwise: what to hash where the host gave none (missing or empty): the call's own name and arguments, which
            stay when the result is replaced.
    """
    if isinstance(call_id, str) and is_sane(call_id):
        return call_id
    text = otherwise if call_id is None or call_id == "" else json_key(call_id)
    return "h-" + _hex(text, 16)


def names_of(name: str) -> tuple[str, ...]:
    """Ids that a caller may mean by a name: the item's own id, or the host's id that it was made of."""
    return tuple(dict.fromkeys((name, call_key(name))))


def json_key(value: object) -> str:
    """One string for a JSON value: equal values, equal strings; 5 and "5" differ."""
    return _KEYS.encode(value)


class ItemIds:
    """Gives the items of one list their ids, in the list's order: unique, and the same for the same list.

    The nth item of one key gets `#n` from the second on. An agent other than the main one prefixes all its ids.
    """

    def __init__(self, agent: str = "") -> None:
        self._prefix = f"{call_key(agent)}/" if agent else ""
        self._taken: Counter[str] = Counter()

    def result(self, call_id: object, *, otherwise: str = "") -> str:
        """Of a tool result: its call id."""
        return self._nth(call_key(call_id, otherwise=otherwise))

    def call(self, call_id: object, *, otherwise: str = "") -> str:
        """Of a tool call: `call:` and its id."""
        return self._nth(f"call:{call_key(call_id, otherwise=otherwise)}")

    def block(self, uuid: str, index: int) -> str:
        """Of any other block whose message the host named: `<uuid>.<index>`."""
        return self._nth(f"{call_key(uuid)}.{index}")

    def text(self, role: str, sha256: str) -> str:
        """Of any other block: a letter for the role and 12 hex digits of its content's SHA-256."""
        return self._nth(f"{_ROLE_PREFIX.get(role, 'x')}-{sha256[:12]}")

    def _nth(self, key: str) -> str:
        name = self._prefix + key
        self._taken[name] += 1
        count = self._taken[name]
        return name if count == 1 else f"{name}#{count}"


def _hex(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]
