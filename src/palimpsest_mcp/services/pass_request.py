"""How a pass was asked for, and its numbers in the unit of our estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..models.policies import Policy
from ..models.records import Reason
from ..policy.strategies import STRATEGIES, Strategy, under
from .dependencies import Progress
from .measure import Situation


@dataclass(frozen=True, kw_only=True)
class PassRequest:
    """How a pass was asked for."""

    policy: Policy
    target: float | None = None
    force: bool = False
    dry_run: bool = False
    requested: bool = True
    """Somebody asked for it; False when it runs on its own."""
    keep_last: int | None = None
    focus: str = ""
    plan_id: str = ""
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    """The calling agent's own summaries, by the number of their slot in the plan (I4)."""
    strategy: str = ""
    """Empty: the policy's own."""
    host_compacts: str = ""
    """Where the host compacts by itself, in words, where no adapter of ours acts in it or before it; else empty."""
    reason: Reason | None = None
    """What records give as theirs; None: whether it was forced says it."""
    progress: Progress | None = None

    @property
    def how(self) -> Strategy:
        """The strategy that was named for this pass, else the policy's own."""
        return STRATEGIES[self.strategy or self.policy.strategy]

    @property
    def rules(self) -> Policy:
        """The policy under the strategy: what the pass goes by."""
        return under(self.policy, self.how)


def in_our_tokens(situation: Situation, request: PassRequest) -> dict[str, Any]:
    """The numbers of a plan in the unit of our estimates, in which items are counted (`Situation.scale`)."""

    def ours(tokens: int | None) -> int | None:
        return None if tokens is None else round(tokens / situation.scale)

    return {
        "used_tokens": ours(situation.view_used),
        "window_tokens": ours(situation.target_window),
        "target": request.target,
        "force": request.force,
        "keep_last": request.keep_last,
        "strategy": request.how,
    }
