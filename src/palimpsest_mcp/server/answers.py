"""Small answers in two equal channels: a model for programs, and text that holds the same values (I9)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, cast

from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, ConfigDict, Field

from ..digest.verdict import PROSE_SHARE
from ..models.advice import in_form
from ..models.records import SpecificCounts
from ..models.reports import BatchReport, Report, Saved, Usage, in_counts, in_lines, in_request
from ..models.text import counted, plain_line
from ..models.views import Recorded

SMALL_TOKENS = 600
"""Ceiling of a small answer, in each channel."""
PAGE_TOKENS = 2_000
"""Ceiling of one page of a list, in each channel (I7)."""

CountTokens = Callable[[str], int]


class Answer(BaseModel):
    """What a tool answers. Empty fields are not sent; a list that had to be cut is counted in `more`."""

    model_config = ConfigDict(extra="forbid")
    shortens: ClassVar[tuple[str, ...]] = ()
    """Lists that may lose their tail."""

    session: str = Field(description="Handle: every tool takes it as session_id")
    more: dict[str, int] = Field(default={}, description="rows that were cut, by list")

    def result(self, count: CountTokens, limit: int = SMALL_TOKENS) -> CallToolResult:
        """Both channels, each within `limit` tokens as far as the shortening of lists can reach."""
        text, data = self._channels(count, limit)
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=data)

    def text(self, count: CountTokens, limit: int = PAGE_TOKENS) -> str:
        """The same as text only, for what would be too long to come twice."""
        return self._channels(count, limit)[0]

    def _channels(self, count: CountTokens, limit: int) -> tuple[str, dict[str, Any]]:
        """Text and data; most answers fit as they are."""
        data = self.data()
        text = as_text(data)
        if _size(text, data, count, limit) > limit:
            data = self._within(count, limit).data()
            text = as_text(data)
        return text, data

    def data(self) -> dict[str, Any]:
        """The structured channel: empty fields are left out, 0 and False stay."""
        dumped = self.model_dump(mode="json", exclude_none=True)
        more = dumped.pop("more")
        return {key: value for key, value in {**dumped, "more": more}.items() if value not in ("", [], {})}

    def _within(self, count: CountTokens, limit: int) -> Self:
        """The longest list loses its tail until the whole fits."""
        answer = self
        while (size := answer.size(count, limit)) > limit:
            name = max(self.shortens, key=answer.length, default="")
            rows = answer.rows(name) if name else []
            if not rows:
                return answer
            keep = min(len(rows) - 1, len(rows) * limit // size)
            left = len(self.rows(name)) - keep
            answer = answer.model_copy(update={name: rows[:keep], "more": {**answer.more, name: left}})
        return answer

    def length(self, name: str) -> int:
        """About how much of the answer a list is, in characters."""
        return len(repr(self.rows(name)))

    def rows(self, name: str) -> list[Any]:
        """One of the lists that may lose its tail."""
        return cast("list[Any]", getattr(self, name))

    def size(self, count: CountTokens, enough: int = 0) -> int:
        """Tokens of the larger channel; up to `enough` its bytes do, since no token is shorter than one."""
        data = self.data()
        return _size(as_text(data), data, count, enough)


def _size(text: str, data: dict[str, Any], count: CountTokens, enough: int) -> int:
    channels = (text, json.dumps(data, ensure_ascii=False, separators=(",", ":")))
    longest = max(len(channel.encode("utf-8", "surrogatepass")) for channel in channels)
    return longest if longest <= enough else max(map(count, channels))


def as_text(data: dict[str, Any]) -> str:
    """One line a value, lists as dashed lines: everything that the structured channel has, and nothing else."""
    lines: list[str] = []
    for name, value in data.items():
        if isinstance(value, list):
            lines.append(f"{name}:")
            lines.extend(f"- {_inline(row)}" for row in cast("list[Any]", value))
        elif isinstance(value, dict) and any(isinstance(part, dict) for part in cast("dict[str, Any]", value).values()):
            lines.append(f"{name}:")
            lines.extend(f"  {key}: {_inline(part)}" for key, part in cast("dict[str, Any]", value).items())
        else:
            lines.append(f"{name}: {_inline(value)}")
    return "\n".join(lines)


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_inline(part)}" for name, part in cast("dict[str, Any]", value).items())
    if isinstance(value, list):
        return ", ".join(_inline(part) for part in cast("list[Any]", value))
    return value if isinstance(value, str) else json.dumps(value)


class RatioAnswer(Answer):
    """How full the window is, and where each number comes from."""

    shortens = ("notes", "signals", "candidates")

    ratio: float | None = Field(default=None, description="used / window; absent: unknown")
    zone: str
    action: str
    used_tokens: int | None = None
    used_source: str
    window_tokens: int | None = Field(default=None, description="effective window")
    window_source: str
    policy: str
    meaning: str = Field(default="", description="which list the ratio is of, and the next step")
    compacted_view_tokens: int | None = Field(default=None, description="with digests that the host does not show yet")
    compacted_view_ratio: float | None = None
    how_to_apply: str = ""
    tokens_by_reason: dict[str, int] = Field(default={}, description="sums to used_tokens")
    items_by_reason: dict[str, int] = {}
    host: str = ""
    host_compaction_point: str = ""
    model: str = ""
    whole_window_tokens: int | None = None
    whole_window_source: str = ""
    signals: list[str] = []
    notice: str = ""
    candidates: list[str] = []
    candidates_total: int | None = None
    would_free_tokens: int | None = None
    notes: list[str] = []

    @classmethod
    def of(cls, handle: str, usage: Usage, *, detail: bool) -> RatioAnswer:
        """`detail` adds the model, its whole window, and what fills it."""
        answer = cls(
            session=handle,
            ratio=_share(usage.ratio),
            zone=usage.zone,
            action=usage.action,
            used_tokens=usage.used.value,
            used_source=usage.used.source,
            window_tokens=usage.effective_window.value,
            window_source=usage.effective_window.source,
            policy=plain_line(usage.policy, 60),
            meaning=usage.meaning,
            compacted_view_tokens=usage.compacted_view_tokens,
            compacted_view_ratio=_share(usage.compacted_view_ratio),
            how_to_apply=in_form(usage.how_to_apply, "tool"),
            host=plain_line(usage.host, 60),
            host_compaction_point=usage.host_compaction_point,
            signals=list(usage.signals),
            notice=usage.notice,
            candidates=[plain_line(one, 160) for one in usage.candidates],
            candidates_total=usage.candidates_total if usage.would_free_tokens is not None else None,
            would_free_tokens=usage.would_free_tokens,
            notes=list(usage.notes),
        )
        if not detail:
            return answer
        whole = usage.window
        return answer.model_copy(
            update={
                "model": plain_line(usage.model, 80),
                "whole_window_tokens": whole.value,
                "whole_window_source": whole.source,
                "tokens_by_reason": {part.reason: part.tokens for part in usage.parts},
                "items_by_reason": {part.reason: part.items for part in usage.parts if part.items},
            }
        )


class RecordedAnswer(Answer):
    """What `record_items` took in."""

    shortens = ("item_ids", "warnings", "notes")

    session_id: str = ""
    recorded: int
    tokens: int = Field(description="of the recorded items")
    ratio: float | None = None
    zone: str
    action: str
    used_tokens: int | None = None
    used_source: str
    window_tokens: int | None = None
    crossed_trigger: bool
    item_ids: list[str] = []
    warnings: list[str] = []
    notes: list[str] = []
    compaction: str = Field(default="", description="status and reason of the pass that auto ran")

    @classmethod
    def of(cls, recorded: Recorded) -> RecordedAnswer:
        usage, report = recorded.usage, recorded.report
        return cls(
            session=recorded.handle,
            session_id=plain_line(recorded.session_id, 200),
            recorded=len(recorded.item_ids),
            tokens=recorded.tokens,
            ratio=_share(usage.ratio),
            zone=usage.zone,
            action=usage.action,
            used_tokens=usage.used.value,
            used_source=usage.used.source,
            window_tokens=usage.effective_window.value,
            crossed_trigger=recorded.crossed_trigger,
            item_ids=[plain_line(item_id, 200) for item_id in recorded.item_ids],
            warnings=_grouped(recorded.warnings),
            notes=[*filter(None, [usage.notice, usage.meaning if usage.waiting else ""]), *usage.notes],
            compaction=f"{report.status}: {report.reason}" if report else "",
        )


class CompactAnswer(Answer):
    """The report of one pass (design §5), short."""

    shortens = ("slots", "batches", "notes")

    status: str
    reason: str
    tokens_before: int | None = None
    tokens_after: int | None = None
    tokens_source: str
    ratio_before: float | None = None
    ratio_after: float | None = None
    window_tokens: int | None = None
    window_source: str
    target_ratio: float | None = None
    policy: str
    batches: list[str] = []
    specifics: str = ""
    lines_kept: str = Field(default="", description="of those that the focus wanted kept")
    asked_for: str = Field(default="", description="what came first in the digests")
    redacted: dict[str, int] = {}
    meaning: str = Field(default="", description="which list before and after are of")
    stayed: dict[str, int] = Field(default={}, description="tokens by reason; sums to tokens_after")
    stayed_items: dict[str, int] = {}
    compression: float | None = None
    cache: str = ""
    probes: str
    plan_id: str = ""
    slots: list[str] = []
    how_to_apply: str = ""
    restore: str = ""
    so_far: str = Field(default="", description="saved over the session's life, and what came back")
    undo: str = Field(default="", description="one step back")
    notes: list[str] = []

    @classmethod
    def of(cls, report: Report) -> CompactAnswer:
        before, after, handle = report.before, report.after, report.handle
        return cls(
            session=handle,
            status=report.status,
            reason=report.reason,
            tokens_before=before.used.value,
            tokens_after=after.used.value,
            tokens_source=before.used.source,
            ratio_before=_share(before.ratio),
            ratio_after=_share(after.ratio),
            window_tokens=before.effective_window.value,
            window_source=before.effective_window.source,
            target_ratio=report.target_ratio,
            policy=f"{plain_line(report.policy, 60)} ({report.strategy})",
            batches=[_batch_line(batch) for batch in report.batches],
            specifics=_specifics(report.specifics) if report.specifics.total else "",
            lines_kept=plain_line(in_lines(report.specifics), 300),
            asked_for=plain_line(in_request(report.asked_for), 300),
            redacted=report.redaction,
            meaning=report.meaning,
            stayed={part.reason: part.tokens for part in report.stayed},
            stayed_items={part.reason: part.items for part in report.stayed if part.items},
            compression=_share(report.compression),
            cache=_cache(report),
            probes=report.probes.line,
            plan_id=report.plan_id,
            slots=[_slot_line(number, slot) for number, slot in enumerate(report.slots, 1)],
            how_to_apply=in_form(report.how_to_apply, "tool"),
            restore=f"restore_batch {handle} {report.batches[0].batch_id}" if report.batches else "",
            so_far=so_far(report.saved) if len(report.batches) < report.saved.batches else "",
            undo=in_form(report.undo, "tool"),
            notes=[plain_line(note, 300) for note in report.notes],
        )


def so_far(saved: Saved) -> str:
    """What a session's offloading saved, and what came back of it."""
    return f"{counted(saved.net, 'token')} saved; {saved.came_back}"


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _batch_line(batch: BatchReport) -> str:
    return (
        f"{batch.batch_id}: {counted(batch.items, 'item')}, {batch.original_tokens} > {batch.tokens_after} tokens, "
        f"{batch.specifics.shown} of {counted(batch.specifics.total, 'specific')} shown"
    ) + (f", {batch.mode}" if batch.mode != "digest" else "")


