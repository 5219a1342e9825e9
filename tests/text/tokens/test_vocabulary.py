"""The vocabulary: found offline, checked by its hash, never downloaded, and missed without a crash."""

from __future__ import annotations

import base64
import hashlib
import os
import pickle
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import splintr
import tiktoken.registry

from palimpsest_mcp.text.tokens import vocabulary
from palimpsest_mcp.text.tokens.count import open_counter
from palimpsest_mcp.text.tokens.vocabulary import NAME, SHA256, TOKENS, Vocabulary, cache_file, load_vocabulary


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


def test_the_bundled_vocabulary_has_openais_hash_and_needs_no_network(fresh: Path) -> None:
    found = load_vocabulary()
    assert (found.origin, found.problem) == ("splintr-rs", "")
    assert found.encoding is not None
    # Ids that OpenAI's own tokenizer gives.
    assert found.encoding.encode_ordinary("hello world") == [24912, 2375]
    assert found.encoding.n_vocab == 200_019
    assert tiktoken.registry.ENCODINGS[NAME] is found.encoding
    assert not list(fresh.iterdir()), "nothing is written into a user's cache"


def test_an_encoding_is_handed_to_other_processes_by_its_name(fresh: Path) -> None:
    """It keeps no second copy of its tokens, which pickling by value would need."""
    encoding = load_vocabulary().encoding
    copied = pickle.loads(pickle.dumps(encoding))
    assert copied.encode_ordinary("hello world") == [24912, 2375]


def test_an_encoding_that_is_registered_already_is_used(fresh: Path) -> None:
    first = load_vocabulary().encoding
    vocabulary._loaded = None  # pyright: ignore[reportPrivateUsage]
    again = load_vocabulary()
    assert (again.encoding, again.origin) == (first, "registry")


def test_a_good_file_in_the_users_cache_is_used(fresh: Path) -> None:
    encoding = load_vocabulary().encoding
    assert encoding is not None
    tokens = [encoding.decode_single_token_bytes(rank) for rank in range(TOKENS)]
    blob = b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
    assert hashlib.sha256(blob).hexdigest() == SHA256
    path = cache_file()
    assert path is not None
    path.write_bytes(blob)
    vocabulary._loaded = None  # pyright: ignore[reportPrivateUsage]
    tiktoken.registry.ENCODINGS.clear()
    found = load_vocabulary()
    assert found.origin == "cache file"
    assert found.encoding is not None
    assert found.encoding.encode_ordinary("hello world") == [24912, 2375]


def test_a_cache_file_with_another_hash_is_passed_over_and_left_alone(fresh: Path) -> None:
    path = cache_file()
    assert path is not None
    path.write_bytes(b"aGk= 0\n")
    assert load_vocabulary().origin == "splintr-rs"
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
    assert (found.encoding, found.origin) == (None, "none")
    assert "differs from OpenAI's file" in found.problem
    counter = open_counter("claude-opus-5-5")
    assert counter.name == "characters x 1.55"
    assert counter.count("some text") > 0


def test_threads_that_ask_together_get_the_same_one(fresh: Path) -> None:
    found: list[Vocabulary] = []
    threads = [threading.Thread(target=lambda: found.append(load_vocabulary())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({id(one.encoding) for one in found}) == 1


def test_importing_the_room_loads_no_vocabulary() -> None:
    """A hook or a statusline imports it and may never count."""
    code = "import palimpsest_mcp.text.tokens.count as c, palimpsest_mcp.text.tokens.vocabulary as v; print(v._loaded)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ}
    )
    assert answer.stdout.strip() == "None"
