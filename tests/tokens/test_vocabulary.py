"""The vocabulary: found offline, checked by its hash, never downloaded, and missed without a crash."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import splintr
import tiktoken
import tiktoken.registry
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_mcp.tokens import vocabulary
from palimpsest_mcp.tokens.counting import open_counter
from palimpsest_mcp.tokens.vocabulary import (
    NAME,
    SHA256,
    Vocabulary,
    VocabularyError,
    cache_file,
    load_vocabulary,
    vocabulary_file,
)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A process that has not looked for the vocabulary yet, with an empty cache folder and no network."""

    def refuse(*_args: Any, **_named: Any) -> None:
        raise OSError("no network in this test")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(vocabulary, "_loaded", None)
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    return tmp_path


def tiktokens_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tiktoken.Encoding:
    """tiktoken as OpenAI made it, with OpenAI's file in its cache."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    path = cache_file()
    assert path is not None
    path.write_bytes(vocabulary_file())
    return tiktoken.get_encoding(NAME)


def test_the_bundled_vocabulary_is_openais_and_needs_no_network(fresh: Path) -> None:
    found = load_vocabulary()
    assert (found.origin, found.problem) == ("splintr-rs", "")
    assert found.count is not None
    assert found.count("hello world") == 2
    assert hashlib.sha256(vocabulary_file()).hexdigest() == SHA256
    assert not list(fresh.iterdir()), "nothing is written into a user's cache"


def test_every_text_has_as_many_tokens_as_tiktoken_gives_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tiktoken.registry, "ENCODINGS", {})
        theirs = tiktokens_own(tmp_path_factory.mktemp("cache"), patched)
    ours = load_vocabulary().count
    assert ours is not None
    odd = st.sampled_from(
        [
            "<|endoftext|>",
            "<|",
            "|>",
            "'S",
            "'Ll",
            "aB",
            "\r\n",
            " \n",
            "\n/",
            "1234",
            "\u3000",
            "\u0085",
            "n\u0303",
            "K",
        ]
    )
    pieces = st.lists(st.one_of(odd, st.text(max_size=12)), max_size=12).map("".join)

    @settings(max_examples=300, deadline=None)
    @given(pieces)
    def the_same(text: str) -> None:
        assert ours(text) == len(theirs.encode_ordinary(text))

    the_same()


class Broken:
    """A package that does not know the name."""

    @staticmethod
    def from_pretrained(_name: str) -> None:
        raise RuntimeError("no such model here")


def test_without_the_package_an_encoding_that_tiktoken_has_registered_is_used(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiktokens_own(fresh, monkeypatch)
    monkeypatch.setattr(splintr, "Tokenizer", Broken)
    for left in fresh.iterdir():
        left.unlink()
    found = load_vocabulary()
    assert found.origin == "tiktoken"
    assert found.count is not None
    assert found.count("hello world") == 2


def test_without_the_package_a_good_file_in_the_users_cache_is_used(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = cache_file()
    assert path is not None
    path.write_bytes(vocabulary_file())
    monkeypatch.setattr(splintr, "Tokenizer", Broken)
    found = load_vocabulary()
    assert found.origin == "tiktoken"
    assert found.count is not None
    assert found.count("hello world <|endoftext|>") > 3


def test_a_cache_file_with_another_hash_is_passed_over_and_left_alone(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = cache_file()
    assert path is not None
    path.write_bytes(b"aGk= 0\n")
    monkeypatch.setattr(splintr, "Tokenizer", Broken)
    found = load_vocabulary()
    assert (found.count, found.origin) == (None, "none")
    assert "not OpenAI's" in found.problem
    assert path.read_bytes() == b"aGk= 0\n"


def test_an_empty_variable_switches_the_cache_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert cache_file() is None


class Wrong:
    """A package that holds another vocabulary."""

    @staticmethod
    def from_pretrained(_name: str) -> Wrong:
        return Wrong()

    def decode_token_bytes(self, _rank: int) -> bytes:
        return b"x"


def test_another_vocabulary_in_the_package_is_refused_and_said(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splintr, "Tokenizer", Wrong)
    found = load_vocabulary()
    assert (found.count, found.origin) == (None, "none")
    assert "differs from OpenAI's file" in found.problem
    counter = open_counter("claude-opus-5-5")
    assert counter.name == "characters x 1.55"
    assert counter.count("some text") > 0
    with pytest.raises(VocabularyError):
        vocabulary_file()


def test_threads_that_ask_together_get_the_same_one(fresh: Path) -> None:
    found: list[Vocabulary] = []
    threads = [threading.Thread(target=lambda: found.append(load_vocabulary())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({id(one.count) for one in found}) == 1


def test_importing_the_room_loads_no_vocabulary() -> None:
    """A hook or a statusline imports it and may never count."""
    code = "import palimpsest_mcp.tokens.counting as c, palimpsest_mcp.tokens.vocabulary as v; print(v._loaded)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ}
    )
    assert answer.stdout.strip() == "None"
