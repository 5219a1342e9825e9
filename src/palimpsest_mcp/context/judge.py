"""A verdict with its reason for every item: the first rule that fits decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from ..errors import InvalidArgument
from ..models.items import Item
from ..models.plans import ContextItem, Gate, Policy, Verdict
from .arguments import long_strings
from .gates import Repeat, gates, is_list, newest_versions, repeated
from .policies import Scorer, scores
from .scene import CONVERSATION, Scene, is_result, kind_under, may_leave, never_leaves

Grade: TypeAlias = Literal["protected", "keep", "free"]


class Ruling(NamedTuple):
    """What the first rule that fits says of one item."""

    grade: Grade
    reason: str
    holds_unit: bool = False
    """It holds the whole unit of the item. The other rules speak of one item only: what carries the conversation
    (`message`, `tool_call`, `thinking` …), and what cannot or need not be replaced (`already_replaced`,
    `not_restorable`, `unshrinkable`, `small`, `gone`)."""


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules need to know of the whole context before they judge one item."""

    kinds: Mapping[str, str]
    named: Mapping[str, str]
    """Item id -> `original_query`, `clarify_verification` or `newest_user_request`."""
    rank: Mapping[str, int]
    """Item id -> place among the tool results (or the evidence), 1 is the newest."""
    last_rows: frozenset[int]
    answered: Mapping[str, int] = {}
    """Unit -> place of its newest result: the arguments of its call are as old as that. Of a call that never got one,
    the place that it would have."""
    gates: Mapping[str, Gate] = {}
    repeats: Collection[str] = ()
    """Ids of items that a later call says again."""
    versions: Collection[str] = ()
    """Ids of what holds the newest version of a file in work."""
    brief_tokens: int | None = None
    """From so many tokens on small results leave, too; None: no small one does."""
    loose: bool = False
    """Nothing is held word for word, and no file whole: a `keep_last` that was given and forced wins over that."""


def judge(
    items: Sequence[ContextItem],
    policy: Policy,
    *,
    keep_last: int | None = None,
    force: bool = False,
    known_gates: Mapping[str, Gate] | None = None,
    repeats: Collection[str] | None = None,
    versions: Collection[str] | None = None,
    same: Collection[str] = (),
    brief_tokens: int | None = None,
) -> tuple[Verdict, ...]:
    """Judge every item of one agent's context; one verdict an item, in the order given.

    Rules in order: gone; kinds that never leave; system prompt, original query, clarify verification, newest user
    request; pinned; restored a short while ago; the newest tool results (and pieces of evidence) of the policy's floor,
    whatever K; its last messages; units with an open call; what is replaced already; what carries the conversation;
    what has no text to restore; what was found unshrinkable; the gates, where the policy has them (`verbatim` stays;
    what may be forgotten is `forget`); newest K (`keep`), save for what a later call says again (`repeated`); small;
    the newest version of a file in work (`keep`). The rest is `free`.

    Units are whole: when a rule that `holds_unit` fits one item of a unit, its other items that could leave get the
    same verdict and reason, the strictest one where several hold. A small item binds only itself: otherwise one short
    answer would hold every long one of the same unit.

    Args:
        keep_last: K for this call, instead of the policy's; -1 keeps all, below the floor counts as it.
        force: with `keep_last`, neither the policy's last messages nor the verbatim gate protect any more.
        known_gates: what `gates` says of these items, where it was asked before; None asks it.
        repeats: ids of items that a later call says again; None asks `repeated`.
        versions: ids of what is to be kept as a file's newest version; None asks `newest_versions`.
        same: ids of results that are none of the newest, since a later one has their bytes.
        brief_tokens: small results of at least so many tokens are `free`, too, as `brief`; None: no small one is.

    Raises:
        InvalidArgument: `keep_last` is below -1.
    """
    newest = newest_kept(policy, keep_last)
    loose = force and keep_last is not None
    found = gates_of(items, policy) if known_gates is None else known_gates
    rows = 0 if loose else policy.keep_last_messages
    scene = Scene(items, policy) if repeats is None and versions is None else None
    again = repeated(items, policy, scene) if repeats is None else repeats
    held = frozenset[str]().union(*newest_versions(items, policy, scene)) if versions is None else versions
    del scene  # of a long session it takes as much as the marks
    marks = survey(items, policy, rows=rows, gates=found, loose=loose, same=same)
    marks = msgspec.structs.replace(marks, repeats=again, versions=held, brief_tokens=brief_tokens)
    known: dict[Ruling, Ruling] = {}  # few are different
    single = [known.setdefault(one := _first_rule(entry, marks, policy, newest), one) for entry in items]
    return _whole_units(items, single, found)


