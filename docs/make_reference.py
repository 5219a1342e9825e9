"""Writes api.md, commands.md, tools.md, settings.md and a table of specifics.md from the code.

    python docs/make_reference.py

Calls of the library, commands with their help, tools with their arguments, settings and policies with their defaults:
the sentences are those of the program, so that code and page cannot disagree. Texts that the reference needs beside
them stand here.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from palimpsest_mcp import Palimpsest
from palimpsest_mcp.cli.main import program
from palimpsest_mcp.models import plans
from palimpsest_mcp.models.tools import TOOLS
from palimpsest_mcp.settings import settings
from palimpsest_mcp.settings.places import Secret
from palimpsest_mcp.text.specifics.registry import CLASSES

DOCS = Path(__file__).resolve().parent
NOTE = "<!-- Written by docs/make_reference.py; do not edit. -->"
CLASSES_TABLE = re.compile(r"(<!-- classes: written by .*?\n\|---.*?\n).*?(\n<!-- end of classes -->)", re.DOTALL)
SHARED = ("home", "store", "json", "help")
CITED = re.compile(r"\s*\((?:[A-Z]\d+|seeds? [^)]*)\)")
"""Where our own rules stand, which a reader of the pages has no use for."""

COMMANDS = f"""\
# Commands

{NOTE}

Every command also takes `--home FOLDER`, `--store URL`, `--json` and `--help`. [The command line](cli.md) shows them at
work; exit statuses are in [errors.md](errors.md).
"""
TOOLS_HEAD = f"""\
# MCP tools

{NOTE}

`palimpsest-mcp serve` speaks MCP (2025-11-25 and 2026-07-28) over standard input and output, `serve --http` over HTTP
([http.md](http.md)). The tools together cost a session under 1,300 tokens; `serve --tools core` lists nine of them for
600. A failure is an error with `code`, sentence and next step ([errors.md](errors.md)). Text that comes from the store
is fenced and labelled as data. Secrets are masked, except in what `restore_batch` gives back.

`session_id` is an id, a handle, four or more characters with which only one of them begins, or the path of the file
that a session was read from; `"new"` starts one. A name that no session has is refused, with those that are near. By
default any caller reads every session of the store; `serve --only-session SESSION` answers for that one alone.

**Resources.** `palimpsest://sessions`, `palimpsest://sessions/{{session}}/context`, `…/summary`, `…/batches`,
`…/batches/{{batch}}`, `…/batches/{{batch}}/items/{{item}}`, `palimpsest://handoffs`, `palimpsest://handoffs/{{name}}`,
`palimpsest://experience`, `palimpsest://experience/{{skill}}`; `ui://palimpsest/view.html` and `palimpsest://view/{{asked}}`
are the page as an MCP App. Reading one changes nothing. Names in them are completed; changes are announced.

**Prompts.** `handoff` writes a handoff, `resume` continues from one, `start_phase` begins the next phase, and
`what_was_dropped` tells what left a session and how it comes back.
"""
ARGUMENTS = {
    "session_id": "id or handle",
    "used_tokens": "tokens in the context, as the provider reported them",
    "window_tokens": "size of the context window, less what the host holds back for an answer",
    "model": "model id: decides the tokenizer's factor and the usual window",
    "transcript_path": "a `.jsonl` file under `~/.claude/projects`, from which the provider's own numbers are read",
    "cursor": "`next_cursor` of the page before",
    "detail": "more of each item",
    "unpin": "ids to release",
    "dry_run": "show what would change; nothing is written",
    "batch_id": "such as `offload_0007`",
    "query": "words; quotes make a phrase",
    "limit": "at most so many hits",
    "item_id": "one item of the batch",
    "max_tokens": "of this page, up to 15,000",
    "intent_changed": "whether a new intent replaces the old one",
    "task": "what it is about; the same words find it again",
    "project": "another project, by path or last folder; `*` for any",
    "skill": "name of the skill's folder",
}
"""Where a tool's schema says nothing, since every word in it costs each session."""
SETTINGS_HEAD = f"""\
# Settings

{NOTE}

Strongest first: an argument of the call, an environment variable, the settings file, the preset or default. The file is
`config.toml` in the store's root, or what `PALIMPSEST_CONFIG` names; `some_key` is `PALIMPSEST_SOME_KEY` in the
environment. `palimpsest-mcp config show` prints each value with its source. An unknown key is an error that names the
nearest one.

    # config.toml
    window_tokens = 200000

    [policy]
    default = "mine"

    [policy.mine]
    base = "research"
    keep_last_k_tool_results = 8

| setting | default | meaning |
|---|---|---|
"""
API_HEAD = f"""\
# Library calls

{NOTE}

Methods of `palimpsest_mcp.Palimpsest`; [the library](library.md) shows them at work. `session_id` may be a handle.
What the options of a pass mean: [commands](commands.md#compact).

| call | what it does |
|---|---|
"""
POLICIES_HEAD = """
## Policies

A policy says when a pass runs and what it may take. `research` comes down from 0.70 of the window to 0.40 and keeps the
newest 12 results; `anchored` from 0.70 to 0.50, the last 5 messages; `phased` from 0.40 to 0.30, in five bands. In the
environment a field is `PALIMPSEST_POLICY__FIELD`. Shares are 0.0 to 1.0 of the effective window. Whatever a policy
says, the newest three results, the original query, the newest request, the system prompt and pinned items stay.

| field | `research` | meaning |
|---|---|---|
"""


