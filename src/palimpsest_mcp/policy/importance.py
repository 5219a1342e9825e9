"""One scorer for the strategies that do not go by age alone: what scores least leaves first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from ..models.plans import ContextItem
from ..models.policies import Policy
from ..specifics.cues import DECIDED
from .forgetting import cures, forgettable
from .scene import Result, Scene

_READ_CHARS = 4_000
"""Of a result, so much is looked at for words of decisions."""
_ACKNOWLEDGED = ("successfully", "done", "ok", "created", "updated", "no output")
_SHORT = 300


class Scorer(msgspec.Struct, frozen=True, kw_only=True):
    """Weights of the signals, each of which is 0 to 1 before it is weighed."""

    recency: float
    """1 for the newest result, 0 for the oldest."""
    error: float = 0.0
    """It says that something failed, and nothing shows that it was resolved."""
    path: float = 0.0
    """It is about a file that is being worked on, or one that was changed at all (half)."""
    decision: float = 0.0
    """It words a decision."""
    mention: float = 0.0
    """Later messages name the file or command it is about."""
    repeat: float = 0.0
    """It is said again, resolved or superseded: taken off."""
    acknowledgement: float = 0.0
    """It only says that a call was carried out: taken off."""


IMPORTANCE = Scorer(recency=1, error=2, path=1.5, decision=1, mention=1, repeat=3, acknowledgement=2)
"""Importance sampling: paths, decisions and errors up, acknowledgements and repeats down; age decides among equals."""

HYBRID = msgspec.structs.replace(IMPORTANCE, recency=4)
"""The same beside a window of newest messages: what is near the window counts for more than what is far from it."""


def scores(items: Sequence[ContextItem], policy: Policy, scorer: Scorer) -> dict[str, float]:
    """Item id -> score of every result of a call; the least leaves first. Deterministic."""
    scene = Scene(items, policy)
    said_again = forgettable(scene) if scorer.repeat else {}
    mentions = _mentions(scene) if scorer.mention else Counter[str]()
    last = max((one.order for one in scene.results), default=0) or 1
    return {
        one.item.id: scorer.recency * one.order / last
        + scorer.error * (bool(one.outcome.failed) and not _cured(scene, one))
        + scorer.path * _about(scene, one)
        + scorer.decision * (DECIDED.search(one.text[:_READ_CHARS]) is not None)
        + scorer.mention * bool(mentions[one.target])
        - scorer.repeat * (one.item.id in said_again)
        - scorer.acknowledgement * _acknowledges(one)
        for one in scene.results
    }


def _cured(scene: Scene, one: Result) -> bool:
    return any(later.order > one.order and later.asked == one.asked and cures(later, one) for later in scene.results)


def _about(scene: Scene, one: Result) -> float:
    return 1.0 if one.target in scene.in_work else 0.5 if one.target in scene.changes else 0.0


def _mentions(scene: Scene) -> Counter[str]:
    """How many messages name the target of a call, or its last part where that says enough."""
    found: Counter[str] = Counter()
    said = "\n".join(scene.texts.values())
    for target in {one.target for one in scene.results if one.target}:
        name = target.rstrip("/").rpartition("/")[2] if " " not in target else target
        found[target] = len(name) >= 5 and name in said
    return found


def _acknowledges(one: Result) -> bool:
    low = one.text[:_SHORT].lower()
    return len(one.text) <= _SHORT and any(word in low for word in _ACKNOWLEDGED)
