"""How full the window is: the host's number first, our own view beside it (design §6, L12); and under which policy."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from ..context.alignment import may_be_part, part_hash
from ..context.fold import Fold
from ..context.meter import Numbers, explained, measure, signals
from ..context.policies import STRATEGIES
from ..context.state import UsageFields
from ..context.view import View
from ..errors import InvalidArgument, InvalidPolicy
from ..models.events import PolicySet, SessionInfo, UsageSeen
from ..models.host_table import HostNote, host_note, how_to_apply
from ..models.items import content_text
from ..models.plans import ContextItem, PassOptions, Policy
from ..models.reports import Usage
from ..models.text import shown
from ..text.tokens.windows import Trigger, host_trigger, host_window
from .dependencies import ContentCounter, Dependencies
from .importer import Imported
from .sessions import Sessions


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One session's context, measured."""

    fold: Fold
    view: View
    counter: ContentCounter
    open_units: frozenset[str] | None
    usage: Usage
    """As the host has it now, with our own view beside it: the one answer to how full the window is."""
    view_used: int | None
    """What the window would hold by our view: stored digests in the place of their originals."""
    scale: float
    """Tokens of the host per token of our estimate, at most 1: where the host reports less than we count, what a pass
    takes away is scaled down alike. Differences are scaled, never totals."""
    note: HostNote
    """What is known of the host in which the session stands."""
    forced_over: int | None = None
    """The session's own tokens, of which a target is a share where a pass is forced and names no window; None
    everywhere else."""

    @property
    def window_tokens(self) -> int | None:
        """The effective window."""
        return self.usage.effective_window.value

    def used_with(self, shown: View) -> int | None:
        """Tokens of the window by another view of the session, in the unit of `usage`."""
        return self.used_less(self.view.tokens - shown.tokens)

    def used_less(self, saved: int) -> int | None:
        """The same with so many of our tokens fewer."""
        return None if self.view_used is None else max(0, self.view_used - round(self.scale * saved))

    @property
    def stands_aside(self) -> str:
        """Where the host compacts by itself, in words, where no adapter of ours acts; empty where a pass may run."""
        return self.usage.host_compaction_point if self.usage.host_compacts and not self.note.adapter_does else ""

    @property
    def target_window(self) -> int | None:
        """What a target is a share of."""
        return self.window_tokens if self.forced_over is None else self.forced_over


async def measured(
    deps: Dependencies,
    sessions: Sessions,
    info: SessionInfo,
    policy: Policy,
    asked: PassOptions,
    *,
    imported: Imported | None = None,
    fold: Fold | None = None,
) -> Measurement:
    """Measure a session: from its ledger, or from a host's list that was just imported.

    Args:
        fold: of this very moment, where the caller has asked for it.
    """
    now = imported.fold if imported else fold if fold is not None else await sessions.opened(info)
    known = now.usage.get("", UsageFields())
    model = asked.model or (imported.context.model if imported else "") or (known.model.model if known.model else "")
    model = model or deps.model
    counter = imported.counter if imported else deps.counter_for(model)
    fold, shown = (imported.fold, imported.view) if imported else await sessions.view(info, counter, now)
    kept = known.beside.beside_tokens if known.beside is not None else None
    beside = imported.beside if imported else kept or 0
    hosts = _host_tokens(imported, shown) if imported else shown.whole_tokens
    usage = _usage(deps, info, policy, asked, known, shown, counter.name, beside + hosts, model)
    used = usage.used.value
    scale = min(1.0, used / hosts) if used is not None and hosts > used else 1.0
    view_used = None if used is None else max(0, used - round(scale * (hosts - shown.tokens)))
    # What was recorded item by item stands in a host's list that nobody here ever saw.
    note = host_note(usage.host or ("" if fold.has_envelopes else "mcp"), attached=deps.attached)
    apply = how_to_apply(note, info.handle, info.path)
    usage = explained(
        usage,
        policy,
        view_used=view_used,
        waiting=shown.unapplied,
        how_to_apply=apply,
        fresh_start=note.fresh_start,
        recorded=shown.count > 0,
        aside=bool(usage.host_compacts) and not note.adapter_does and imported is None,
    )
    return Measurement(
        fold=fold,
        view=shown,
        counter=counter,
        open_units=imported.context.open_units if imported else None,
        usage=usage,
        view_used=view_used,
        scale=scale,
        note=note,
        forced_over=used if asked.force and not _has_window(deps, asked) else None,
    )


