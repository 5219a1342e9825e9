"""Which policy a session runs under: the one named now, else the one it was given before, else the default."""

from __future__ import annotations

import msgspec

from ..context.fold import Fold
from ..context.strategies import STRATEGIES
from ..errors import InvalidArgument, InvalidPolicy
from ..models.events import PolicySet, SessionInfo
from ..models.plans import Policy
from ..models.text import shown
from .dependencies import Dependencies
from .sessions import Sessions


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
