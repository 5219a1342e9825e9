"""Hosts whose plugins hand over their own message list: read as messages of the Messages API, each result by its call.

What comes back to such a host is by call id: the text that stands for a result, the arguments that are left of a call.
A host is a file beside this one and a row in `LIST_HOSTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from . import opencode, pi


class ListHost(msgspec.Struct, frozen=True, kw_only=True):
    """How one host keeps its messages."""

    name: str
    messages: Callable[[Iterable[dict[str, Any]]], list[dict[str, Any]]]
    """Its list as messages of the Messages API, without thinking, which is none of ours."""
    summary: Callable[[Iterable[dict[str, Any]]], str]
    """The newest summary that the host wrote in the place of earlier messages; empty where there is none."""
    asked: Callable[[Mapping[str, Any]], int]
    """Tokens of the request that a row answers, as its provider counted them; 0 where the row does not say."""


LIST_HOSTS: Mapping[str, ListHost] = {
    one.name: one
    for one in (
        ListHost(name="opencode", messages=opencode.messages, summary=opencode.summary, asked=opencode.asked),
        ListHost(name="pi", messages=pi.messages, summary=pi.summary, asked=pi.asked),
    )
}
