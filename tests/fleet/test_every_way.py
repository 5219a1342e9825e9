"""Whatever a caller may call, it gets nothing of another tenant or principal, and changes nothing there.

The ways are the server's own lists: tools, resources, templates, completions, prompts, routes of the page, methods of
the library. Each is given the victim's own names by the names of its parameters, so a new way is tried without a line
here, and one with a parameter of a new name fails until `given` says what an attacker would give.
"""

from __future__ import annotations

import inspect
import io
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import PromptReference, ResourceTemplateReference

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import PalimpsestError
from palimpsest_mcp.models.tools import TOOLS
from palimpsest_mcp.server.server import build_server
from palimpsest_mcp.settings.settings import Settings
from palimpsest_mcp.store.disk_store import DiskStore
from palimpsest_mcp.web.answers import Answers

from ..conftest import first_of
from .cluster import Cluster

pytestmark = pytest.mark.anyio
SECRET = "marmoset"
"""Stands in everything that the victim has, and in nothing that an attacker says."""
Caller: TypeAlias = tuple[str, str]
"""What comes after the victim's tenant, and the principal; the victim is ada."""
ATTACKERS = {
    "another tenant": ("-b", "ada"),
    "another principal": ("", "bob"),
    "the local user": ("", ""),
    "the owner of another tenant": ("-b", ""),
}
EVERYTHING = frozenset({"backup", "migrate", "pack", "purge", "repair", "retain", "status", "verify"})
"""What looks after a whole tenant, for its owner, who is the local user."""
OF_NO_STORE = {
    "open": "the attack itself",
    "store": "every port of it is tried in test_isolation.py",
    "deps": "the parts that the library is made of",
    "subscribe": "hears of passes of this object",
    "gateway": "a server, which keeps what it is sent",
    "watch": "reads the files of this machine's user",
    "may_read_ahead": "a yes or no of this object, and no for every principal",
}
"""Members of the library that ask the store nothing, each with why."""


NOTHING: dict[str, Any] = {}
NAMES = (
    "session_id",
    "session",
    "batch_id",
    "batch",
    "item_id",
    "item",
    "task",
    "project",
    "skill",
    "parent",
    "matching",
)
"""Parameters that name what there is, and so may reach for another's, where a call needs none of them."""
MEANS_NOTHING = """
accept_losses above_tokens also args auto close_blockers cursor days detail digests down_to_bytes edited environ event
everywhere fields focus force form full grep host hosts intent_changed keep_last limit line lines max_tokens model most
noted number offset once options pin plan_id policy regex reinstate section size status strategy supersede system target
thinking tool_name transcript_path unpin used_tokens user_home view whole window_tokens
"""
"""Parameters that name nothing that anybody has."""
TELLING = {
    "tools": """
        compact_experience list_offloaded load_handoff restore_batch search_offloaded update_summary write_handoff""",
    "resources": """
        sessions sessions/{session}/context sessions/{session}/summary sessions/{session}/batches/{batch}
        sessions/{session}/batches/{batch}/items/{item} handoffs/{name} experience/{skill} view/{asked}store
        view/{asked}item view/{asked}items view/{asked}search view/{asked}handoffs view/{asked}experience""",
    "prompts": "resume start_phase",
    "page": "experience handoffs item items search store",
    "library": """
        beside_batch beside_item experience_advice handoffs iter_offloaded list_offloaded load_handoff
        read_handoff record restore restore_batch search_offloaded show_context summary summary_markdown""",
}
"""Ways that tell the victim itself what it has: the attacks on them are no blanks."""


def texts(word: str) -> list[dict[str, Any]]:
    """A message list of which a pass takes results; the first line of each has what an attacker may know, too."""
    found: list[dict[str, Any]] = [{"role": "user", "content": f"giraffe: find the {word}"}]
    for n in range(8):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": f'{{"p": "{word}{n}"}}'}}
        rows = f"giraffe {word}\n" + "\n".join(f"{n}{row:03d} {word} port 8080 refused" for row in range(80))
        found += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": rows},
        ]
    return [*found, {"role": "assistant", "content": f"Next: {word}."}]


