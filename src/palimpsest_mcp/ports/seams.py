"""Seams to hosts, and to what works on texts: counting, masking, digesting.

A host's messages or transcript come in, and go out in the same form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from ..models.items import Content, Item, Span
from ..models.llm import Judged, JudgeQuestion, SummaryDraft, SummaryRequest, WriteRequest, Written
from ..models.records import Digest, DigestRequest

Form: TypeAlias = Literal["anthropic", "openai", "claude-code"]


class HostUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What the host's last main-chain answer reported. None is unknown, never 0."""

    used_tokens: int | None
    """Input + cache creation + cache read + output."""
    model: str = ""
    row: int = -1
    """Row of that answer: items of later rows come on top."""


class HostContext(msgspec.Struct, frozen=True, kw_only=True):
    """A context as a host shows it: items in order, tokens not yet counted."""

    form: Form
    items: tuple[Item, ...]
    """In the host's order. Ids are unique; `unit`, `action`, `kind` by position and tool are set, `tokens` is 0."""
    open_units: frozenset[str] = frozenset()
    """Units of the newest turn in which a call still waits for its result."""
    messages: tuple[Any, ...]
    """The message list that `render` works on: the input itself, or the one a transcript stands for."""
    usage: HostUsage | None = None
    host: str = ""
    session_id: str = ""
    """The host's own id of the session, when it names one."""
    model: str = ""
    project: str = ""
    system_text: str = ""
    """The system prompt where the input has one beside the messages; counted, never replaced."""
    beside_tokens: int = 0
    """What a request carries beyond that, such as definitions of tools, where it is known."""
    gone_why: str = ""
    """`host_compaction` when the host compacted what came before, else empty."""
    warnings: tuple[str, ...] = ()


class HostTranscript(Protocol):
    """Reads one form of session and writes message lists in it. Pure: no files."""

    @property
    def form(self) -> Form: ...

    def fits(self, value: Any) -> bool:
        """Whether the parsed JSON looks like this form."""
        ...

    def parse(self, value: Any) -> HostContext:
        """Read a session.

        Raises:
            FileWrongShape: it names the first value that does not fit.
        """
        ...

    def render(self, context: HostContext, contents: Mapping[str, Content]) -> list[Any]:
        """The message list with the content of the named items changed: their own block only, everything else is the
        very same object. A string put in the place of a list of blocks becomes one text block."""
        ...


class ToolOutput(Protocol):
    """A tool's textual result in the shape that its host gives it."""

    @property
    def content(self) -> Content:
        """What the host shows of it."""
        ...

    @property
    def spilled_to(self) -> str:
        """File in which the host put the whole of it, where it shows less; empty where it shows all."""
        ...

    @property
    def target(self) -> str:
        """File that was read; empty where none was."""
        ...

    @property
    def most_characters(self) -> int:
        """The longest replacement that the host lets through whole."""
        ...

    @property
    def beside(self) -> str:
        """A line for the model beside a replacement; mostly empty."""
        ...

    def whole(self) -> Content | None:
        """All of it, from the host's file where there is one; None where that cannot be had. Blocks."""
        ...

    def as_row(self, text: str) -> str:
        """How a text in the place of the content will stand in the host's transcript."""
        ...

    def with_text(self, text: str) -> Any:
        """The result with another text, in the tool's own shape."""
        ...


# What the hooks of a host need to know at once, before anything is opened.


class HandoffNote(NamedTuple):
    """A handoff as a hook names it."""

    name: str
    title: str
    date: str
    written: str
    """ISO-8601 with offset."""


class HostNotes(Protocol):
    """Small notes about the sessions of a host: a cache and a log, which may be lost. Calls block, shortly.

    They belong to the machine that the host runs on. A store that is elsewhere keeps them in files
    (`store.host_files.HostFiles`), which a hook reads without opening it.
    """

    def keep_start(self, session_id: str, start: Mapping[str, Any]) -> None:
        """Keep what the next SessionStart of a session is to say."""
        ...

    def start_of(self, session_id: str) -> dict[str, Any]:
        """What was kept; empty where nothing was."""
        ...

    def is_known(self, session_id: str) -> bool:
        """Whether the store has anything of a session."""
        ...

    def note_ended(self, client: str, session_id: str) -> None:
        """A client left a session for a new one: the next that begins in the same client follows it (L14)."""
        ...

    def take_ended(self, client: str) -> str:
        """The session that a client just left; said once."""
        ...

    def link(self, session_id: str, parent: str) -> None:
        """A session follows another."""
        ...

    def parent_of(self, session_id: str) -> str:
        """Which session it follows; empty for none."""
        ...

    def handoff_of(self, project: str) -> HandoffNote | None:
        """The newest handoff that waits for a project; None where there is none."""
        ...

    def sweep(self) -> None:
        """Remove links that nobody asked for in a month."""
        ...

    def note_trouble(self, event: str, code: str, text: str) -> None:
        """Keep why a hook answered nothing. Never raises: it must not break the hook a second time."""
        ...

    def troubles(self) -> list[dict[str, Any]]:
        """The newest reasons why a hook answered nothing, oldest first: `ts` (seconds), `event`, `code`, `text`."""
        ...


