"""Counting tokens offline: o200k, scaled to the model's own tokenizer.

The o200k_base vocabulary, from what is already on this machine. Nothing here opens a network connection.

splintr counts; tiktoken is its fallback and its judge (tests compare them on many texts). Neither is imported before
somebody counts: a hook or a statusline may never do.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import logging
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

import msgspec

from ...models.items import Content, is_raw_bytes
from ...models.text import late

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


# What of an item's content a tokenizer reads: its texts, and how many binaries stand beside them.


Counted: TypeAlias = tuple[list[str], int]
"""Texts to count, and the number of images and other binaries."""

_BINARY_TYPES = frozenset({"image", "image_url", "input_image", "input_audio", "audio", "document", "file", "resource"})
_BINARY_KEYS = frozenset({"data", "base64", "blob", "file_data"})


def content_texts(content: Content | None) -> Counted:
    """Split a content into texts and binaries. A binary's base64 is never a text: it is not what the model reads."""
    if content is None:
        return [], 0
    if isinstance(content, str):
        return [content], 0
    if isinstance(content, dict):
        return _block(content)
    texts: list[str] = []
    binaries = 0
    for block in content:
        more, count = content_texts(block) if isinstance(block, str) else _block(block)
        texts += more
        binaries += count
    return texts, binaries


def _block(block: Any) -> Counted:
    if not isinstance(block, dict):
        return [_compact(block)], 0
    fields = cast("dict[str, Any]", block)
    if is_raw_bytes(fields):
        return [], 1
    match fields.get("type"):
        case "text" | "input_text" | "output_text" if isinstance(fields.get("text"), str):
            return [fields["text"]], 0
        case "thinking" if isinstance(fields.get("thinking"), str):
            return [fields["thinking"]], 0
        case "tool_use" | "server_tool_use":
            return [str(fields.get("name", "")), _compact(fields.get("input"))], 0
        case "function" | "custom" as kind if isinstance(fields.get(kind), dict):
            return _function(cast("dict[str, Any]", fields[kind])), 0
        case "function_call" | "custom_tool_call":
            return _function(fields), 0
        case "tool_result":
            return content_texts(cast("Content | None", fields.get("content")))
        case str(kind) if kind in _BINARY_TYPES:
            return _binary(fields)
        case _:
            return _other(fields)


def _function(function: Mapping[str, Any]) -> list[str]:
    arguments = function.get("arguments", function.get("input"))
    return [str(function.get("name", "")), arguments if isinstance(arguments, str) else _compact(arguments)]


def _binary(fields: dict[str, Any]) -> Counted:
    """A document may carry its text in the open; then that is what the model reads."""
    for inner in (fields.get("source"), fields.get("resource"), fields):
        if isinstance(inner, dict):
            source = cast("dict[str, Any]", inner)
            plain = source.get("data") if source.get("type") == "text" else source.get("text")
            if isinstance(plain, str):
                return [plain], 0
    return [], 1


def _other(fields: dict[str, Any]) -> Counted:
    """A block of a kind not known here: its JSON, with long encoded data counted as one binary each."""
    binaries = 0

    def plain(value: Any) -> Any:
        nonlocal binaries
        if isinstance(value, dict):
            kept: dict[str, Any] = {}
            for key, inner in cast("dict[str, Any]", value).items():
                if key in _BINARY_KEYS and isinstance(inner, str) and len(inner) > 256:
                    binaries += 1
                else:
                    kept[key] = plain(inner)
            return kept
        if isinstance(value, list):
            return [plain(inner) for inner in cast("list[Any]", value)]
        return value

    return [_compact(plain(fields))], binaries


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


# Model families: by which factor their own tokenizer counts more than o200k does.


class Family(msgspec.Struct, frozen=True):
    """One tokenizer, as far as the factor goes."""

    name: str
    percent: int
    """Tokens of this family for 100 o200k tokens, typical of mixed agent sessions."""
    source: str


