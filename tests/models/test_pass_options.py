"""An option of a pass is listed once; what the faces and the library offer is made from that."""

from __future__ import annotations

import inspect

import click
import msgspec

from palimpsest_mcp.cli.compact import compact
from palimpsest_mcp.models.plans import PassOptions, SessionPassKeywords, offers
from palimpsest_mcp.server.tools_context import compact_session

OPTIONS = {field.name for field in msgspec.structs.fields(PassOptions)}


def test_every_option_is_a_keyword_of_the_library() -> None:
    assert set(SessionPassKeywords.__annotations__) == OPTIONS


def test_what_is_offered_to_agents_is_an_argument_of_the_tool() -> None:
    offered = [name for name, *_, offer in offers() if offer.to_agents]
    assert list(inspect.signature(compact_session).parameters) == ["ctx", "session_id", *offered]


def test_what_is_offered_to_people_is_a_flag_with_the_same_default() -> None:
    flags = {one.name: one.get_default(click.Context(compact)) for one in compact.params}
    offered = {name: default for name, _, default, offer in offers() if offer.help}
    assert offered == {name: flags[name] for name in offered}
