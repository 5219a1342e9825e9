"""From loose numbers to a `Usage`: the best source first, each named. An unknown number is None, never 0."""

from __future__ import annotations

import msgspec

from ..models.policies import Policy
from ..models.usage import Measured, Usage
from .zones import ratio_of, zone_of

FORCED = "forced"
UNKNOWN = Measured(value=None, source="unknown")


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about one agent's context. None: nobody said."""

    told_used: int | None = None
    """Given as argument."""
    provider_used: int | None = None
    """Input, cache creation, cache read and output of the last main-chain answer that reported them all."""
    added_since: int = 0
    """Estimate of what came into the context after that answer (negative when a pass took out more than came)."""
    estimate: int | None = None
    """Estimate of the whole context; None where nothing of it is known."""
    counter: str = ""
    """Name of the counter behind the estimates, `o200k x 1.55`."""
    told_window: int | None = None
    """Given as argument; taken as effective."""
    set_effective_window: int | None = None
    set_window: int | None = None
    """From the settings."""
    host_window: int | None = None
    """Reported by the host; the model's window, before the reserve."""
    model_window: int | None = None
    model_source: str = "model table"
    reserve: int = 0
    """What hosts hold back of a whole window for the answer."""
    forced: bool = False
    """With no window from anywhere, the session's own tokens are the window."""


def measure(
    numbers: Numbers,
    policy: Policy,
    *,
    model: str = "",
    host: str = "",
    host_compacts: bool | None = None,
    host_compaction_point: str = "",
    signals: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Usage:
    """Combine numbers into a usage under a policy.

    Used: argument, provider usage (with the estimate of what came after it), estimate. Window: argument, settings,
    host, model table, forced. The ratio is used / effective window and may exceed 1; under `window_kind = static` it
    is used / whole window. The signals are kept only where there is no ratio.
    """
    used = used_tokens(numbers)
    window, effective = windows(numbers, used, static=policy.window_kind == "static")
    ratio = ratio_of(used.value, effective.value)
    zone = zone_of(ratio, policy)
    return Usage(
        used=used,
        window=window,
        effective_window=effective,
        ratio=ratio,
        zone=zone.name,
        action=zone.action,
        policy=policy.name,
        model=model,
        host=host,
        host_compacts=host_compacts,
        host_compaction_point=host_compaction_point,
        signals=signals if ratio is None else (),
        notes=notes,
    )


def used_tokens(numbers: Numbers) -> Measured:
    """Tokens in the window now."""
    if numbers.told_used is not None:
        return Measured(value=numbers.told_used, source="argument")
    if numbers.provider_used is not None:
        source = "provider usage + estimate" if numbers.added_since else "provider usage"
        return Measured(value=max(0, numbers.provider_used + numbers.added_since), source=source)
    if numbers.estimate is not None:
        if numbers.counter.startswith("characters"):
            return Measured(value=numbers.estimate, source="characters rule")
        return Measured(value=numbers.estimate, source=f"estimate ({numbers.counter})")
    return UNKNOWN


def windows(numbers: Numbers, used: Measured, *, static: bool) -> tuple[Measured, Measured]:
    """The whole window and the effective one, in that order."""
    if numbers.told_window is not None:
        told = Measured(value=numbers.told_window, source="argument")
        return told, told
    if numbers.set_effective_window is not None and not static:
        effective = Measured(value=numbers.set_effective_window, source="setting")
        return _whole(numbers, used) or effective, effective
    whole = _whole(numbers, used)
    if whole is None or whole.source == FORCED:
        return whole or UNKNOWN, whole or UNKNOWN
    if static or whole.value is None or not numbers.reserve:
        return whole, whole
    left = max(1, whole.value - numbers.reserve)
    return whole, Measured(value=left, source=f"{whole.source}, less {numbers.reserve:,} for the answer")


def _whole(numbers: Numbers, used: Measured) -> Measured | None:
    for value, source in (
        (numbers.set_window, "setting"),
        (numbers.host_window, "host"),
        (numbers.model_window, numbers.model_source),
        ((used.value or None) if numbers.forced else None, FORCED),
    ):
        if value is not None:
            return Measured(value=value, source=source)
    return None