def _host(info: SessionInfo, known: UsageFields) -> str:
    """In whose list the session stands. Another client that asks about it later is not its host."""
    return info.host or (known.host.host if known.host else "")


def _has_window(deps: Dependencies, asked: PassOptions) -> bool:
    """Whether somebody named a window for this pass: in the call, or in the settings."""
    named = (asked.window_tokens, deps.window_tokens, deps.effective_window_tokens)
    return any(value is not None for value in named)


async def tell(
    deps: Dependencies, sessions: Sessions, info: SessionInfo, asked: PassOptions, *, fold: Fold | None = None
) -> Fold:
    """Keep what a caller said about the window, if it is news (design §10). Returns the session's fold with it.

    It is not flushed: losing it costs a repetition.

    Args:
        fold: just opened, so that the store need not be asked again.
    """
    fold = fold if fold is not None else await sessions.opened(info)
    event = await _news(deps, sessions, info, asked, fold)
    return fold if event is None else await sessions.observe(info, [event], durable=False)


async def tell_held(
    deps: Dependencies, sessions: Sessions, name: str, asked: PassOptions
) -> tuple[SessionInfo, Fold] | None:
    """The same in one trip to the store, of a session that this process holds; None where that cannot be, and where
    there is nothing new to keep.

    What others wrote meanwhile is in the fold; `tell` then says where among it this was said.
    """
    held = sessions.held(name)
    event = None if held is None else await _news(deps, sessions, held[0], asked, held[1])
    if held is None or event is None:
        return None
    fold = await sessions.observe_held(held[0], [event])
    return None if fold is None else (held[0], fold)


async def _news(
    deps: Dependencies, sessions: Sessions, info: SessionInfo, asked: PassOptions, fold: Fold
) -> UsageSeen | None:
    known = fold.usage.get("", UsageFields())
    _, shown = await sessions.view(info, deps.counter_for(asked.model or deps.model), fold)
    event = UsageSeen(
        used_tokens=asked.used_tokens,
        window_tokens=asked.window_tokens,
        model=asked.model,
        host="" if _host(info, known) else asked.host,
        used_source="argument" if asked.used_tokens is not None else "",
        row=shown.last_row if asked.used_tokens is not None else -1,
    )
    return event if _is_news(known, event) else None


def _is_news(known: UsageFields, event: UsageSeen) -> bool:
    used, window = known.used, known.window
    return bool(
        (
            event.used_tokens is not None
            and (used is None or (used.used_tokens, used.row) != (event.used_tokens, event.row))
        )
        or (event.window_tokens is not None and (window is None or window.window_tokens != event.window_tokens))
        or (event.model and (known.model is None or known.model.model != event.model))
        or (event.host and (known.host is None or known.host.host != event.host))
    )


def _usage(
    deps: Dependencies,
    info: SessionInfo,
    policy: Policy,
    asked: PassOptions,
    known: UsageFields,
    shown: View,
    counter: str,
    estimate: int,
    model: str,
) -> Usage:
    host = _host(info, known) or asked.host
    overrides = deps.host_overrides(host, info.project)
    table = host_window(model, host=host, overrides=overrides) if model else None
    reported = known.used
    kept = known.window.window_tokens if known.window else None
    window = asked.window_tokens or kept
    provider = reported.used_tokens if reported is not None else None
    numbers = Numbers(
        told_used=asked.used_tokens,
        provider_used=provider,
        added_since=_after(shown, reported),
        estimate=estimate if shown.count or estimate else None,
        counter=counter,
        told_window=window,
        set_effective_window=deps.effective_window_tokens,
        set_window=deps.window_tokens,
        model_window=table.tokens if table else None,
        model_source=table.source if table else "model table",
        reserve=table.reserve if table else 0,
        forced=asked.force,
    )
    trigger = host_trigger(model, host=host, overrides=overrides)
    usage = measure(
        numbers,
        policy,
        model=model,
        host=host,
        host_compacts=trigger.itself if trigger is not None else None,
        host_compaction_point=_point(deps, host, trigger),
    )
    if usage.ratio is None:  # looked for only where there are no numbers: they read every call
        usage = msgspec.structs.replace(usage, signals=signals(shown.items))
    if provider is not None and asked.used_tokens is None and reported is not None and reported.used_source:
        source = usage.used.source.replace("provider usage", reported.used_source)
        usage = msgspec.structs.replace(usage, used=msgspec.structs.replace(usage.used, source=source))
    return usage


