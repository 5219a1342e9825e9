"""The pages name everything that an outsider may rely on, and nothing that does not exist."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

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


def test_every_room_says_what_is_in_it_and_names_only_what_is_there() -> None:
    source = CHECKOUT / "src" / "palimpsest_mcp"
    for first in source.rglob("*/__init__.py"):
        said = ast.get_docstring(ast.parse(first.read_text("utf-8"))) or ""
        named = re.findall(r"`([a-z_]+)(?:\.py|\.[A-Za-z_]+|/)?`", said)
        is_room = first.parent.parent == source
        assert len(named) > 1 or not is_room, f"{first}: what does a stranger begin with?"
        there = {path.stem for folder in (source, first.parent) for path in folder.iterdir()}
        assert [one for one in named if one not in there] == [], first


def test_what_a_docstring_names_elsewhere_is_there() -> None:
    source = CHECKOUT / "src" / "palimpsest_mcp"
    rooms = "|".join(sorted(path.parent.name for path in source.glob("*/__init__.py")))
    looked, missing = 0, list[str]()
    for path in source.rglob("*.py"):
        text = path.read_text("utf-8")
        for place in re.findall(rf"`((?:{rooms})(?:/\w+)+\.py)`", text):
            looked, missing = looked + 1, missing + ([] if (source / place).exists() else [f"{path}: {place}"])
        for module, name in re.findall(rf"`((?:{rooms})(?:\.[a-z_]+)+)\.([A-Za-z_]+)`", text):
            file = source / f"{module.replace('.', '/')}.py"
            there = file.exists() and re.search(rf"\b{name}\b", file.read_text("utf-8"))
            looked, missing = looked + 1, missing + ([] if there else [f"{path}: {module}.{name}"])
    assert looked > 30
    assert missing == []


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


def test_the_reference_is_what_its_script_writes() -> None:
    code = (
        "import json, runpy, sys; pages = runpy.run_path(sys.argv[1], run_name='page')['PAGES']"
        "; json.dump({name: page() for name, page in pages.items()}, sys.stdout)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(DOCS / "make_reference.py")], capture_output=True, check=True, encoding="utf-8"
    )
    written: dict[str, str] = json.loads(done.stdout)
    assert set(written) == {"api.md", "commands.md", "settings.md", "specifics.md", "tools.md"}
    for name, page in written.items():
        assert (DOCS / name).read_text("utf-8") == page, f"{name}: run: python docs/make_reference.py"


def test_every_command_option_tool_argument_setting_and_field_stands_in_the_reference_with_words() -> None:
    for name in ("api.md", "commands.md", "settings.md", "tools.md"):
        rows = re.findall(r"^\| (`.*) \|$", (DOCS / name).read_text("utf-8"), re.MULTILINE)
        assert len(rows) > 30, name
        assert [row for row in rows if not re.split(r" \| ", row)[-1].strip()] == [], name


REFERENCE = {"api.md", "commands.md", "errors.md", "format.md", "settings.md", "tools.md"}
MOST_WORDS = 13_500


def test_the_pages_for_users_are_short() -> None:
    """About half of the 27,000 words that a reviewer counted; reference and tables that a program writes are apart."""
    words = 0
    for page in DOCS.glob("*.md"):
        if page.name not in REFERENCE:
            text = re.sub(r"<!-- (\w+): written by.*?<!-- end of \1 -->", "", page.read_text("utf-8"), flags=re.DOTALL)
            words += sum(bool(re.search(r"[^\W\d_]", word)) for word in text.split())
    assert words <= MOST_WORDS, words


OUTSIDE_THE_SITE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "examples/README.md")


def headings(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_link_between_pages_leads_somewhere() -> None:
    links = 0
    for page in [*(CHECKOUT / name for name in OUTSIDE_THE_SITE), *DOCS.glob("*.md")]:
        text = re.sub(r"^~~~.*?^~~~", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)  # quoted digests
        for target, anchor in re.findall(r"\]\((?!https?://|mailto:)([^)#]*)(?:#([^)]+))?\)", text):
            found = page.parent / target if target else page
            assert found.exists(), f"{page.name} links to {target}"
            links += bool(anchor)
            assert not anchor or anchor in headings(found), f"{page.name} links to {target}#{anchor}"
    assert links > 20
