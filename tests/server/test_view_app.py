"""The page as an MCP App: named by the tools, served whole, answered as `palimpsest-mcp view` answers it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import quote

import pytest
from mcp import Client
from mcp.server.apps import APP_MIME_TYPE
from mcp.shared.exceptions import MCPError
from mcp.types import TextResourceContents

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.server.resources import URI
from palimpsest_mcp.server.server import build_server
from palimpsest_mcp.web.answers import Answers

from ..conftest import first_of
from .test_resources import ERAS, SECRET
from .test_tools import server_over

pytestmark = pytest.mark.anyio


@pytest.fixture(params=first_of(reversed(ERAS)))
async def client(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Client]:
    async with Client(server_over(tmp_path / "home"), mode=request.param) as connected:
        yield connected


async def read(client: Client, uri: str) -> TextResourceContents:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content


async def asked(client: Client, key: str) -> str:
    return (await read(client, f"palimpsest://view/{quote(key, safe='')}")).text


async def test_two_tools_name_the_page_and_the_page_comes_whole(client: Client) -> None:
    tools = (await client.list_tools()).tools
    assert {one.name for one in tools if (one.meta or {}).get("ui") == {"resourceUri": URI}} == {
        "check_context_ratio",
        "list_offloaded",
    }
    page = await read(client, URI)
    assert page.mime_type == APP_MIME_TYPE and page.text.endswith("</html>\n")
    assert '<script type="application/json" id="stored" data-from="host"></script>' in page.text


async def test_the_page_is_answered_as_in_a_browser_and_masked(
    client: Client, with_secret: str, tmp_path: Path
) -> None:
    handle = with_secret
    async with Palimpsest.open(tmp_path / "home") as p:
        answers = Answers(p)
        for key, route, given in (
            ("store", "store", {}),
            (f"session?session={handle}", "session", {"session": handle}),
            (f"items?session={handle}&offset=0", "items", {"session": handle, "offset": "0"}),
            (f"item?session={handle}&item=call_0", "item", {"session": handle, "item": "call_0"}),
            ("search?q=OPS-77", "search", {"q": "OPS-77"}),
        ):
            found = await asked(client, key)
            assert json.loads(found) == json.loads(json.dumps(await answers.reads[route](given))), key
            assert SECRET not in found


@pytest.mark.parametrize("key", ["undo?session=s", "../secret", "session?session=nobody", "item"])
async def test_it_changes_nothing_and_says_what_can_be_asked(client: Client, with_secret: str, key: str) -> None:
    with pytest.raises(MCPError) as refused:
        await asked(client, key)
    said = json.loads(str(refused.value)[str(refused.value).index("{") :])
    assert said["code"] and said["message"] and said["next"]


async def test_a_host_that_shows_no_apps_is_told_of_none(tmp_path: Path) -> None:
    hooked = build_server(lambda: Palimpsest.open(tmp_path / "home"), warm=lambda: None, hooks=True)
    async with Client(hooked) as client:
        assert not [one for one in (await client.list_tools()).tools if (one.meta or {}).get("ui")]
        assert URI not in {str(one.uri) for one in (await client.list_resources()).resources}
