"""The o200k_base vocabulary, from what is already on this machine. Nothing here opens a network connection."""

from __future__ import annotations

import base64
import hashlib
import logging
import os
import tempfile
import threading
from pathlib import Path
from types import FunctionType
from typing import Any, Literal, TypeAlias, cast

import msgspec
import splintr
import tiktoken
import tiktoken.registry
import tiktoken_ext.openai_public as openai_public

NAME = "o200k_base"
URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""Of OpenAI's own file; tiktoken checks the same value."""
TOKENS = 199_998

Origin: TypeAlias = Literal["registry", "cache file", "splintr-rs", "none"]

_log = logging.getLogger(__name__)
_lock = threading.Lock()
_loaded: Vocabulary | None = None


class VocabularyError(Exception):
    """What a package or file holds is not OpenAI's vocabulary."""


class Vocabulary(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, and where."""

    encoding: tiktoken.Encoding | None
    """None when no source gave a vocabulary with the right hash."""
    origin: Origin
    problem: str = ""
    """Why there is none, for `doctor`."""


def load_vocabulary() -> Vocabulary:
    """The vocabulary, loaded once a process; safe to call from any thread. Never raises, never downloads.

    Order: tiktoken's registry when something already filled it, the user's tiktoken cache file when its hash is good,
    the copy inside splintr-rs. The result is put into tiktoken's registry, so that other users of tiktoken in this
    process need not download it either. A failure is remembered: it is not tried again.
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


def _find() -> Vocabulary:
    registered = tiktoken.registry.ENCODINGS.get(NAME)
    if registered is not None:
        return Vocabulary(encoding=registered, origin="registry")
    try:
        ranks, origin = _from_cache(), cast("Origin", "cache file")
        if ranks is None:
            ranks, origin = _from_splintr(), "splintr-rs"
        encoding = tiktoken.registry.ENCODINGS.setdefault(NAME, _encoding(ranks))
    # A broken third-party package may fail in any way; counting must go on, by characters.
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        _log.warning("no %s vocabulary, counting by characters instead: %s", NAME, problem)
        return Vocabulary(encoding=None, origin="none", problem=problem)
    return Vocabulary(encoding=encoding, origin=origin)


def _from_cache() -> dict[bytes, int] | None:
    path = cache_file()
    try:
        blob = path.read_bytes() if path is not None else b""
    except OSError:
        return None
    if hashlib.sha256(blob).hexdigest() != SHA256:
        return None
    pairs = (line.split() for line in blob.split(b"\n") if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def _from_splintr() -> dict[bytes, int]:
    source = splintr.Tokenizer.from_pretrained(NAME)
    tokens = [bytes(source.decode_token_bytes(rank)) for rank in range(TOKENS)]
    blob = b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
    if hashlib.sha256(blob).hexdigest() != SHA256:
        raise VocabularyError(f"{NAME} inside splintr-rs differs from OpenAI's file")
    return {token: rank for rank, token in enumerate(tokens)}


def _encoding(ranks: dict[bytes, int]) -> tiktoken.Encoding:
    """tiktoken's own pattern and special tokens over these ranks.

    tiktoken's constructor would read its cache or download. It runs here with a loader of ours in its place, in a
    namespace of its own: nothing of tiktoken is patched, so other threads may use it meanwhile.
    """

    def given(_path: str, expected_hash: str | None = None) -> dict[bytes, int]:
        if expected_hash != SHA256:
            raise VocabularyError("this tiktoken expects another vocabulary file")
        return ranks

    namespace = {**vars(openai_public), "load_tiktoken_bpe": given}
    build = FunctionType(openai_public.o200k_base.__code__, namespace)
    parts = cast("dict[str, Any]", build())
    encoding = tiktoken.Encoding(**parts)
    # It has copied them, and keeps these only for pickling, which goes by name for an encoding in the registry: 25 MB.
    encoding._mergeable_ranks = {}  # pyright: ignore[reportPrivateUsage]
    return encoding
