"""Fixtures that every room may use."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Sequence
from functools import cache
from pathlib import Path

import certifi
import pytest
from hypothesis import settings

from palimpsest_mcp.core import wiring
from palimpsest_mcp.digest import study
from palimpsest_mcp.hosts.claude_code.settings import MOST_OUTPUT, PERCENT, SWITCHES, WINDOW
from palimpsest_mcp.text.specifics.registry import DefaultRegistry, UserClass

# A test that names no number of its own takes the profile's; `make torture` asks for the long one.
settings.register_profile("short", max_examples=40, deadline=None)
settings.register_profile("torture", max_examples=2_000, deadline=None)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "short")
settings.load_profile(PROFILE)
LONG = PROFILE == "torture"
"""Whether a test that says the same of a part is to take the whole: all seeds, the longest texts."""
_STUDIES = study.Studies


def pytest_collection_finish() -> None:
    """What 9,000 collected tests are made of stays to the end: the collector need not look at it again and again. Nor
    need it look after every 700 new objects: that is a tenth of what tests compute that compact."""
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
