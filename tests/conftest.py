"""Fixtures that every room may use."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import certifi
import pytest
from hypothesis import settings

from palimpsest_mcp.core import wiring
from palimpsest_mcp.digest import study
from palimpsest_mcp.hosts.claude_code.settings import MOST_OUTPUT, PERCENT, SWITCHES, WINDOW
from palimpsest_mcp.text.specifics.registry import DefaultRegistry, UserClass

# A test that names no number of its own takes the profile's; `make torture` asks for the long one, `.ci/run` for the
# shortest.
settings.register_profile("ci", max_examples=4, deadline=None)
settings.register_profile("short", max_examples=40, deadline=None)
settings.register_profile("torture", max_examples=2_000, deadline=None)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "short")
settings.load_profile(PROFILE)
LONG = PROFILE == "torture"
"""Whether a test that says the same of a part is to take the whole: all seeds, the longest texts."""
_STUDIES = study.Studies
_LEFT = pytest.StashKey[int]()
"""How many long tests are not run here."""


def first_of(cases: Iterable[Any], *, kept: int = 1) -> list[Any]:
    """For `parametrize`: the first cases stand for all of them where time is short, the others are `long`."""
    chosen: list[Any] = []
    for at, case in enumerate(cases):
        values = cast("tuple[Any, ...]", case) if isinstance(case, tuple) else (case,)
        chosen.append(pytest.param(*values, marks=[] if at < kept else pytest.mark.long))
    return chosen


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    if long := [item for item in items if item.get_closest_marker("long")]:
        stash = long[0].session.config.stash
        stash[_LEFT] = stash.get(_LEFT, 0) + len(long)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist tells the process that prints."""
    if output := getattr(session.config, "workeroutput", None):
        output["left"] = session.config.stash.get(_LEFT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    left = getattr(node, "workeroutput", {}).get("left", 0)  # each worker collects all tests
    node.config.stash[_LEFT] = max(left, node.config.stash.get(_LEFT, 0))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if left := terminalreporter.config.stash.get(_LEFT, 0):
        why = "another case of what a test here proves, or a dear proof of what a cheaper one shows"
        terminalreporter.write_line(f"{left} long tests left to `make test`, `make e2e`, `make torture`: {why}")


def pytest_collectstart() -> None:
    """Of what is imported and collected nothing becomes garbage: a tenth of collecting is looking for it."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What 9,000 collected tests are made of stays to the end: the collector need not look at it again and again. Nor
    need it look after every 700 new objects: that is a tenth of what tests compute that compact."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True, scope="session")
def nobodys_claude_code() -> Generator[None]:
    """Whoever runs the tests may have set something in their own client: it does not count here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAUDE_CONFIG_DIR", os.devnull)
        for name in (*SWITCHES, WINDOW, PERCENT, MOST_OUTPUT):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(autouse=True, scope="session")
def texts_are_read_once() -> Generator[None]:
    """Of a text that many tests compact, each reads what the first of them has read: a third of all that they compute.

    That is the cache which a store's passes share; with an empty one every digest has the same bytes
    (`digest/study.py`). Tests of reading itself take `nothing_is_read`.
    """

    known: dict[tuple[UserClass, ...], DefaultRegistry] = {}

    def registry(extra: Sequence[UserClass]) -> DefaultRegistry:
        classes = tuple(extra)
        if classes not in known:
            known[classes] = DefaultRegistry(classes)
        return known[classes]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wiring, "DefaultRegistry", registry)
        patch.setattr(study, "Studies", cache(study.Studies))
        yield


@pytest.fixture
def nothing_is_read(texts_are_read_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store's passes have read no text before."""
    monkeypatch.setattr(wiring, "DefaultRegistry", DefaultRegistry)
    monkeypatch.setattr(study, "Studies", _STUDIES)


@pytest.fixture(scope="session")
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Nobody here speaks TLS with the world, but every client of HTTP would read all its authorities first: 80 ms."""
    end = "-----END CERTIFICATE-----\n"
    first, _, _ = Path(certifi.where()).read_text("utf-8").partition(end)
    path = tmp_path_factory.mktemp("authorities") / "one.pem"
    path.write_text(first + end, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(path))
        patch.delenv("SSL_CERT_DIR", raising=False)
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real sessions and labs beside the checkout; not part of the project."""
    folder = Path(os.environ.get("TEST_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    if not (folder / "data" / "converted").is_dir():
        pytest.skip(f"the shared sessions are not here ({folder}); set TEST_SHARED to their folder")
    return folder
