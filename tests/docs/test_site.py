"""The docs build as a site, every link in them leads somewhere, and words of the glossary are used as it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


def built(checkout: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Strictly: a page without a place or a link or anchor that leads nowhere ends it (not with `--quiet`, which counts
    no warnings)."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = built(CHECKOUT, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.long
@pytest.mark.parametrize("link", ["concepts.md#nowhere", "nowhere.md"])
def test_a_link_that_leads_nowhere_ends_the_build(tmp_path: Path, link: str) -> None:
    for one in CHECKOUT.iterdir():  # pages link to files beside `docs`
        if one.name not in ("docs", "mkdocs.yml") and not one.name.startswith("."):
            (tmp_path / one.name).symlink_to(one)
    shutil.copy(CHECKOUT / "mkdocs.yml", tmp_path)
    shutil.copytree(CHECKOUT / "docs", tmp_path / "docs")
    page = tmp_path / "docs" / "index.md"
    page.write_text(page.read_text("utf-8") + f"\n[there]({link})\n", "utf-8")
    done = built(tmp_path, tmp_path / "site")
    assert done.returncode != 0 and f"contains a link '{link}'" in done.stdout + done.stderr


def test_the_site_has_every_page(site: Path) -> None:
    pages = {page.stem for page in (CHECKOUT / "docs").glob("*.md")}
    assert pages <= {page.stem for page in site.glob("*.html")}


def test_the_site_loads_nothing_from_anywhere_else(site: Path) -> None:
    loads = re.compile(r"""<(?:script|img|link|iframe|source)\b[^>]*?(?:src|srcset|href)=["']?(?:https?:)?//[^"'> ]+""")
    for page in site.glob("*.html"):
        assert loads.findall(page.read_text("utf-8")) == [], page.name


def forbidden() -> dict[str, str]:
    """A word that is not used, and the one that is."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$", (CHECKOUT / "docs/glossary.md").read_text("utf-8"), re.M)
    return {other.strip(): word for word, others in rows[1:] for other in others.split(",") if other.strip("- ")}


def prose(text: str) -> str:
    """A page without code, examples and quotations."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`|“[^”]*”|\"[^\"\n]*\"|<!--.*?-->", "", text, flags=re.DOTALL)


def test_one_word_stands_for_one_thing() -> None:
    from palimpsest_mcp.cli.main import COMMANDS

    others = forbidden()
    assert len(others) > 20
    texts = {page.name: prose(page.read_text("utf-8")) for page in (CHECKOUT / "docs").glob("*.md")}
    del texts["glossary.md"]
    texts["README.md"] = prose((CHECKOUT / "README.md").read_text("utf-8"))
    texts |= {f"help of {name}": says for name, (_, _, says) in COMMANDS.items()}
    wrong = [
        f"{name}: {other!r}, say {word!r}"
        for name, text in texts.items()
        for other, word in others.items()
        if re.search(rf"\b{re.escape(other)}\b", text, re.IGNORECASE)
    ]
    assert wrong == []


def test_the_glossary_is_in_order() -> None:
    words = re.findall(r"^\| ([a-z ]+) \|", (CHECKOUT / "docs/glossary.md").read_text("utf-8"), re.MULTILINE)[1:]
    assert words == sorted(words)
