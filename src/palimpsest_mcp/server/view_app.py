"""The local page as an MCP App: hosts that show apps put it beside the answer of a tool; others have the text.

The page is one HTML document at `ui://palimpsest/view.html`. What it asks goes through its host as `resources/read` of
`palimpsest://view/…`, and is answered as `palimpsest-mcp view` answers it: masked, of the caller's own sessions, and
only to look at.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

from mcp.server.apps import APP_MIME_TYPE, Apps
from mcp.server.mcpserver.resources.templates import ResourceSecurity

from ..errors import InvalidArgument
from ..web.answers import Answers
from ..web.app import hosted_page
from .lifespan import Call, OpenOnFirstUse, facade_of
from .slim import SlimServer

URI = "ui://palimpsest/view.html"
ASKED = "palimpsest://view/{asked}"
JSON = "application/json"
SAFE_AS_IT_IS = frozenset({JSON, APP_MIME_TYPE})
"""Types of what is not masked again: the answers are masked value by value, the page holds nothing of a store."""


def view_app() -> Apps:
    """The page, for `MCPServer(extensions=…)`."""
    apps = Apps()
    apps.add_html_resource(URI, hosted_page(), name="view", title="What fills the window", prefers_border=True)
    return apps


def add_view(server: SlimServer[OpenOnFirstUse]) -> None:
    """Answer what the page asks."""
    add = server.resource(
        ASKED,
        name="view",
        title="What the page asks",
        description="For the page of this server, as JSON: a route and its query, such as session?session=s7f3k.",
        mime_type=JSON,
        security=ResourceSecurity(exempt_params={"asked"}),  # a route of ours, never a path
    )
    add(view)


async def view(ctx: Call, asked: str) -> str:
    """One answer of the page.

    Raises:
        InvalidArgument: the page has no such route.
    """
    route, _, query = asked.partition("?")
    answers = Answers(await facade_of(ctx))
    if route not in answers.reads:
        raise InvalidArgument(
            f"The page asks nothing of this name: {route!r}.", next=f"Ask {', '.join(answers.reads)}."
        )
    found: dict[str, Any] = await answers.reads[route](dict(parse_qsl(query, keep_blank_values=True)))
    return json.dumps(found)
