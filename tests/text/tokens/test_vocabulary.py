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
import tiktoken
import tiktoken.registry
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.text.tokens import count
from palimpsest_mcp.text.tokens.count import (
    NAME,
    SHA256,
    TOKENS,
    Vocabulary,
    by_tiktoken,
    cache_file,
    load_vocabulary,
    open_counter,
)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A process that has not looked for the vocabulary yet, with an empty cache folder and no network."""

    def refuse(*_args: Any, **_named: Any) -> None:
        raise OSError("no network in this test")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(count, "_loaded", None)
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    return tmp_path


def test_the_bundled_vocabulary_gives_openais_ids_and_needs_no_network(fresh: Path) -> None:
    found = load_vocabulary()
    assert (found.origin, found.problem) == ("splintr-rs", "")
    assert found.encode is not None
    # Ids that OpenAI's own tokenizer gives.
    assert list(found.encode("hello world")) == [24912, 2375]
    assert not list(fresh.iterdir()), "nothing is written into a user's cache"


def test_the_judge_has_openais_hash_and_is_registered_for_others(fresh: Path) -> None:
    encoding, origin = by_tiktoken()
    assert origin == "splintr-rs by tiktoken"
    assert encoding.encode_ordinary("hello world") == [24912, 2375]
    assert encoding.n_vocab == 200_019
    assert tiktoken.registry.ENCODINGS[NAME] is encoding
    assert by_tiktoken() == (encoding, "registry")
    assert not list(fresh.iterdir()), "nothing is written into a user's cache"


def test_an_encoding_is_handed_to_other_processes_by_its_name(fresh: Path) -> None:
    """It keeps no second copy of its tokens, which pickling by value would need."""
    copied = pickle.loads(pickle.dumps(by_tiktoken()[0]))
    assert copied.encode_ordinary("hello world") == [24912, 2375]


def test_a_good_file_in_the_users_cache_is_used(fresh: Path) -> None:
    encoding, _ = by_tiktoken()
    tokens = [encoding.decode_single_token_bytes(rank) for rank in range(TOKENS)]
    blob = b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
    assert hashlib.sha256(blob).hexdigest() == SHA256
    path = cache_file()
    assert path is not None
    path.write_bytes(blob)
    tiktoken.registry.ENCODINGS.clear()
    again, origin = by_tiktoken()
    assert origin == "cache file"
    assert again.encode_ordinary("hello world") == [24912, 2375]


def test_a_cache_file_with_another_hash_is_passed_over_and_left_alone(fresh: Path) -> None:
    path = cache_file()
    assert path is not None
    path.write_bytes(b"aGk= 0\n")
    assert by_tiktoken()[1] == "splintr-rs by tiktoken"
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

    def encode_ordinary(self, text: str) -> list[int]:
        return [len(text)]


def test_another_vocabulary_in_the_package_is_refused_and_said(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splintr, "Tokenizer", Wrong)
    found = load_vocabulary()
    assert (found.encode, found.origin) == (None, "none")
    assert "gives other tokens" in found.problem
    assert "differs from OpenAI's file" in found.problem
    counter = open_counter("claude-opus-5-5")
    assert counter.name == "characters x 1.55"
    assert counter.count("some text") > 0


class Other:
    """A version that has all tokens and cuts texts otherwise."""

    @staticmethod
    def from_pretrained(_name: str) -> Other:
        return Other()

    def __init__(self) -> None:
        self._right = RIGHT.from_pretrained(NAME)

    def decode_token_bytes(self, rank: int) -> bytes:
        return bytes(self._right.decode_token_bytes(rank))

    def encode_ordinary(self, text: str) -> list[int]:
        return list(self._right.encode_ordinary(text.replace("\n\n", "\n \n")))


RIGHT = splintr.Tokenizer


def test_what_cuts_a_text_otherwise_is_not_used_and_tiktoken_counts(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splintr, "Tokenizer", Other)
    found = load_vocabulary()
    assert found.origin == "splintr-rs by tiktoken"
    assert "gives other tokens" in found.problem
    assert found.encode is not None
    assert list(found.encode("a\n\nb")) == by_tiktoken()[0].encode_ordinary("a\n\nb")


SIGNS = st.one_of(
    st.text(max_size=20),
    st.text(alphabet="aB1 \t\n\r.,'/_-=+(){}[]\"", max_size=20),
    st.sampled_from(
        [
            "<|endoftext|>",
            "don't",
            "WE'LL",
            "1,234.56",
            "   ",
            "\n\n\n",
            "\ud800",
            "\udc00\ud83d",
            "日本語",
            "ไทย",
            "👩\u200d👧",
        ]
    ),
    st.integers(0, 0x10FFFF).map(chr),
)


@given(st.lists(SIGNS, max_size=12).map("".join))
def test_splintr_gives_the_ids_that_tiktoken_gives(text: str) -> None:
    encode = load_vocabulary().encode
    assert encode is not None
    assert list(encode(text)) == by_tiktoken()[0].encode_ordinary(text)


def test_threads_that_ask_together_get_the_same_one(fresh: Path) -> None:
    found: list[Vocabulary] = []
    threads = [threading.Thread(target=lambda: found.append(load_vocabulary())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({id(one.encode) for one in found}) == 1


def test_importing_the_room_loads_no_vocabulary() -> None:
    """A hook or a statusline imports it and may never count."""
    code = "import sys, palimpsest_mcp.text.tokens.count; print({'splintr', 'tiktoken'} & set(sys.modules) or None)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ}
    )
    assert answer.stdout.strip() == "None"