def leaves(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """A command, or those of a group."""
    if not isinstance(command, click.Group):
        yield command, context
        return
    for name in command.list_commands(context):
        if (inner := command.get_command(context, name)) is not None:
            yield from leaves(inner, click.Context(inner, info_name=name, parent=context))


def section(name: str, command: click.Command, top: click.Context) -> str:
    """What `--help` says of one command, as a page has it."""
    parts = [f"\n## {name}\n"]
    for leaf, context in leaves(command, click.Context(command, info_name=name, parent=top)):
        usage = leaf.get_usage(context).removeprefix("Usage: ")
        said = re.sub(r"\n\n\n+", "\n\n", inspect.cleandoc(leaf.help or "").replace("\b", ""))
        parts.append(f"\n    {' '.join(usage.split())}\n\n{said}\n")
        options = [one for one in leaf.params if isinstance(one, click.Option) and one.name not in SHARED]
        shown = [one for one in options if not one.hidden and set(one.opts).isdisjoint({"--home", "--store", "--json"})]
        if shown:
            parts.append("\n| option | meaning |\n|---|---|\n")
        parts.extend(option(one, context) for one in shown)
    return "".join(parts)


def option(one: click.Option, context: click.Context) -> str:
    name, words = one.get_help_record(context) or ("", "")
    name = " ".join(name.split())
    return f"| `{cell(name)}` | {cell(words)} |\n"


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def commands() -> str:
    """The page of commands."""
    top = click.Context(program, info_name="palimpsest-mcp")
    found = ((name, program.get_command(top, name)) for name in program.list_commands(top))
    return COMMANDS + "".join(section(name, command, top) for name, command in found if command is not None)


def tools() -> str:
    """The page of tools."""
    return TOOLS_HEAD + "".join(asyncio.run(_tools()))


async def _tools() -> list[str]:
    from mcp.client import Client

    from palimpsest_mcp.server.server import build_server

    async with Client(build_server(lambda: Palimpsest.open(), warm=lambda: None)) as client:
        listed = (await client.list_tools()).tools
    parts: list[str] = []
    for tool in listed:
        parts.append(f"\n## {tool.name}\n\n{tool.description}\n\n| argument | type | meaning |\n|---|---|---|\n")
        for name, schema in tool.input_schema.get("properties", {}).items():
            words = schema.get("description") or ARGUMENTS[name]
            parts.append(f"| `{name}` | {schema['type']} | {cell(words)} |\n")
        parts.append(f"\n```json\n{TOOLS[tool.name].example}\n```\n")
    return parts


def fields(module: ModuleType, name: str) -> dict[str, str]:
    """Name -> docstring of each field of a class."""
    body = next(
        one for one in ast.parse(inspect.getsource(module)).body if isinstance(one, ast.ClassDef) and one.name == name
    ).body
    said: dict[str, str] = {}
    for one, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            words = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else ""
            said[one.target.id] = CITED.sub("", " ".join(str(words).split())).rstrip(".")
    return said


def value(default: Any) -> str:
    """A default as a person writes it."""
    if isinstance(default, Secret):
        default = default.get_secret_value()
    if default is None or default in ("", (), [], {}):
        return ""
    if default == plans.Policy().zones:
        return ", ".join(f"{one.name} from {one.start:g}" for one in plans.Policy().zones)
    if isinstance(default, float):
        return f"{default:g}"
    return f"`{cell(default if isinstance(default, str) else json.dumps(default))}`"


def settings_page() -> str:
    """The page of settings."""
    said = fields(settings, "Values")
    usual = settings.Values()
    rows = [
        f"| `{name}` | {'' if name == 'home' else value(getattr(usual, name))} | {cell(said[name])} |\n"
        for name in settings.NAMES
    ]
    policy, words = plans.Policy(), fields(plans, "Policy")
    of = [f"| `{name}` | {value(getattr(policy, name))} | {cell(words[name])} |\n" for name in policy.__struct_fields__]
    return SETTINGS_HEAD + "".join(rows) + POLICIES_HEAD + "".join(of)


def api() -> str:
    """The page of the library."""
    rows: list[str] = []
    for name, call in inspect.getmembers(Palimpsest, callable):
        if name.startswith("_") or not call.__doc__:
            continue
        given = [one for one in inspect.signature(call).parameters.values() if one.name not in ("self", "cls")]
        names = [
            f"{one.name}="
            if one.kind is one.KEYWORD_ONLY
            else f"**{one.name}"
            if one.kind is one.VAR_KEYWORD
            else one.name
            for one in given
        ]
        said = CITED.sub("", " ".join(inspect.cleandoc(call.__doc__).split("\n\n")[0].split()))
        rows.append(f"| `{name}({', '.join(names)})` | {cell(said)} |\n")
    return API_HEAD + "".join(rows)


def specifics() -> str:
    """The page of specifics, with its table of classes."""
    rows = [
        f"| `{one.name}` | {one.description} | `{one.example}` | {one.weight:g}{' ·' if one.first_rank else ''} |\n"
        for one in CLASSES
    ]
    page = (DOCS / "specifics.md").read_text("utf-8")
    return CLASSES_TABLE.sub(lambda found: found[1] + "".join(rows) + found[2], page)


PAGES = {
    "specifics.md": specifics,
    "api.md": api,
    "commands.md": commands,
    "tools.md": tools,
    "settings.md": settings_page,
}


if __name__ == "__main__":
    for file, made in PAGES.items():
        (DOCS / file).write_text(made(), encoding="utf-8")