def _slot_line(number: int, slot: dict[str, Any]) -> str:
    ids = _whole_ids(slot["item_ids"], 160)
    own = int(PROSE_SHARE * slot["budget_tokens"])
    about = slot["budget_tokens"] + slot["overhead_tokens"]
    words = "a pointer" if slot["pointer"] else f"digest about {about}, {own} of them your own words"
    return f"{number}: {ids}; {slot['tokens']} tokens, {words}"


def _whole_ids(ids: Sequence[str], limit: int) -> str:
    """As many whole ids as `limit` characters take, at least one, and how many more there are."""
    kept = [plain_line(ids[0])]
    while len(kept) < len(ids) and len(", ".join([*kept, ids[len(kept)]])) <= limit:
        kept.append(plain_line(ids[len(kept)]))
    more = f" and {len(ids) - len(kept)} more" if len(kept) < len(ids) else ""
    return ", ".join(kept) + more


def _grouped(warnings: Sequence[str]) -> list[str]:
    """`id: what` said of many items is said once: how many, what, and the first id."""
    by_what: dict[str, list[str]] = {}
    for warning in warnings:
        name, _, what = warning.partition(": ")
        by_what.setdefault(what, []).append(name)
    return [
        plain_line(
            f"{counted(len(names), 'item')}: {what} (first: {names[0]})" if len(names) > 1 else f"{names[0]}: {what}",
            200,
        )
        for what, names in by_what.items()
    ]


def _specifics(counts: SpecificCounts) -> str:
    said = f"{counts.total} total: {counts.shown} shown, {counts.elsewhere} elsewhere, {counts.left_out} left out"
    return f"{said}; shown whole: {in_counts(counts)}" if counts.records else said


def _cache(report: Report) -> str:
    if report.cache is None:
        return ""
    turns = report.cache.break_even_turns
    back = "never pays back" if turns is None else f"pays back after {turns:.1f} model requests"
    return f"rewrites {report.cache.invalidated_tokens} cached tokens, {back} (prices: {report.cache.prices})"


def kinds_line(kinds: dict[str, int], most: int = 2) -> str:
    """`2 Read, 1 Bash`, the most frequent first; the rest is counted."""
    ranked: Sequence[tuple[str, int]] = sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    named = [f"{number} {plain_line(kind, 20)}" for kind, number in ranked[:most]]
    rest = sum(number for _, number in ranked[most:])
    return ", ".join([*named, f"{rest} other"] if rest else named)
