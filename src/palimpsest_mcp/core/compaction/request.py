"""A pass that is about to run, and its numbers in the unit of our estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...context.strategies import STRATEGIES, Strategy, under
from ...models.pass_options import PassOptions
from ...models.plans import Policy
from ...models.records import Reason
from ..measure import Measurement


@dataclass(frozen=True, kw_only=True)
class PassRequest:
    """What was asked for, under the policy that holds for the session."""

    policy: Policy
    options: PassOptions = PassOptions()
    requested: bool = True
    """Somebody asked for it; False when it runs on its own."""
    host_compacts: str = ""
    """Where the host compacts by itself, in words, where no adapter of ours acts in it or before it; else empty."""
    reason: Reason | None = None
    """What records give as theirs; None: whether it was forced says it."""

    @property
    def how(self) -> Strategy:
        """The strategy that was named for this pass, else the policy's own."""
        return STRATEGIES[self.options.strategy or self.policy.strategy]

    @property
    def rules(self) -> Policy:
        """The policy under the strategy: what the pass goes by."""
        return under(self.policy, self.how)

    async def tell(self, done: int, total: int, what: str) -> None:
        """Report progress, where somebody wants to know."""
        if self.options.progress is not None:
            await self.options.progress(done, total, what)


def in_our_tokens(measurement: Measurement, request: PassRequest) -> dict[str, Any]:
    """The numbers of a plan in the unit of our estimates, in which items are counted (`Situation.scale`)."""

    def ours(tokens: int | None) -> int | None:
        return None if tokens is None else round(tokens / measurement.scale)

    return {
        "used_tokens": ours(measurement.view_used),
        "window_tokens": ours(measurement.target_window),
        "target": request.options.target,
        "force": request.options.force,
        "keep_last": request.options.keep_last,
        "strategy": request.how,
    }
