"""The o200k_base vocabulary, from what is already on this machine. Nothing here opens a network connection.

splintr counts; tiktoken is its fallback and its judge (tests compare them on many texts). Neither is imported before
somebody counts: a hook or a statusline may never do.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import logging
import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import msgspec

if TYPE_CHECKING:
    import tiktoken

NAME = "o200k_base"
URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""Of OpenAI's own file; tiktoken checks the same value."""
TOKENS = 199_998
SAMPLE = (
    "The quick brown fox's 3 dogs, 1,234.56 and 0x7fff: don't WE'LL iPhone HTTPServer CamelCase snake_case\n\n"
    '    def run(self) -> None:\t# TODO\r\n\n\n/usr/lib/x.so.6.2  {"k": [1, 22, 333, 4444]}   \t \n'
    "Größe, naïve, Ελληνικά, русский текст, עברית, العربية, हिन्दी, ไทย, 한국어, 日本語の文章、中文句子。 e\u0301 "
    "\u200d😀👩‍👩‍👧🇯🇵 <|endoftext|> <|fim_prefix|> ===== ------ ~~~~~ ))); "
    "https://example.org/a?b=c%20d#e \ufffd\u00a0\u3000\x1c"
)
"""Each kind of text that the pattern of o200k tells apart."""
SAMPLE_SHA256 = "c940406fc840a0cd3284de66bfbd288aaa173a5cfca442a827c60d7a20f231fc"
"""Of its ids in hexadecimal, parted by blanks: a version of splintr that cuts otherwise is not used."""

Origin: TypeAlias = Literal["splintr-rs", "registry", "cache file", "splintr-rs by tiktoken", "none"]
Encode: TypeAlias = Callable[[str], Sequence[int]]

_log = logging.getLogger(__name__)
_lock = threading.Lock()
_loaded: Vocabulary | None = None


class VocabularyError(Exception):
    """What a package or file holds is not OpenAI's vocabulary."""


class Vocabulary(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, and where."""

    encode: Encode | None
    """Gives the ids of a text, special tokens as plain text. None when no source gave a vocabulary that is right."""
    origin: Origin
    problem: str = ""
    """Why there is none, or why it is not splintr's, for `doctor`."""


def load_vocabulary() -> Vocabulary:
    """The vocabulary, loaded once a process; safe to call from any thread. Never raises, never downloads.

    splintr's own, else by tiktoken: from its registry when something already filled it, from the user's tiktoken cache
    file when its hash is good, from the tokens inside splintr. A failure is remembered: it is not tried again.
    """
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _find()
        return _loaded


def is_likely() -> bool:
    """Whether there is a vocabulary; where none was loaded yet, as far as can be seen without that."""
    return importlib.util.find_spec("splintr") is not None if _loaded is None else _loaded.encode is not None


def cache_file() -> Path | None:
    """Where tiktoken would keep the file; None when the user switched its cache off."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder == "":
        return None
    root = Path(folder) if folder is not None else Path(tempfile.gettempdir()) / "data-gym-cache"
    return root / hashlib.sha1(URL.encode()).hexdigest()


def _find() -> Vocabulary:
    problem = ""
    # A broken third-party package may fail in any way; counting must go on, by tiktoken or by characters.
    try:
        return Vocabulary(encode=_by_splintr(), origin="splintr-rs")
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    try:
        encoding, origin = by_tiktoken()
    except Exception as error:
        problem += f"; {type(error).__name__}: {error}"
        _log.warning("no %s vocabulary, counting by characters instead: %s", NAME, problem)
        return Vocabulary(encode=None, origin="none", problem=problem)
    return Vocabulary(encode=encoding.encode_ordinary, origin=origin, problem=problem)


def _by_splintr() -> Encode:
    """Its ids of a text, once those of a sample are right: reading all tokens would take ten times as long."""
    import splintr

    ids: Encode = splintr.Tokenizer.from_pretrained(NAME).encode_ordinary

    def encode(text: str) -> Sequence[int]:
        try:
            return ids(text)
        except UnicodeEncodeError:  # half of a surrogate pair: replaced as tiktoken does
            return ids(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))

    if hashlib.sha256(" ".join(f"{one:x}" for one in encode(SAMPLE)).encode()).hexdigest() != SAMPLE_SHA256:
        raise VocabularyError("splintr-rs gives other tokens than OpenAI's tokenizer")
    return encode


def by_tiktoken() -> tuple[tiktoken.Encoding, Origin]:
    """tiktoken's encoding, read from what is on this machine; half a second, unless something did that before.

    The result is put into tiktoken's registry, so that other users of tiktoken in this process need not download it.

    Raises:
        VocabularyError: the tokens inside splintr are not OpenAI's.
    """
    import tiktoken.registry

    registered = tiktoken.registry.ENCODINGS.get(NAME)
    if registered is not None:
        return registered, "registry"
    ranks, origin = _from_cache(), cast("Origin", "cache file")
    if ranks is None:
        ranks, origin = _from_splintr(), "splintr-rs by tiktoken"
    return tiktoken.registry.ENCODINGS.setdefault(NAME, _encoding(ranks)), origin


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
    import splintr

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

    import tiktoken
    import tiktoken_ext.openai_public as openai_public

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