class Victim:
    """What ada has, and what an attacker knows of it: every name."""

    def __init__(self, place: Path, cluster: Cluster, tenant: str) -> None:
        self.place, self._cluster, self._tenant = place, cluster, tenant
        self.names: dict[str, str] = {}

    def opened(self, after: str = "", principal: str = "ada") -> AbstractAsyncContextManager[Palimpsest]:
        """The store for a caller: of another tenant at another server, in another home."""
        home = self.place / f"home{after}"
        settings = Settings.load(
            home=home, store=self._cluster.pooled, tenant=self._tenant + after, skills_roots=[str(home / "skills")]
        )
        return Palimpsest.open(settings=settings, principal=principal)

    async def fill(self) -> None:
        """Something of everything."""
        async with self.opened() as p:
            await p.compact_messages(
                texts(SECRET), session_id="open-session", window_tokens=9_000, target=0.3, force=True
            )
            await p.update_summary("open-session", {"next_steps": [f"the {SECRET} first"]})
            await p.write_handoff("open-session", "giraffe task", phase="research", fields={"understanding": SECRET})
            for n in range(6):
                event = {"outcome": "success", "winning_pattern": f"{SECRET} and pain", "metrics": {"yield": 9}}
                await p.record_experience("tame-giraffes", {**event, "session_id": f"e{n}"})
            await p.compact_experience("tame-giraffes")
            batches = await p.list_offloaded("open-session")
            self.names = {
                "session": (await p.session("open-session")).handle,
                "batch": batches[0].batch_id,
                "item": batches[0].item_ids[0],
                "handoff": (await p.handoffs(project="*"))[0].name,
            }

    def given(self, **more: Any) -> dict[str, Any]:
        """By the name of a parameter what an attacker gives for it."""
        names = self.names
        own = self.place / "own.json"
        own.write_text(json.dumps({"messages": texts("lion")}))
        return {
            **dict.fromkeys(("session_id", "session", "parent", "ended_session", "host_session_id"), names["session"]),
            **dict.fromkeys(("batch_id", "batch"), names["batch"]),
            **dict.fromkeys(("item_id", "item", "call_id"), names["item"]),
            **dict.fromkeys(("query", "q", "matching"), "giraffe"),
            **dict.fromkeys(("task", "name"), names["handoff"]),
            **{"skill": "tame-giraffes", "rule": "r1", "project": "*", "session_ids": [names["session"]]},
            **{"items": [{"role": "user", "content": "lion"}], "messages": texts("lion"), "rows": []},
            **{"payload": {"session_id": names["session"]}, "phase": "research"},
            **{"sections": {"next_steps": ["lion"]}, "result": "lion", "restored": (), "texts": (), "line": "1"},
            **{"dry_run": False, "path": own, "target": self.place / "backup", "file": io.BytesIO()},
            **more,
        }

    async def state(self) -> list[str]:
        """Everything, as it stands: attacks change nothing of it."""
        async with self.opened() as p:
            batches = await p.list_offloaded("open-session")
            originals = [one.text for batch in batches for one in await p.restore_batch("open-session", batch.batch_id)]
            return [
                *originals,
                await p.summary_markdown("open-session"),
                await p.compacted_view("open-session"),
                await p.read_handoff(self.names["handoff"]),
                (await p.experience_show("tame-giraffes")).text,
                *(one.session_id for one in await p.sessions()),
            ]


@pytest.fixture
async def victim(cluster: Cluster, tmp_path: Path, tenant: str) -> Victim:
    one = Victim(tmp_path, cluster, tenant)
    await one.fill()
    return one


async def tools(victim: Victim, caller: Caller) -> dict[str, str]:
    """Every tool, with every argument that names something."""
    found: dict[str, str] = {}
    for hooks in (False, True):
        async with served(victim, caller, hooks=hooks) as client:
            for tool in (await client.list_tools()).tools:
                example: dict[str, Any] = json.loads(TOOLS[tool.name].example)
                for arguments in calls(example, tool.input_schema["properties"], victim.given()):
                    found[way(tool.name, arguments)] = repr(await client.call_tool(tool.name, arguments))
    assert {one.partition("(")[0] for one in found} == set(TOOLS)
    return found


async def resources(victim: Victim, caller: Caller) -> dict[str, str]:
    """Every resource and template, and what each completes."""
    found: dict[str, str] = {}
    async with victim.opened(*caller) as p:
        routes = list(Answers(p).reads)
    async with served(victim, caller) as client:
        for one in (await client.list_resources()).resources:
            if not one.uri.startswith("ui://"):  # the page itself, as it stands in the package
                found[one.uri] = await told(client.read_resource(one.uri))
        for template in (await client.list_resource_templates()).resource_templates:
            uri = template.uri_template
            names = re.findall(r"{(\w+)}", uri)
            given = {name: str(value) for name, value in victim.given().items()}
            for asked in routes if names == ["asked"] else [""]:
                query = urlencode({name: given[name] for name in ("session", "batch", "item", "q", "rule")})
                filled = {**given, "asked": f"{asked}?{query}"}
                path = uri.format_map({name: quote(filled[name], safe="") for name in names})
                found[f"{uri}{asked}"] = await told(client.read_resource(path))
            ref = ResourceTemplateReference(type="ref/resource", uri=uri)
            for name in names:
                found[f"{uri} {name}"] = repr(await client.complete(ref, {"name": name, "value": ""}, given))
    return found


