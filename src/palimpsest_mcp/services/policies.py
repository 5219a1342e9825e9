"""Which policy a session runs under: the one named now, else the one it was given before, else the default."""

from __future__ import annotations

import msgspec

from ..errors import InvalidArgument, InvalidPolicy
from ..ledger.fold import Fold
from ..models.events import PolicySet, SessionInfo
from ..models.plain_text import shown
from ..models.policies import Policy
from ..policy.strategies import STRATEGIES
from .dependencies import Dependencies
from .sessions import Sessions


async def policy_of(given: Dependencies, sessions: Sessions, info: SessionInfo, name: str | None) -> Policy:
    """The policy in force; one that is named is kept for the session.

    Raises:
        InvalidPolicy: there is no policy of this name.
    """
    if not name:
        return stored_policy(given, await sessions.fold(info))
    policy = given.policy_named(name)
    # As it is read back: with lists for tuples, so that the same policy is not decided again with every call.
    data = msgspec.json.decode(msgspec.json.encode(policy))

    def decide(fold: Fold) -> list[PolicySet]:
        return [] if fold.decided.policy == data else [PolicySet(policy=data, ts=given.now())]

    await sessions.decide(info, decide)
    return policy


def stored_policy(given: Dependencies, fold: Fold) -> Policy:
    """What the session was given, or the configured default. What an older version wrote may not fit any more."""
    if fold.decided.policy is None:
        return given.policy_named(None)
    try:
        return msgspec.convert(fold.decided.policy, Policy)
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
