"""One step back: originals stand in the context again, of a batch or of a whole pass (L13)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from ..context.fold import Fold
from ..errors import BatchUnknown, InvalidArgument
from ..models.advice import Advice, step
from ..models.events import Reinstated, ReplacedBatch, SessionInfo
from ..models.host_table import host_note, how_to_apply
from ..models.text import shown
from ..models.views import Undone
from .dependencies import Dependencies
from .offloaded import Offloaded, keep_status
from .sessions import Sessions


class StepBack:
    """Takes passes back."""

    def __init__(self, deps: Dependencies, sessions: Sessions, offloaded: Offloaded) -> None:
        self._deps = deps
        self._sessions = sessions
        self._offloaded = offloaded

    async def reinstate(self, info: SessionInfo, batch_id: str) -> Undone:
        """Put the whole units of a batch back in the place of their parts.

        Raises:
            BatchUnknown: the session's context holds no digest of this batch.
        """

        def chosen(fold: Fold) -> tuple[int, list[str]]:
            if not any(one.batch.batch_id == batch_id for one in fold.decided.replacements.values()):
                raise BatchUnknown(
                    f"No digest of {shown(batch_id)} stands in the context of {info.handle}.",
                    next=Advice("See its batches: {}", step("list_offloaded", session_id=info.handle)),
                )
            every = enumerate(fold.decided.passes(), 1)
            return next((at for at, own in every if batch_id in {one.info.batch_id for one in own}), 0), [batch_id]

        return await self._put_back(info, chosen)

    async def undo(self, info: SessionInfo, number: int | None = None) -> Undone:
        """Put everything of one pass back: of the newest that still stands, or of the one with this number.

        Raises:
            InvalidArgument: no digest of such a pass stands in the context.
        """

        def chosen(fold: Fold) -> tuple[int, list[str]]:
            standing = {
                at: names
                for at, own in enumerate(fold.decided.passes(), 1)
                if (names := [one.info.batch_id for one in own if one.state == "replaced"])
            }
            at = max(standing, default=0) if number is None else number
            if at not in standing:
                raise _no_pass(info.handle, number, standing)
            return at, standing[at]

        return await self._put_back(info, chosen)

    async def _put_back(self, info: SessionInfo, chosen: Callable[[Fold], tuple[int, list[str]]]) -> Undone:
        done: list[Undone] = []

        def decide(fold: Fold) -> list[Reinstated]:
            number, names = chosen(fold)
            host = info.host or ("" if fold.envelopes else "mcp")
            note = host_note(host, attached=self._deps.attached)
            replaced = fold.decided.replacements
            units = {_unit(fold, name) for name, one in replaced.items() if one.batch.batch_id in names}
            items = tuple(sorted(name for name in replaced if _unit(fold, name) in units))
            stands = _digests_below(fold, names)
            below = {item.id: item.part_tokens for batch in stands for item in batch.items}
            done[:] = [
                Undone(
                    session_id=info.session_id,
                    handle=info.handle,
                    number=number,
                    batch_ids=tuple(names),
                    item_ids=items,
                    tokens=sum(
                        below.get(name, fold.states[name].current.tokens) - replaced[name].item.part_tokens
                        for name in items
                    ),
                    how=how_to_apply(note, info.handle, info.path, undo=True),
                )
            ]
            heard = fold.assistant_messages
            return [Reinstated(item_ids=items, batch_ids=tuple(names), stands=stands, assistant_messages=heard)]

        await self._sessions.decide(info, decide)
        await keep_status(self._deps, self._sessions, info)
        return done[0]


def _digests_below(fold: Fold, names: Iterable[str]) -> tuple[ReplacedBatch, ...]:
    """The digests that these took the place of: one step back from a higher level is not all the way (L16)."""
    batches = fold.decided.batches
    below = [batches[old] for name in names for old in batches[name].info.replaces if old in batches]
    return tuple(one.info for one in below if one.state == "superseded" and not one.purged_items)


def _no_pass(handle: str, number: int | None, standing: Collection[int]) -> InvalidArgument:
    which = "No pass" if number is None else f"No digest of pass {number}"
    others = f"Passes that stand: {', '.join(map(str, standing))}. " if standing else ""
    return InvalidArgument(
        f"{which} over {handle} stands in its context."
        if number is None
        else f"{which} stands in the context of {handle}.",
        next=Advice(f"{others}See its batches: {{}}", step("list_offloaded", session_id=handle)),
    )


def _unit(fold: Fold, item_id: str) -> str:
    state = fold.states.get(item_id)
    return (state.current.unit if state is not None and state.versions else "") or item_id
