"""What is refused before a session is made: a call that does nothing leaves nothing behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InvalidArgument, WindowUnknown
from ..ledger.fold import Fold
from ..models.advice import Advice, Either
from ..models.pass_options import PassOptions
from ..ports.host import HostContext
from ..tokens.windows import window_of
from .dependencies import Dependencies
from .policies import check_strategy
from .record import check_items
from .session_names import read_from, slips
from .sessions import Sessions, unknown
from .summary import check_stated


def admit(given: Dependencies, asked: PassOptions) -> None:
    """Check the options of a pass.

    Raises:
        InvalidArgument, InvalidPolicy: one does not fit.
    """
    check_strategy(asked.strategy)
    for name, value, least in (("used_tokens", asked.used_tokens, 0), ("window_tokens", asked.window_tokens, 1)):
        if value is not None and value < least:
            raise InvalidArgument(f"{name} is a number of tokens, not {value}.", next="Give the number as reported.")
    if asked.policy:
        given.policy_named(asked.policy)
    if asked.target is not None and not 0.0 < asked.target < 1.0:
        raise InvalidArgument(
            f"target must be above 0 and below 1, not {asked.target}.", next="Give a share of the window, such as 0.4."
        )
    if asked.keep_last is not None and asked.keep_last < -1:
        raise InvalidArgument(
            f"keep_last must be -1 or more, not {asked.keep_last}.",
            next="Give the number of newest tool results to keep; -1 keeps all.",
        )


async def admit_list(
    given: Dependencies, sessions: Sessions, name: str, context: HostContext, asked: PassOptions
) -> None:
    """Check that a list that is new here has a window.

    Raises:
        WindowUnknown: none is given, configured or in the model table, and the pass is not forced.
    """
    if asked.force or asked.window_tokens or given.window_tokens or given.effective_window_tokens:
        return
    model = asked.model or context.model or given.model
    if (model and window_of(model, host=asked.host or context.host)) or await is_known(sessions, name):
        return
    raise no_window()


def no_window() -> WindowUnknown:
    """What is said where no window is known."""
    return WindowUnknown(
        "How large the window is, is not known.",
        next=Advice(
            "Give {}, or {} to take the session's own size as the window.",
            Either(command="--window with its tokens", tool="window_tokens"),
            Either(command="--force", tool='"force": true', call="force=True"),
        ),
    )


async def admit_items(given: Dependencies, sessions: Sessions, name: str, raw: Sequence[Mapping[str, Any]]) -> None:
    """Check the items of a session that is new here; those of a known one are checked when they are written.

    Raises:
        InvalidItem: it names the field.
    """
    if not await is_known(sessions, name):
        await check_items(given, Fold(), raw)


async def admit_statements(
    sessions: Sessions, name: str, sections: Mapping[str, Any], fitting: Sequence[str], *, intent_changed: bool
) -> None:
    """Check what is stated into the summary of a session that is new here.

    Args:
        fitting: blockers and decisions that are to be closed: a new session has none.

    Raises:
        InvalidArgument: a section or name does not fit.
    """
    if await is_known(sessions, name):
        return
    check_stated(sections, fitting, intent_changed=intent_changed)
    if fitting:
        raise InvalidArgument(
            "A new session has no blockers and no decisions yet.", next="Name its session, or leave the names out."
        )


async def admit_name(sessions: Sessions, name: str) -> str:
    """The id under which what somebody typed is kept: that of a known session, or a new one.

    Raises:
        SessionUnknown: no session has this name, but it may be a slip of one that is there.
    """
    if (info := await sessions.known(name)) is not None:
        return info.session_id
    infos = await sessions.all()
    if len(found := read_from(name, infos)) == 1:
        return found[0].session_id
    if name != "new" and (meant := found or slips(name, infos)):
        raise unknown(name, meant, infos)
    return name


async def is_known(sessions: Sessions, name: str) -> bool:
    """Whether a session of this id or handle exists."""
    return await sessions.known(name) is not None