class TokenCounter(Protocol):
    """Counts tokens of text, deterministic, without network."""

    @property
    def name(self) -> str:
        """What counts and by which factor: `o200k x 1.55`; goes into every answer."""
        ...

    def count(self, text: str) -> int:
        """Tokens of one text, 0 for the empty one. Never raises, whatever the text."""
        ...


class Redacted(msgspec.Struct, frozen=True, kw_only=True):
    """A text with its secrets masked."""

    text: str
    counts: dict[str, int]
    """Masked spans by kind; never the values."""


class Redactor(Protocol):
    """Masks secrets by `[redacted:kind:hash8]`; same secret, same mark within one store. Idempotent. Never raises."""

    @property
    def rules(self) -> tuple[str, ...]:
        """What is loaded, for `doctor`: rule set names with counts."""
        ...

    @property
    def weakened(self) -> tuple[str, ...]:
        """Which settings of the user make it mask less; empty: none."""
        ...

    def redact(self, text: str) -> Redacted:
        """One text, masked."""
        ...

    def redact_all(self, texts: Sequence[str]) -> tuple[Redacted, ...]:
        """Texts that follow one another, in order: also masks a secret that runs over a boundary."""
        ...


class Registry(Protocol):
    """Finds specifics (D2). Deterministic, in time linear in the text."""

    @property
    def version(self) -> str:
        """Changes whenever what it finds changes; users' classes included."""
        ...

    def spans(self, text: str) -> list[Span]:
        """Specifics of a text in order of place, not overlapping, each with its key where there is one."""
        ...


class Digester(Protocol):
    """Makes a checked digest of one batch. What it returns has passed verification, or says so in `verification`."""

    @property
    def name(self) -> str:
        """With version: `extractive/2`. A record may name a writer instead (`Prose.digester`)."""
        ...

    async def digest(self, request: DigestRequest) -> Digest:
        """Digest a batch; falls back by itself (larger budget, then pointers) and never invents.

        Raises:
            DigestRefused: no form of it is smaller than its source.
        """
        ...


class Writer(Protocol):
    """Puts results into words. It writes only: the digest checks that and adds everything that must be exact."""

    @property
    def name(self) -> str:
        """`anthropic/claude-haiku-5-5`: what records name."""
        ...

    @property
    def author(self) -> str:
        """`claude-haiku-5-5`: what the label above its lines names."""
        ...

    @property
    def pass_limit_s(self) -> float:
        """How long one pass may wait for it in all, in seconds."""
        ...

    async def write(self, requests: Sequence[WriteRequest], *, within_s: float) -> tuple[Written, ...]:
        """Summaries for batches, in their order, several at a time.

        Returns within about `within_s` seconds; what is not there by then is late. Raises nothing but cancellation: a
        batch without an answer says why in `failure`.
        """
        ...


# Time and chance come in from outside, so that rules stay pure and checks need no waiting.


Clock: TypeAlias = Callable[[], datetime]
"""Now, with its offset from UTC."""

RandomHex: TypeAlias = Callable[[int], str]
"""`n` random bytes as lower-case hex."""

# Seams for a model that is asked about a session: to word what a summary lacks, and to judge probes.


class SummaryAuthor(Protocol):
    """Words sections of an anchored summary. What it answers is checked before anything of it is used."""

    @property
    def author(self) -> str:
        """As labels name it: `claude-haiku-5-5`."""
        ...

    async def draft(self, request: SummaryRequest) -> SummaryDraft:
        """Sections for one session, within a time limit of its own. Never raises: a failure is a reason."""
        ...


class Judge(Protocol):
    """A second opinion on probes, beside the one by code."""

    @property
    def author(self) -> str:
        """As reports name it."""
        ...

    async def judge(self, questions: Sequence[JudgeQuestion]) -> Judged:
        """Whether each passage still answers its question. Never raises; late or broken answers are failures."""
        ...
