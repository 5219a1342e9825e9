"""What offloading saved a session, net of what came back since: one sum from the ledger, for every face."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from ..models.items import Item
from ..models.reports import Saved
from ..models.views import StatusNote
from .fold import Fold
from .state import Batch


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of a batch; what was purged counts in none of them."""

    original: int = 0
    """Originals as they stood in the context, with what a result takes beside its text."""
    digest: int = 0
    """The digest alone."""
    overhead: int = 0
    """What the results take beside their texts: as originals, and as parts of the digest."""


class _Left(NamedTuple):
    """What a session's batches are, whatever was handed out of them since: of thousands it is worked out once."""

    batches: int
    results: set[str]
    originals: int
    digests: int
    again: list[Item] | None
    """Results that came in again, handed out ones among them."""
    has_purged: bool


def savings(fold: Fold, *, result_overhead: int) -> Saved:
    """What a session's batches saved, and what came back of them.

    Args:
        result_overhead: tokens that a tool result takes beside its text, its digest too.
    """
    left: _Left | None = fold.derived.get(f"left {result_overhead}")
    if left is None:
        left = fold.derived[f"left {result_overhead}"] = _left(fold, result_overhead)
    given_back = [_given_back(fold, *one) if left.has_purged else max(0, one[2]) for one in fold.restored]
    again = None if left.again is None else [item for item in left.again if item.sha256 not in fold.fetched]
    return Saved(
        batches=left.batches,
        results=len(left.results),
        offloaded=left.originals,
        digests=left.digests,
        restored=sum(given_back),
        restored_results=len(left.results & {item for _, items, _ in fold.restored for item in items}),
        read_again=None if again is None else sum(item.tokens + result_overhead for item in again),
        read_again_results=None if again is None else len(again),
    )


def _left(fold: Fold, result_overhead: int) -> _Left:
    decided = fold.decided
    batches = [one for one in decided.batches.values() if one.state not in ("purged", "reinstated")]
    results = set[str]()
    each = list[Sizes]()
    for one in batches:
        mine = _results(fold, one)
        results |= mine.difference(one.purged_items)
        each.append(_sizes(fold, one, mine, result_overhead))
    return _Left(
        batches=len(batches),
        results=results,
        originals=sum(one.original for one in each),
        digests=sum(one.digest + one.overhead for one in each),
        again=_read_again(fold, batches),
        has_purged=bool(decided.purged_batches) or any(one.purged_items for one in decided.batches.values()),
    )


def sizes(fold: Fold, batch: Batch, *, result_overhead: int) -> Sizes:
    """Tokens of one batch, without those of its items that were purged.

    Args:
        result_overhead: as in `savings`.
    """
    return Sizes() if batch.state == "purged" else _sizes(fold, batch, _results(fold, batch), result_overhead)


def _sizes(fold: Fold, batch: Batch, results: set[str], result_overhead: int) -> Sizes:
    """The same of one that is not purged as a whole, with its results."""
    info, overhead = batch.info, result_overhead * len(results)
    if not batch.purged_items:
        return Sizes(original=max(0, info.original_tokens), digest=max(0, info.digest_tokens), overhead=overhead)
    decided = fold.decided.batches
    below = [item for name in info.replaces if name in decided for item in decided[name].info.items]
    stood = {item.id: item.part_tokens for item in below}  # what a digest of a higher level took the place of
    gone = [item for item in info.items if item.id in batch.purged_items]
    leaves = result_overhead * sum(item.id in results for item in gone)
    originals = sum(stood.get(item.id, _text_tokens(fold, item.id)) for item in gone)
    return Sizes(
        original=max(0, info.original_tokens - originals - leaves),
        digest=max(0, info.digest_tokens - sum(item.part_tokens for item in gone)),
        overhead=overhead - leaves,
    )


def _given_back(fold: Fold, batch_id: str, item_ids: tuple[str, ...], tokens: int) -> int:
    """Of one restore, the tokens of what was not purged since."""
    batch = fold.decided.batches.get(batch_id)
    gone = {*item_ids} & {*(batch.purged_items if batch is not None else ())}
    if batch_id in fold.decided.purged_batches or (gone and gone == {*item_ids}):
        return 0
    return max(0, tokens - sum(_text_tokens(fold, item_id) for item_id in gone))


