"""The pages name everything that an outsider may rely on, and nothing that does not exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import msgspec
import pytest

from palimpsest_mcp.errors import PalimpsestError

CHECKOUT = Path(__file__).resolve().parents[2]
DOCS = CHECKOUT / "docs"


def sections(page: str) -> dict[str, str]:
    """Text under each `## heading`."""
    parts = re.split(r"^## (.+)\n", (DOCS / page).read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def first_cells(text: str) -> set[str]:
    """What stands in backticks at the start of each table row."""
    return set(re.findall(r"^\| `([^`]+)`", text, flags=re.MULTILINE))


def test_the_page_of_errors_is_what_its_script_writes() -> None:
    code = "import runpy, sys; page = runpy.run_path(sys.argv[1], run_name='page')['page'](); sys.stdout.write(page)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(DOCS / "make_errors.py")], capture_output=True, check=True, encoding="utf-8"
    )
    assert (DOCS / "errors.md").read_text("utf-8") == done.stdout, "run: python docs/make_errors.py"


def test_the_picture_of_the_house_is_what_its_script_writes() -> None:
    code = (
        "import runpy, sys, pathlib; made = runpy.run_path(sys.argv[1], run_name='page')"
        "; sys.stdout.write(made['page'](pathlib.Path(sys.argv[2]).read_text('utf-8')))"
    )
    page = CHECKOUT / "CONTRIBUTING.md"
    done = subprocess.run(
        [sys.executable, "-c", code, str(DOCS / "make_house.py"), str(page)],
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    assert page.read_text("utf-8") == done.stdout, "run: python docs/make_house.py"


def test_every_place_that_a_contributor_is_sent_to_exists() -> None:
    text = (CHECKOUT / "CONTRIBUTING.md").read_text("utf-8")
    way = text.partition("The way of one result:")[2].partition("A change is one commit")[0]
    changes = text.partition("## Where a change goes")[2].partition("\n## ")[0]
    places = re.findall(r"`([a-z_]+(?:/[a-z_*]+)+(?:\.[a-z]+)?)`", way + changes)
    assert len(places) > 30
    assert [one for one in places if not list((CHECKOUT / "src" / "palimpsest_mcp").glob(one))] == []


def coded(base: type[PalimpsestError] = PalimpsestError) -> set[type[PalimpsestError]]:
    """Every error with a code of its own."""
    below = {deeper for sub in base.__subclasses__() for deeper in coded(sub)}
    return below | {sub for sub in base.__subclasses__() if "code" in vars(sub)}


def test_every_error_code_has_one_exit_status_and_the_other_way_round() -> None:
    errors = coded()
    assert len(errors) > 20
    assert len({error.code for error in errors}) == len({error.exit_status for error in errors}) == len(errors)


def commands() -> dict[str, click.Command]:
    from palimpsest_mcp.cli.main import program

    context = click.Context(program)
    found = {name: program.get_command(context, name) for name in program.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def test_every_command_has_its_section() -> None:
    assert set(sections("cli.md")) == set(commands())


def test_every_option_is_in_the_section_of_its_command_and_no_other() -> None:
    shared = {"--home", "--store", "--json", "--help"}
    for name, command in commands().items():
        leaves = list(command.commands.values()) if isinstance(command, click.Group) else [command]
        options = {
            flag
            for leaf in leaves
            for parameter in leaf.params
            if isinstance(parameter, click.Option)
            for flag in parameter.opts
            if flag.startswith("--")
        }
        named = set(re.findall(r"--[a-z][a-z-]*", sections("cli.md")[name]))
        assert options - shared <= named, f"{name}: not documented: {sorted(options - shared - named)}"
        assert named - shared <= options, f"{name}: no such option: {sorted(named - shared - options)}"


def test_every_subcommand_is_in_the_section_of_its_group() -> None:
    for name, command in commands().items():
        if isinstance(command, click.Group):
            for inner in command.commands:
                assert f"{name} {inner}" in sections("cli.md")[name], f"{name} {inner} is not documented"


@pytest.mark.anyio
async def test_every_tool_and_argument_is_on_the_page_of_tools() -> None:
    from mcp.client import Client

    from palimpsest_mcp.core.palimpsest import Palimpsest
    from palimpsest_mcp.server.server import build_server

    server = build_server(lambda: Palimpsest.open(), warm=lambda: None)
    async with Client(server) as client:
        tools = {tool.name: set(tool.input_schema.get("properties", {})) for tool in (await client.list_tools()).tools}
    documented = {name: first_cells(text) for name, text in sections("tools.md").items()}
    assert documented == tools


def test_every_setting_is_on_the_page_of_settings() -> None:
    from palimpsest_mcp.settings.settings import NAMES

    text = (DOCS / "settings.md").read_text("utf-8").split("## Policies")[0]
    assert first_cells(text) == set(NAMES)


def test_every_field_of_a_policy_is_on_the_page_of_settings() -> None:
    from palimpsest_mcp.models.plans import Policy

    assert first_cells(sections("settings.md")["Policies"]) == {field.name for field in msgspec.structs.fields(Policy)}


def test_the_defaults_on_the_page_are_those_of_the_research_policy() -> None:
    from palimpsest_mcp.models.plans import Policy

    policy = Policy()
    for name, default in re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", sections("settings.md")["Policies"], re.MULTILINE):
        assert getattr(policy, name) == float(default), name


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", CHECKOUT / "CHANGELOG.md", *DOCS.glob("*.md")]:
        for target in re.findall(r"\]\((?!https?://|#|mailto:)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
