"""The o200k_base vocabulary, from what is already on this machine. Nothing here opens a network connection."""

from __future__ import annotations

import base64
import hashlib
import logging
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import msgspec
import splintr

if TYPE_CHECKING:
    import tiktoken

NAME = "o200k_base"
URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""Of OpenAI's own file; tiktoken checks the same value."""
TOKENS = 199_998
STEP = 97
STEP_SHA256 = "fe0fdcf17d37ac4ac1c52f802305c8e150f60d9bf03f079300d37b6f4a0d6456"
"""Of every `STEP`-th token of it, put end to end: one millisecond at each start, where the whole takes 200."""

Origin: TypeAlias = Literal["splintr-rs", "tiktoken", "none"]
Count: TypeAlias = Callable[[str], int]
"""Tokens of a text without lone surrogates; spellings of special tokens are plain text."""

_log = logging.getLogger(__name__)
_lock = threading.Lock()
_loaded: Vocabulary | None = None


class VocabularyError(Exception):
    """What a package or file holds is not OpenAI's vocabulary."""


class Vocabulary(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, and where."""

    count: Count | None
    """None when no source gave OpenAI's vocabulary."""
    origin: Origin
    problem: str = ""
    """Why there is none, for `doctor`."""


def load_vocabulary() -> Vocabulary:
    """The vocabulary, loaded once a process; safe to call from any thread. Never raises, never downloads.

    Order: splintr-rs, which counts as tiktoken does and takes a third of its memory; else tiktoken, with what stands in
    its registry or in the user's cache file when its hash is good. A failure is remembered: it is not tried again.
    """
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _find()
        return _loaded


def cache_file() -> Path | None:
    """Where tiktoken would keep the file; None when the user switched its cache off."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder == "":
        return None
    root = Path(folder) if folder is not None else Path(tempfile.gettempdir()) / "data-gym-cache"
    return root / hashlib.sha1(URL.encode()).hexdigest()


def vocabulary_file() -> bytes:
    """OpenAI's file, written from what splintr-rs holds, down to the last byte.

    Raises:
        VocabularyError: splintr-rs holds another vocabulary.
    """
    source = splintr.Tokenizer.from_pretrained(NAME)
    tokens = (bytes(source.decode_token_bytes(rank)) for rank in range(TOKENS))
    blob = b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
    if hashlib.sha256(blob).hexdigest() != SHA256:
        raise VocabularyError(f"{NAME} inside splintr-rs differs from OpenAI's file")
    return blob


def _find() -> Vocabulary:
    problems: list[str] = []
    sources: tuple[tuple[Origin, Callable[[], Count]], ...] = (("splintr-rs", _of_splintr), ("tiktoken", _of_tiktoken))
    for origin, source in sources:
        try:
            return Vocabulary(count=source(), origin=origin)
        # A broken third-party package may fail in any way; counting must go on, by characters.
        except Exception as error:
            problems.append(f"{origin}: {type(error).__name__}: {error}")
    problem = "; ".join(problems)
    _log.warning("no %s vocabulary, counting by characters instead: %s", NAME, problem)
    return Vocabulary(count=None, origin="none", problem=problem)


def _of_splintr() -> Count:
    source = splintr.Tokenizer.from_pretrained(NAME)
    held = b"".join(bytes(source.decode_token_bytes(rank)) for rank in range(0, TOKENS, STEP))
    if hashlib.sha256(held).hexdigest() != STEP_SHA256:
        raise VocabularyError(f"{NAME} inside splintr-rs differs from OpenAI's file")
    flat, ordinary = source.encode_flat, source.encode_ordinary

    def count(text: str) -> int:
        # Four bytes a token; but it would take what is spelled like a special token for one.
        return len(ordinary(text)) if "<|" in text else len(flat(text)) >> 2

    return count


def _of_tiktoken() -> Count:
    import tiktoken.registry

    encoding = tiktoken.registry.ENCODINGS.get(NAME) or _encoding(_from_cache())
    encode = encoding.encode_ordinary

    def count(text: str) -> int:
        return len(encode(text))

    return count


def _from_cache() -> dict[bytes, int]:
    path = cache_file()
    blob = path.read_bytes() if path is not None else b""
    if hashlib.sha256(blob).hexdigest() != SHA256:
        raise VocabularyError("the file in the user's cache is not OpenAI's")
    pairs = (line.split() for line in blob.split(b"\n") if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def _encoding(ranks: dict[bytes, int]) -> tiktoken.Encoding:
    """tiktoken's own pattern and special tokens over these ranks.

    tiktoken's constructor would read its cache or download. It runs here with a loader of ours in its place, in a
    namespace of its own: nothing of tiktoken is patched, so other threads may use it meanwhile.
    """
    import tiktoken
    import tiktoken_ext.openai_public as openai_public

    def given(_path: str, expected_hash: str | None = None) -> dict[bytes, int]:
        if expected_hash != SHA256:
            raise VocabularyError("this tiktoken expects another vocabulary file")
        return ranks

    namespace = {**vars(openai_public), "load_tiktoken_bpe": given}
    build = FunctionType(openai_public.o200k_base.__code__, namespace)
    parts = cast("dict[str, Any]", build())
    return tiktoken.Encoding(**parts)