def _read_again(fold: Fold, batches: list[Batch]) -> list[Item] | None:
    """Results that came in after an offload and hold what it had taken: the same bytes, or the same file read again
    that nothing had changed meanwhile. None where a pass did not write down how far the context reached."""
    first: dict[tuple[str, str], tuple[int, int]] = {}
    """What a result shows -> message of the first original that left with it, and newest message then."""
    for batch in batches:
        for one in batch.info.items:
            item = fold.item(one.id)
            if item is None or item.role != "tool":
                continue
            row = item.position[0] if batch.reason == "at_birth" else batch.last_row
            if row < 0:
                return None
            for key in _shows(item):
                first[key] = min(first.get(key, (item.position[0], row)), (item.position[0], row), key=lambda at: at[1])
    results: list[Item] = []
    changed: dict[tuple[str, str], list[int]] = {}
    for state in fold.states.values():
        item = state.current if state.versions else None
        if item is None:
            continue
        if item.action is not None and item.action.verb in ("write", "edit"):
            changed.setdefault((item.agent, item.action.target), []).append(item.position[0])
        if item.role == "tool" and item.kind != "restored_copy":
            results.append(item)
    return [item for item in results if any(_came_back(item, key, first, changed) for key in _shows(item))]


def _came_back(
    item: Item,
    key: tuple[str, str],
    first: dict[tuple[str, str], tuple[int, int]],
    changed: dict[tuple[str, str], list[int]],
) -> bool:
    shown, left = first.get(key, (0, item.position[0]))
    if item.position[0] <= left:
        return False
    target = item.action.target if item.action is not None else ""
    return not any(shown < row < item.position[0] for row in changed.get((item.agent, target), ()))


def _shows(item: Item) -> Iterator[tuple[str, str]]:
    """What tells that two results show the same. Short ones (`ok`, `(no output)`) repeat by themselves."""
    if item.sha256 and item.size_bytes >= _TELLING_BYTES:
        yield item.agent, item.sha256
    if item.action is not None and item.action.verb == "read" and item.action.target and not item.is_error:
        yield item.agent, f"read {item.action.target}"


_TELLING_BYTES = 64
"""As `gates` has it for equal results."""


def _results(fold: Fold, batch: Batch) -> set[str]:
    """Those of a batch's items that are tool results."""
    items = ((one.id, fold.item(one.id)) for one in batch.info.items)
    return {item_id for item_id, item in items if item is not None and item.role == "tool"}


def _text_tokens(fold: Fold, item_id: str) -> int:
    item = fold.item(item_id)
    return 0 if item is None else item.tokens


def status_of(fold: Fold, handle: str, *, result_overhead: int) -> StatusNote:
    """What a status line tells of a session."""
    saved = savings(fold, result_overhead=result_overhead)
    note: StatusNote | None = fold.derived.get("status")
    if note is None:
        note = fold.derived["status"] = _status(fold)
    return msgspec.structs.replace(
        note, handle=handle, saved_tokens=saved.net, restores_per_hundred=saved.restores_per_hundred
    )


def _status(fold: Fold) -> StatusNote:
    """The same without a name, and without what depends on what was handed out."""
    items = [name for name, one in fold.decided.replacements.items() if one.batch.mode != "copy"]
    probes = fold.decided.last_probes
    standing = [[one for one in each if one.state == "replaced"] for each in fold.decided.passes()]
    newest = [*filter(None, standing)][-1:]
    return StatusNote(
        handle="",
        batches=sum(batch.state == "replaced" for batch in fold.decided.batches.values()),
        items=len(items),
        saved_tokens=0,
        restores_per_hundred=None,
        probes_passed=probes.passed if probes is not None else 0,
        probes_asked=probes.total if probes is not None else 0,
        last_pass_at=newest[0][0].ts if newest else "",
        last_pass_tokens=sum(one.info.original_tokens - one.info.digest_tokens for each in newest for one in each),
    )