OPENAI = Family("openai", 100, "o200k is the tokenizer itself")
CLAUDE_TO_4_6 = Family("claude to 4.6", 125, "measured on 743 provider-reported calls of Opus 4.5 and Sonnet 4.5")
CLAUDE_FROM_4_7 = Family("claude from 4.7", 155, "84 provider-counted requests of others, probes, field reports")
UNKNOWN = Family("unknown", 155, "the highest known: compacting early costs less than a refused request")

_CLAUDE = late(r"claude")
_VERSION = late(r"(?<!\d)(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_OPENAI = late(r"(?:^|/)(?:gpt-|chatgpt-|o[1-9](?:-|$)|codex-|openai)")


def family_of(model: str) -> Family:
    """The family of a model id, whatever prefix a gateway or cloud puts before it.

    Claude ids carry their version behind or before the tier (`claude-opus-4-6`, `claude-3-5-haiku-20241022`,
    `claude-opus-4.7`); eight-digit dates are no version. Without a version it is `UNKNOWN`.
    """
    name = model.lower()
    found = _CLAUDE.search(name)
    if found is None:
        return OPENAI if _OPENAI.search(name) else UNKNOWN
    version = claude_version(name[found.end() :])
    if version is None:
        return UNKNOWN
    return CLAUDE_FROM_4_7 if version >= (4, 7) else CLAUDE_TO_4_6


def claude_version(rest: str) -> tuple[int, int] | None:
    """Major and minor number in what follows `claude` in a model id; a missing minor is 0."""
    found = _VERSION.search(rest)
    return (int(found[1]), int(found[2] or 0)) if found else None


PER_RESULT_OVERHEAD = 14
"""Tokens that wrap one tool result (fit over 743 provider-reported calls)."""
IMAGE_TOKENS = 1_600
"""An image whose size is not known: about what the largest one costs that is not scaled down first (w x h / 750)."""

CHUNK_CHARS = 100_000
"""tiktoken 0.14 panics on about a million white-space characters in a row, and splintr lets no other thread run
meanwhile: pieces of this size cannot reach the one, and take ten milliseconds of the other."""
_SHORT_CHARS = 128
_DRAFT_CHARS = 30_000
"""A text up to here that begins as digests do is counted by its lines: drafts of one digest differ in a few of them."""
_CACHE_ENTRIES = 32_768


class RawCounter(Protocol):
    """Counts in one unit, before any family's factor."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...


class ModelCounter:
    """A `TokenCounter` for one model: raw counts times the family's factor, rounded to the nearest integer.

    Rounding is half up and done once per text, so a sum over n texts is within n/2 tokens of the scaled sum of raw
    counts and leans to neither side; rounding up would inflate a session of many short results. A text that is not
    empty counts at least 1.
    """

    per_result_overhead = PER_RESULT_OVERHEAD

    def __init__(self, raw: RawCounter, family: Family) -> None:
        self._raw = raw
        self._percent = family.percent
        self.family = family.name

    @property
    def name(self) -> str:
        """Such as `o200k x 1.55`, or `characters x 1.55` where no vocabulary loads."""
        return f"{self._raw.name} x {self._percent / 100:g}"

    def count(self, text: str) -> int:
        """Tokens of one text. Special-token spellings are plain text; a lone surrogate counts as U+FFFD."""
        return (self._raw.count(text) * self._percent + 50) // 100 if text else 0

    def count_content(self, content: Content | None) -> int:
        """Tokens of an item's content, without the per-result overhead.

        Text blocks count as text, tool calls as their name and compact JSON input, thinking as its text; an image or
        other binary is `IMAGE_TOKENS`, whatever the length of its base64.
        """
        texts, binaries = content_texts(content)
        return sum(map(self.count, texts)) + binaries * IMAGE_TOKENS


def open_counter(model: str = "", *, prefer: Literal["auto", "characters"] = "auto") -> ModelCounter:
    """The counter for a model id; an empty or unknown id gets the highest factor, which errs towards early.

    Args:
        prefer: `auto` uses o200k, and the characters rule where it cannot be loaded (the counter's name says which);
            `characters` loads nothing.
    """
    return ModelCounter(_CHARACTERS if prefer == "characters" else _LateCounter(), family_of(model))


class O200kCounter:
    """Raw o200k counts, remembered by content so that a growing session is counted once.

    Threads may share one: at worst two of them count the same text.
    """

    name = "o200k"

    def __init__(self, encode: Encode, *, entries: int = _CACHE_ENTRIES) -> None:
        self._encode = encode
        self._entries = entries
        self._young: dict[str | bytes, int] = {}
        self._old: dict[str | bytes, int] = {}
        self._below = "", 0
        """What stood below the header of the last draft, and its tokens."""

    def count(self, text: str) -> int:
        """Tokens of one text, from memory where it was counted before."""
        found = self._young.get(text)  # short ones are known as they are
        if found is not None:
            return found
        if _SHORT_CHARS < len(text) <= _DRAFT_CHARS and text[0] == "[":
            return self._count_draft(text)
        return self._count_whole(text)

    def _count_draft(self, text: str) -> int:
        """By its pieces; of the one draft that was counted last only the header may be another."""
        first, *rest = _PIECES.split(text, 1)
        below = rest[0] if rest else ""
        known, tokens = self._below
        if known != below:
            tokens = sum(map(self._count_whole, pieces(below))) if below else 0
            self._below = below, tokens
        return self._count_whole(first) + tokens

    def _count_whole(self, text: str) -> int:
        # Long texts are known by hash: keeping them as keys would keep a second session in memory.
        key = text if len(text) <= _SHORT_CHARS else _digest(text)
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is None:
                whole = len(text) <= CHUNK_CHARS
                found = len(self._encode(text)) if whole else sum(len(self._encode(chunk)) for chunk in chunks(text))
            self._remember(key, found)
        return found

    def _remember(self, key: str | bytes, count: int) -> None:
        """Two generations bound the memory: what was not asked for during a whole one is forgotten."""
        if len(self._young) >= self._entries:
            self._old, self._young = self._young, {}
        self._young[key] = count


class CharactersCounter:
    """A rule for where no vocabulary loads, in o200k tokens."""

    name = "characters"

    def count(self, text: str) -> int:
        """Tokens of one text, 0 only for the empty one."""
        if not text:
            return 0
        ascii_chars = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
        other_chars = len(text) - ascii_chars
        return max(1, round(ascii_chars * ASCII_RATE + other_chars * OTHER_RATE))


ASCII_RATE = 0.30
"""o200k tokens an ASCII character: the mean over 3.1 M characters of real tool results (code 0.25, tables 0.42)."""
OTHER_RATE = 0.75
"""o200k tokens any other character; between Chinese prose (0.7) and emoji or rare scripts (1 and more)."""


def chunks(text: str, limit: int = CHUNK_CHARS) -> Iterator[str]:
    """Pieces of at most `limit` characters, cut after a newline where there is one.

    A cut after a newline leaves o200k's count as it is on ordinary text; a cut inside a longer run adds at most one or
    two tokens a piece.
    """
    start = 0
    while len(text) - start > limit:
        cut = text.rfind("\n", start, start + limit) + 1
        end = cut if cut > start else start + limit
        yield text[start:end]
        start = end
    yield text[start:] if start else text


def pieces(text: str) -> list[str]:
    """The text in pieces whose counts add up to its own: a token of o200k runs over a line's end only where white space
    or slashes follow."""
    return _PIECES.split(text)


_PIECES = late(r"(?<=\n)(?=[^\s/])")


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class _LateCounter:
    """o200k, loaded when the first text is counted: a command that counts nothing need not wait for it."""

    @property
    def name(self) -> str:
        """That of the counter; before it is loaded, of the one that can be."""
        return O200kCounter.name if is_likely() else self._raw.name

    def count(self, text: str) -> int:
        """Tokens of one text."""
        return self._raw.count(text)

    @cached_property
    def _raw(self) -> RawCounter:
        encode = load_vocabulary().encode
        return _CHARACTERS if encode is None else _o200k(encode)


_CHARACTERS = CharactersCounter()
_shared: dict[Encode, O200kCounter] = {}


def _o200k(encode: Encode) -> O200kCounter:
    """One counter, and so one memory of counts, for all models of a process."""
    return _shared.setdefault(encode, O200kCounter(encode))
