"""The report of a pass: honest numbers, each with its source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ...context.meter import DIGESTS, MAY_LEAVE, breakdown, cache_cost, gain_more, in_words, ratio_of, stays, zone_of
from ...context.policies import compression
from ...context.savings import savings
from ...context.view import lost_holders, present_items, standing_holders
from ...digest.prose import NOT_USED
from ...models.advice import Advice, Either, step
from ...models.events import SessionInfo
from ...models.host_table import HostNote, how_to_apply
from ...models.llm import Spent
from ...models.plans import Verdict
from ...models.records import ClassCount, RecordCount, SpecificCounts
from ...models.reports import BatchReport, Measured, Part, Report, Status, Usage
from ...models.text import counted, verb
from ...models.views import LAST_PASS
from ...text.tokens.windows import prices_of, rates_of
from ..batch import beside
from ..measure import Measurement
from .plan import PassRequest
from .run import PassResult

KEPT_RAW = "kept_raw"
"""Reason of what was to leave and did not: no digest of it was smaller, or was good enough."""
_OUTPUT_PRICE = 5.0
"""An output token costs about so many input tokens, with every model of the table."""


def report(
    info: SessionInfo, measurement: Measurement, request: PassRequest, result: PassResult, *, note: HostNote
) -> Report:
    """What a pass did, or would do."""
    before, overhead = measurement.usage, measurement.counter.per_result_overhead
    after = _usage_after(measurement, request, result)
    target_tokens, target_ratio = _target(measurement, request, result)
    stayed = _stayed(measurement, request, result, after)
    status, reason = _outcome(measurement, request, result, after, target_tokens, stayed)
    pressed = compression(
        [made.sizes(overhead) for made in result.made],
        request.rules,
        strategy=request.how.name,
        kept_specifics=all(m.record.mode == "digest" for m in result.made),
    )
    redaction: Counter[str] = Counter()
    for made in result.made:
        redaction.update(made.record.redaction)
    return Report(
        status=status,
        reason=reason,
        session_id=info.session_id,
        handle=info.handle,
        before=before,
        after=after,
        target_ratio=target_ratio,
        target_tokens=target_tokens,
        policy=request.policy.name,
        strategy=request.how.name,
        batches=tuple(
            BatchReport(
                batch_id=made.record.batch_id,
                items=len(made.record.items),
                original_tokens=made.record.original_token_count,
                digest_tokens=made.record.digest_token_count,
                overhead_tokens=beside(made.record, overhead),
                item_ids=tuple(item.id for item in made.record.items),
                specifics=made.record.specifics,
                mode=made.record.mode,
                notes=made.notes,
            )
            for made in result.made
        ),
        stayed=stayed,
        target_of=measurement.target_window,
        meaning=_meaning(request, result, before),
        protected=dict(Counter(one.reason for one in result.plan.verdicts if one.verdict != "free")),
        asked_for=result.asked_for,
        specifics=total([made.record.specifics for made in result.made]),
        redaction=dict(sorted(redaction.items())),
        cache=cache_cost(
            measurement.view.items,
            [one.item.id for one in result.leaving],
            original=sum(one.tokens for one in result.leaving),
            digest=sum(made.record.digest_token_count for made in result.made),
            prices=prices_of(before.model),
            model_cost=_in_input_tokens(result.spent, before.model),
        )
        if result.leaving
        else None,
        probes=result.probes,
        compression=pressed.share,
        how_to_apply=how_to_apply(note, info.handle, info.path),
        saved=savings(result.fold, result_overhead=overhead),
        undo=_undo(info.handle) if result.made else "",
        plan_id=result.plan_id if request.options.dry_run else "",
        slots=tuple(msgspec.to_builtins(slot) for slot in result.plan.slots) if request.options.dry_run else (),
        notes=_notes(measurement, request, result, pressed.note),
    )


def _undo(handle: str) -> Advice:
    here = step("undo", session_id=handle)
    tool = step("restore_batch", session_id=handle, batch_id=LAST_PASS, reinstate=True)
    return Advice("{}", Either(command=Advice("{}", here), tool=Advice("{}", tool), call=Advice("{}", here)))


def _usage_after(measurement: Measurement, request: PassRequest, result: PassResult) -> Usage:
    before = measurement.usage
    if request.options.dry_run:
        used = measurement.used_less(result.plan.before_tokens - result.plan.predicted_tokens)
    else:
        used = measurement.used_less(measurement.view.tokens - result.view.tokens + sum(result.thinking.values()))
    ratio = ratio_of(used, before.effective_window.value)
    zone = zone_of(ratio, request.policy)
    source = before.used.source if used == before.used.value else f"{before.used.source}, less what was replaced"
    return msgspec.structs.replace(
        before,
        used=Measured(value=used, source=source),
        ratio=ratio,
        zone=zone.name,
        action=zone.action,
        compacted_view_tokens=None,
        compacted_view_ratio=None,
        waiting=0,
        meaning="",
        how_to_apply="",
    )


def _meaning(request: PassRequest, result: PassResult, before: Usage) -> str:
    """Which list the numbers before and after are of."""
    if request.options.dry_run and result.plan.slots:
        return "Nothing is changed yet: before is the host's own list, planned is the shorter one."
    if result.made or result.copies:
        return "Before is the host's own list, after is the shorter one, which counts once the host has taken it."
    return before.meaning


def _stayed(measurement: Measurement, request: PassRequest, result: PassResult, after: Usage) -> tuple[Part, ...]:
    """What is in the context after the pass: what stays and why, its new digests, and what is no item."""
    if request.options.dry_run:
        leaving = {name for slot in result.plan.slots for name in slot.item_ids}
        saved = result.plan.before_tokens - result.plan.predicted_tokens - sum(result.thinking.values())
        digests = sum(one.tokens for one in measurement.view.items if one.item.id in leaving) - saved
        gone = leaving | result.thinking.keys()
        entries = [*stays(result.plan.verdicts, gone), *_shared(DIGESTS, len(leaving), digests)]
    else:
        before = {one.item.id: one.batch_id for one in measurement.view.items}
        reasons = dict(_reasons(result.plan.verdicts))
        if result.probes.kept_raw:
            reasons |= dict.fromkeys((name for slot in result.plan.slots for name in slot.item_ids), KEPT_RAW)
        reasons |= dict.fromkeys(result.refused, KEPT_RAW)
        entries = [
            (DIGESTS if one.batch_id and one.batch_id != before.get(name) else reasons.get(name, MAY_LEAVE), one.tokens)
            for one in result.view.items
            for name in (one.item.id,)
            if name not in result.thinking
        ]
    return breakdown(entries, after.used.value, scale=measurement.scale)


def _reasons(verdicts: Iterable[Verdict]) -> Iterator[tuple[str, str]]:
    for one in verdicts:
        yield one.item_id, next(reason for reason, _ in stays([one]))


def _shared(reason: str, number: int, tokens: int) -> Iterator[tuple[str, int]]:
    """So many entries that come to so many tokens."""
    for place in range(number):
        yield reason, tokens if place == 0 else 0


def _target(measurement: Measurement, request: PassRequest, result: PassResult) -> tuple[int | None, float | None]:
    share = request.policy.offload_target_token_ratio if request.options.target is None else request.options.target
    return round(result.plan.target_tokens * measurement.scale), share


def _outcome(
    measurement: Measurement,
    request: PassRequest,
    result: PassResult,
    after: Usage,
    target_tokens: int | None,
    stayed: Sequence[Part],
) -> tuple[Status, str]:
    if request.options.dry_run:
        return result.plan.status, result.plan.reason
    if result.refusal:
        return "nothing_to_do", result.refusal
    if result.plan.status != "planned":
        return "nothing_to_do", result.plan.reason
    if not result.made and not result.copies:
        if result.dropped:
            return "partial", "Nothing was replaced: every unit that was to leave changed while the pass worked."
        return "target_not_reached", f"Nothing was replaced: {_why_none(result)}."
    if result.dropped:
        return "partial", _dropped(result.dropped)
    if after.used.value is not None and target_tokens is not None and after.used.value > target_tokens:
        return "target_not_reached", _above(measurement, request, result, after, target_tokens, stayed)
    made = len(result.made)
    return (
        "compacted",
        f"{counted(made, 'batch')} {verb(made, 'was', 'were')} archived and replaced by checked digests.",
    )


def _dropped(number: int) -> str:
    words = verb(number, "was dropped because its", "were dropped because their")
    return f"{counted(number, 'batch')} {words} units changed meanwhile."


def _why_none(result: PassResult) -> str:
    if result.probes.kept_raw:
        return "digests as small as the target asks for failed their probes; name a higher target"
    return "no digest was smaller than what it would stand for"


def _above(
    measurement: Measurement,
    request: PassRequest,
    result: PassResult,
    after: Usage,
    target_tokens: int,
    stayed: Sequence[Part],
) -> str:
    """What was gained, how far the target is, and what would gain more."""
    before, now = measurement.view_used or 0, after.used.value or 0
    was = ratio_of(before, after.effective_window.value)
    shares = "" if was is None or after.ratio is None else f", {was:.1%} to {after.ratio:.1%} of the window"
    more = gain_more(stayed, request.rules, keep_last=request.options.keep_last, strategy=request.how.name)
    return (
        f"Gained {counted(before - now, 'token')}{shares}; the target is {counted(now - target_tokens, 'token')} "
        f"further. Everything that may leave has left; {more}what stays: {in_words(stayed)}{_why_raw(result, stayed)}."
    )


def _why_raw(result: PassResult, stayed: Sequence[Part]) -> str:
    """Why some of what was to leave stays."""
    if not any(one.reason == KEPT_RAW for one in stayed):
        return ""
    failed = "failed their probes" if result.probes.kept_raw else ""
    larger = "would not be smaller" if result.refused else ""
    return f"; {KEPT_RAW}: digests of it {' or '.join(filter(None, (failed, larger)))}"


def _notes(measurement: Measurement, request: PassRequest, result: PassResult, pressed: str) -> tuple[str, ...]:
    notes = [*result.plan.notes]
    if request.options.keep_last is not None and 0 <= request.options.keep_last < (
        floor := request.policy.floor_tool_results
    ):
        notes.append(f"keep_last {request.options.keep_last} was raised to {floor}, the floor")
    if given_way := result.plan.given_way if request.options.dry_run else result.given_way:
        what = f"{counted(given_way, 'result')} {verb(given_way, 'leaves a pointer', 'leave pointers')}"
        notes.append(f"{what} and no digest, so that the others can say something within the target")
    if result.refused:
        words = verb(len(result.refused), "was left whole: no digest of it", "were left whole: no digest of them")
        notes.append(f"{counted(len(result.refused), 'item')} {words} is smaller; not tried again")
    if result.copies:
        words = verb(result.copies, "became a pointer; its original is", "became pointers; their originals are")
        sizes = f"{result.copies_took:,} tokens became {result.pointers_take:,}"
        notes.append(f"{counted(result.copies, 'fetched copy')} {words} in the archive already ({sizes})")
    if pressed and not result.refusal:
        notes.append(pressed)
    lost = lost_holders(result.fold, standing_holders(result.fold, present_items(result.fold)))
    if lost:
        words = verb(lost, "counts as left out: what showed it", "count as left out: what showed them")
        notes.append(f"{counted(lost, 'specific')} of earlier digests {words} left the context")
    if measurement.forced_over is not None and measurement.forced_over != measurement.window_tokens:
        notes.append(
            "forced with no window named: the target is a share of the session's own "
            f"{counted(measurement.forced_over, 'token')}"
        )
    if measurement.scale < 1:
        notes.append(f"the host counts {measurement.scale:.0%} of our estimate; savings are scaled alike")
    return tuple(dict.fromkeys([*notes, *result.probes.notes, *_about_summaries(result), *result.notes]))


def _about_summaries(result: PassResult) -> list[str]:
    """What summaries cost, and which were not used: each reason once, with its batches."""
    reasons: dict[str, list[str]] = {}
    for made in result.made:
        for note in made.notes:
            if note.startswith(NOT_USED):
                reasons.setdefault(note, []).append(made.record.batch_id)
    notes = [
        f"{note} ({', '.join(batches[:3])}{f' and {len(batches) - 3} more' if len(batches) > 3 else ''})"
        for note, batches in reasons.items()
    ]
    spent = result.spent
    if spent.calls:
        price = "price not known" if spent.dollars is None else f"${spent.dollars:.4f}"
        notes.append(
            f"summaries by {result.author}: {counted(spent.calls, 'answer')}, {spent.tokens_in:,} tokens in, "
            f"{spent.tokens_out:,} out, {price}"
        )
    return notes


def _in_input_tokens(spent: Spent, model: str) -> float:
    """What summaries cost, in input tokens of the session's model; in the writer's own where a price is not known."""
    rates = rates_of(model)
    if spent.dollars and rates:
        return spent.dollars / (rates[0].input / 1e6)
    return spent.tokens_in + _OUTPUT_PRICE * spent.tokens_out


def total(counts: Sequence[SpecificCounts]) -> SpecificCounts:
    """The sum over batches."""
    names = ("total", "shown", "elsewhere", "left_out", "factored", "redacted")
    held = _added(one.held for one in counts)
    return SpecificCounts(
        **{name: sum(getattr(one, name) for one in counts) for name in names},
        by_class={cls: ClassCount(**count) for cls, count in _added(one.by_class for one in counts).items()},
        holders={holder: classes.total() for holder, classes in held.items()},
        held={holder: dict(sorted(classes.items())) for holder, classes in held.items()},
        records={kind: RecordCount(**count) for kind, count in _added(one.records for one in counts).items()},
        wanted={words: RecordCount(**count) for words, count in _added(one.wanted for one in counts).items()},
    )


def _added(rows: Iterable[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """The counts of every name, added up over rows."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        for name, counts in row.items():
            found.setdefault(name, Counter()).update(msgspec.to_builtins(counts))
    return dict(sorted(found.items()))