def gates_of(items: Sequence[ContextItem], policy: Policy) -> Mapping[str, Gate]:
    """Item id -> its gate; empty under a policy without gates."""
    return gates(items, policy) if policy.gates else {}


class Facts:
    """What is found out once about a context, however often a pass plans: each when it is first asked for."""

    def __init__(self, items: Sequence[ContextItem], policy: Policy) -> None:
        self._items, self._policy = items, policy
        self._scores: dict[Scorer, Mapping[str, float]] = {}

    @cached_property
    def gates(self) -> Mapping[str, Gate]:
        """As `gates_of`."""
        return gates_of(self._items, self._policy)

    @cached_property
    def repeats(self) -> Mapping[str, Repeat]:
        """As `repeated`."""
        return repeated(self._items, self._policy)

    @cached_property
    def versions(self) -> tuple[frozenset[str], ...]:
        """As `newest_versions`."""
        return newest_versions(self._items, self._policy)

    def scores(self, scorer: Scorer | None) -> Mapping[str, float] | None:
        """As `strategies.scores`."""
        if scorer is not None and scorer not in self._scores:
            self._scores[scorer] = scores(self._items, self._policy, scorer)
        return None if scorer is None else self._scores[scorer]


def newest_kept(policy: Policy, keep_last: int | None) -> int | None:
    """K in effect; None keeps all.

    Raises:
        InvalidArgument: `keep_last` is below -1.
    """
    wanted = policy.keep_last_k_tool_results if keep_last is None else keep_last
    if wanted < -1:
        raise InvalidArgument(
            f"keep_last must be -1 or more, not {wanted}.",
            next="Give the number of newest tool results to keep; -1 keeps all.",
        )
    return None if wanted == -1 else max(wanted, policy.floor_tool_results)


def survey(
    items: Sequence[ContextItem],
    policy: Policy,
    *,
    rows: int,
    gates: Mapping[str, Gate] | None = None,
    loose: bool = False,
    same: Collection[str] = (),
) -> Marks:
    """Find the items that are special by their place.

    Args:
        rows: how many of the newest messages stay whole.
        same: as in `judge`.
    """
    present = [entry.item for entry in items if entry.state != "gone"]
    kinds = {item.id: kind_under(item, policy) for item in present}
    ranks = _ranks([item for item in present if item.id not in same])
    answered: dict[str, int] = {}
    for item in present:
        if item.unit and item.id in ranks:
            answered[item.unit] = min(answered.get(item.unit, ranks[item.id]), ranks[item.id])
    answered |= _stopped_calls(present, answered)
    messages = sorted({item.position[0] for item in present if item.role != "system"}, reverse=True)
    return Marks(
        kinds=kinds,
        named=_named(present, kinds),
        rank=ranks,
        answered=answered,
        last_rows=frozenset(messages[:rows]),
        gates=gates or {},
        loose=loose,
    )


def _stopped_calls(present: Sequence[Item], answered: Mapping[str, int]) -> dict[str, int]:
    """Calls that never got a result, since somebody stopped them: as old as a result behind them would be. Those that
    are still open are held by another rule."""
    found: dict[str, int] = {}
    behind = 0
    for item in reversed(present):
        behind += is_result(item)
        if item.kind == "tool_call" and item.unit and item.unit not in answered:
            found[item.unit] = behind + 1
    return found


def _ranks(present: Sequence[Item]) -> dict[str, int]:
    """Tool results count among themselves, and so does evidence: nothing else may push them off the floor. Other
    results of calls, such as fetched copies, count among all of them."""
    ranks: dict[str, int] = {}
    seen: Counter[str] = Counter()
    for item in reversed(present):
        sort = item.kind if item.kind in ("tool_result", "evidence") else "other"
        if sort == "other" and not is_result(item):
            continue
        seen[sort] += 1
        ranks[item.id] = seen[sort] + (seen["tool_result"] if sort == "other" else 0)
    return ranks


def _named(present: Sequence[Item], kinds: Mapping[str, str]) -> dict[str, str]:
    """The newest request first, so that the older names win where one item is both."""
    asked = [item for item in present if item.role == "user" and kinds[item.id] in ("message", "original_query")]
    named = {item.id: "newest_user_request" for item in asked if item.position[0] == asked[-1].position[0]}
    for item in present:
        if kinds[item.id] == "clarify_verification":
            named[item.id] = "clarify_verification"
    if (verification := _verification(present, kinds)) is not None:
        named[verification.id] = "clarify_verification"
    queries = [item.id for item in present if kinds[item.id] == "original_query"] or [item.id for item in asked[:1]]
    return named | dict.fromkeys(queries, "original_query")