def _point(deps: Dependencies, host: str, trigger: Trigger | None) -> str:
    """Where the host compacts by itself, and what an adapter of ours does there."""
    words = trigger.words if trigger is not None else ""
    return "; ".join(filter(None, (words, host_note(host, attached=deps.attached).adapter_does)))


def _after(shown: View, reported: UsageSeen | None) -> int:
    """Estimate of what came after the answer that reported usage."""
    if reported is None or reported.row < 0:
        return 0
    return shown.tokens_since(reported.row)


def _host_tokens(imported: Imported, shown: View) -> int:
    """Estimate of the host's own list as it came: where it shows our part, the part; else the original."""
    by_id = {one.item.id: one for one in shown.items}
    parts = imported.fold.decided.parts
    overhead = imported.counter.per_result_overhead
    total = 0
    for item in imported.context.items:
        one = by_id.get(imported.ids[item.id])
        if one is None:  # another process has read a list without it meanwhile
            total += overhead + (0 if item.content is None else imported.counter.count_content(item.content))
            continue
        replaced = one.state == "replaced"
        text_hash = part_hash(item) if replaced and may_be_part(item) else ""
        if replaced and text_hash not in parts:
            total += _whole(one, overhead)
        elif replaced and text_hash != imported.fold.decided.replacements[one.item.id].item.part_sha256:
            total += imported.counter.count(content_text(item.content)) + overhead  # a digest that was replaced (L16)
        else:
            total += one.tokens
    return total


def _whole(one: ContextItem, overhead: int) -> int:
    return one.item.tokens + (overhead if one.item.role == "tool" else 0)


# Which policy a session runs under: the one named now, else the one it was given before, else the default.


async def policy_of(deps: Dependencies, sessions: Sessions, info: SessionInfo, name: str | None) -> Policy:
    """The policy in force; one that is named is kept for the session.

    Raises:
        InvalidPolicy: there is no policy of this name.
    """
    if not name:
        return stored_policy(deps, await sessions.opened(info))
    policy = deps.policy_named(name)
    # As it is read back: with lists for tuples, so that the same policy is not decided again with every call.
    data = msgspec.json.decode(msgspec.json.encode(policy))

    def decide(fold: Fold) -> list[PolicySet]:
        return [] if fold.decided.policy == data else [PolicySet(policy=data, ts=deps.now())]

    await sessions.decide(info, decide)
    return policy


def stored_policy(deps: Dependencies, fold: Fold) -> Policy:
    """What the session was given, or the configured default. What an older version wrote may not fit any more."""
    policy = fold.policy
    if policy is None:
        return deps.policy_named(None)
    try:
        return msgspec.convert(policy, Policy)
    except msgspec.ValidationError:
        raise InvalidPolicy(
            "The session's stored policy does not fit this version.", next="Name one: policy=research."
        ) from None


def check_strategy(strategy: str) -> None:
    """Refuse what is no strategy; empty stands for the policy's own.

    Raises:
        InvalidArgument: it names those there are.
    """
    if strategy and strategy not in STRATEGIES:
        raise InvalidArgument(f"There is no strategy {shown(strategy)}.", next=f"Use one of {', '.join(STRATEGIES)}.")