async def prompts(victim: Victim, caller: Caller) -> dict[str, str]:
    """Every prompt, and what each completes."""
    found: dict[str, str] = {}
    async with served(victim, caller) as client:
        for prompt in (await client.list_prompts()).prompts:
            names = [one.name for one in prompt.arguments or ()]
            for arguments in calls({}, names, victim.given()):
                found[way(prompt.name, arguments)] = await told(client.get_prompt(prompt.name, arguments))
            ref = PromptReference(type="ref/prompt", name=prompt.name)
            for name in names:
                found[f"{prompt.name} {name}"] = repr(await client.complete(ref, {"name": name, "value": ""}, {}))
    return found


async def page(victim: Victim, caller: Caller) -> dict[str, str]:
    """Every route of the page, those that change something among them."""
    found: dict[str, str] = {}
    async with victim.opened(*caller) as p:
        answers = Answers(p)
        for route, answer in {**answers.reads, **answers.writes}.items():
            asked = {name: str(value) for name, value in victim.given().items() if isinstance(value, str)}
            found[route] = await told(answer(asked))
            found[f"{route}, all sessions"] = await told(answer({**asked, "session": ""}))
    return found


async def library(victim: Victim, caller: Caller) -> dict[str, str]:
    """Every method of the library, with every argument that names something."""
    found: dict[str, str] = {}
    members = {name for name in dir(Palimpsest) if not name.startswith("_")} - set(OF_NO_STORE)
    if caller == ATTACKERS["the local user"]:
        members -= EVERYTHING
    async with victim.opened(*caller) as p:
        for name in sorted(members, key=lambda one: (one in EVERYTHING, one)):
            method = getattr(p, name)
            parameters = inspect.signature(method).parameters.values()
            needed = [
                one.name
                for one in parameters
                if one.name == "dry_run" or (one.default is one.empty and one.kind is not one.VAR_KEYWORD)
            ]
            given = {**(json.loads(TOOLS[name].example) if name in TOOLS else NOTHING), **victim.given()}
            for arguments in calls({one: given[one] for one in needed}, [one.name for one in parameters], given):
                found[way(name, arguments)] = await told(method(**arguments))
        if (copy := victim.place / "backup").exists():
            found["backup(target)"] += SECRET * bool(await DiskStore(copy).traces(lambda text: SECRET in text))
    return found


WAYS: dict[str, Callable[[Victim, Caller], Awaitable[dict[str, str]]]] = {
    one.__name__: one for one in (tools, resources, prompts, page, library)
}


@asynccontextmanager
async def served(victim: Victim, caller: Caller, *, hooks: bool = False) -> AsyncGenerator[Client]:
    async with Client(build_server(lambda: victim.opened(*caller), warm=lambda: None, hooks=hooks)) as client:
        yield client


def calls(example: Mapping[str, Any], names: Iterable[str], given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What is needed, with the victim's names; then the same with each further name that means something of his."""
    needed = {name: given.get(name, value) for name, value in example.items()}
    yield needed
    for name in names:
        if name in NAMES and name not in needed:
            yield {**needed, name: given[name]}
        else:
            assert name in given or name in MEANS_NOTHING.split(), (
                f"{name}: say in `given` what an attacker gives for it"
            )


def way(name: str, arguments: Mapping[str, Any]) -> str:
    return f"{name}({', '.join(arguments)})"


async def told(answer: Any) -> str:
    """Everything that a call gives, an error's words among it."""
    try:
        if inspect.isasyncgen(answer):
            return repr([one async for one in answer])
        return repr(await answer if inspect.isawaitable(answer) else answer)
    except (PalimpsestError, MCPError) as error:
        return repr((error, vars(error)))


@pytest.mark.parametrize("ways", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("attacker", first_of([(one,) for one in ATTACKERS.values()]), ids=ATTACKERS)
async def test_no_way_tells_a_caller_anything_of_anothers_or_changes_it(
    victim: Victim, attacker: Caller, ways: Callable[[Victim, Caller], Awaitable[dict[str, str]]]
) -> None:
    before = await victim.state()
    found = await ways(victim, attacker)
    assert not {one: text for one, text in found.items() if SECRET in text}
    assert await victim.state() == before


@pytest.mark.parametrize("name", first_of(WAYS, kept=2))
async def test_the_same_ways_tell_the_victim_itself_what_it_has(victim: Victim, name: str) -> None:
    found = await WAYS[name](victim, ("", "ada"))
    telling = {one.partition("(")[0].removeprefix("palimpsest://") for one, text in found.items() if SECRET in text}
    assert telling >= set(TELLING[name].split()), found.get("backup(target)")