def _verification(present: Sequence[Item], kinds: Mapping[str, str]) -> Item | None:
    """The message in which the assistant tells the user what it understood: its first one after clarifying."""
    clarified = False
    for item in present:
        clarified = clarified or kinds[item.id] == "clarify_result"
        if clarified and item.role == "assistant" and kinds[item.id] == "message":
            return item
    return None


def _first_rule(entry: ContextItem, marks: Marks, policy: Policy, newest: int | None) -> Ruling:
    item = entry.item
    if entry.state == "gone":
        return Ruling("protected", "gone")
    kind = marks.kinds[item.id]
    gives_way = _gives_way(entry, kind, marks, policy)
    rank = marks.answered[item.unit] if gives_way else marks.rank.get(item.id, 0)
    sort = "evidence" if item.kind == "evidence" else "tool_results"
    if (reason := _never(entry, kind, marks, policy)) is not None:
        return Ruling("protected", reason, holds_unit=True)
    if 0 < rank <= policy.floor_tool_results:
        return Ruling("protected", f"newest_{policy.floor_tool_results}_{sort}", holds_unit=True)
    if item.position[0] in marks.last_rows:
        return Ruling("protected", "last_messages", holds_unit=True)
    if entry.call_open:
        return Ruling("protected", "call_open", holds_unit=True)
    if (reason := _stays(entry, kind, gives_way=gives_way)) is not None:
        return Ruling("protected", reason)
    gate = marks.gates.get(item.id)
    if gate is not None and gate.name == "verbatim" and not marks.loose:
        return Ruling("protected", "verbatim", holds_unit=True)
    again = item.id in marks.repeats
    forgotten = again or (gate is not None and gate.name == "forget")
    if rank and (newest is None or rank <= newest) and not forgotten:
        return Ruling("keep", f"newest_k_{sort}", holds_unit=True)
    if entry.tokens < policy.min_item_tokens:
        brief = marks.brief_tokens is not None and entry.tokens >= marks.brief_tokens and is_result(item)
        return Ruling("free", "brief") if brief else Ruling("protected", "small")
    if item.id in marks.versions and not (again or marks.loose):
        return Ruling("keep", "newest_version")
    return Ruling("free", "repeated" if again else "forget" if forgotten else "older")


def _never(entry: ContextItem, kind: str, marks: Marks, policy: Policy) -> str | None:
    item = entry.item
    if never_leaves(kind, policy):
        return "never_kind"
    if kind == "system_prompt" or (item.role == "system" and kind == "message"):
        return "system_prompt"
    if item.id in marks.named:
        return marks.named[item.id]
    if entry.pinned:
        return "pinned"
    if entry.restored_ago is not None and entry.restored_ago < policy.restored_protection:
        return "restored"
    return None


def _gives_way(entry: ContextItem, kind: str, marks: Marks, policy: Policy) -> bool:
    """Whether it is a call whose long arguments may leave, answered or given up; the call itself stays. Of lists of
    what is to be done, only those in whose place a newer one came."""
    item = entry.item
    if kind != "tool_call" or entry.state != "live" or item.unit not in marks.answered:
        return False
    superseded = item.id in marks.repeats
    least = policy.min_item_tokens if superseded else policy.min_argument_tokens
    return entry.tokens >= least and (superseded or not is_list(item)) and bool(long_strings(item))


def _stays(entry: ContextItem, kind: str, *, gives_way: bool) -> str | None:
    """What cannot be replaced, or has been. A digest is never digested again at its own level."""
    if entry.state == "replaced":
        return "already_replaced"
    if not gives_way and not may_leave(entry.item, kind):
        return kind if kind in CONVERSATION else "kind_stays"
    if entry.item.content is None:
        return "not_restorable"
    return "unshrinkable" if entry.unshrinkable else None


def _whole_units(
    items: Sequence[ContextItem], single: Sequence[Ruling], gates: Mapping[str, Gate]
) -> tuple[Verdict, ...]:
    """Give every item of a unit that could leave the strictest verdict that binds one of the unit's items."""
    held: dict[str, Ruling] = {}
    for entry, ruling in zip(items, single, strict=True):
        unit = unit_of(entry)
        if ruling.holds_unit and (unit not in held or (ruling.grade, held[unit].grade) == ("protected", "keep")):
            held[unit] = ruling
    verdicts: list[Verdict] = []
    for entry, own in zip(items, single, strict=True):
        unit = unit_of(entry)
        ruling = own if own.grade == "protected" else held.get(unit, own)
        name = entry.item.id
        verdicts.append(
            Verdict(
                item_id=name,
                unit=unit,
                tokens=entry.tokens,
                verdict=ruling.grade,
                reason=ruling.reason,
                gate=gates.get(name),
            )
        )
    return tuple(verdicts)


def unit_of(entry: ContextItem) -> str:
    """The item's unit; an item outside any is a unit by itself."""
    return entry.item.unit or entry.item.id
