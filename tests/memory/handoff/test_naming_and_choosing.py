"""Names that every file system takes, and which handoff a reader means."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.memory.handoff.files import (
    MAX_SLUG,
    Candidate,
    of_project,
    of_task,
    slug_of,
    stem_of,
    title_of,
    written_on,
)
from palimpsest_mcp.models.handoffs import ForkHandoff, Handoff, TaskSummary


@given(st.text())
def test_a_slug_is_safe_whatever_the_task(title: str) -> None:
    slug = slug_of(title)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug) and len(slug) <= MAX_SLUG
    assert slug_of(title) == slug


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Move the importer to Postgres!", "move-the-importer-to-postgres"),
        ("../../etc/passwd", "etc-passwd"),
        ("C:\\new\\x", "c-new-x"),
        ("Zoë's café", "zoe-s-cafe"),
        ("HL-1204", "hl-1204"),
    ],
)
def test_a_slug_reads_like_its_task(title: str, slug: str) -> None:
    assert slug_of(title) == slug


def test_tasks_that_differ_keep_names_that_differ() -> None:
    long = "a " * 200
    titles = ["日本語", "中国語", "con", "nul", "", "!!!", "?", long + "b", long + "c", "Fix Ω", "Fix Σ"]
    assert len({slug_of(title) for title in titles if title not in ("", "!!!", "?")}) == len(titles) - 3
    assert slug_of("日本語").startswith("task-") and slug_of("con") != "con"
    assert len(title_of(long)) <= 100 and "\n" not in title_of("a\nb")


def test_phases_stand_behind_the_slug() -> None:
    assert stem_of("2026-11-22", "Import", "task") == "2026-11-22-import"
    assert stem_of("2026-11-22", "Import", "research") == "2026-11-22-import-research"


def kept(name: str, **fields: str) -> Candidate:
    known: dict[str, Any] = {"project": "/srv/shop", "title": name, **fields}
    made: Handoff = ForkHandoff(**known) if name == "fork" else TaskSummary(**known)
    return Candidate(name, "temp" if name == "fork" else "memory", made)


FOUND = [
    kept("a", written="2026-11-20T10:00:00+02:00", title="Move the importer"),
    kept("b", written="2026-11-20T09:00:00+00:00", title="Move the exporter"),
    kept("c", written="2026-11-19T09:00:00+00:00", title="Move the importer"),
    kept("fork", written="2026-11-21T09:00:00+00:00", title="Move the importer"),
    kept("d", written="2026-11-22T09:00:00+00:00", title="Move the importer", project="/srv/other"),
]


def names(found: list[Candidate]) -> list[str]:
    return [one.name for one in found]


def test_the_newest_is_first_in_true_time_and_forks_only_by_name() -> None:
    here = of_project(FOUND, "/srv/shop")
    assert names(of_task(here, "")) == ["b", "a", "c"]
    assert names(of_task(here, "move the IMPORTER")) == ["a", "c", "fork"]
    assert names(of_task(here, "fork")) == ["fork"] and names(of_task(here, "exporter")) == ["b"]
    assert names(of_task(here, "/x/memory/c.md")) == ["c"] and names(of_task(here, "nothing like it")) == []


@pytest.mark.parametrize(
    ("project", "found"),
    [
        ("/srv/shop", 4),
        ("/srv/shop/", 4),
        ("shop", 4),
        ("srv/other", 1),
        ("*", 5),
        ("/shop", 0),
        ("hop", 0),
        ("srv", 0),
    ],
)
def test_a_project_is_named_by_its_path_or_its_last_folders(project: str, found: int) -> None:
    assert len(of_project(FOUND, project)) == found


def test_the_day_is_the_files_own_word_else_its_name() -> None:
    assert str(written_on(TaskSummary(date="2026-11-20"), "2026-11-22-x")) == "2026-11-20"
    assert str(written_on(TaskSummary(written="2026-11-21T23:30:00+09:00"), "x")) == "2026-11-21"
    assert str(written_on(TaskSummary(date="soon"), "2026-11-22-x")) == "2026-11-22"
    assert written_on(TaskSummary(), "x") is None
