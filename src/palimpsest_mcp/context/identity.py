"""Item ids: who an item is, whatever its bytes are at the moment (L4)."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter

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
