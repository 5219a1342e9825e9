"""Sub-agents: each a session of its own below its parent's, whose result comes back with the way to all it rests on."""

from __future__ import annotations

from ..errors import HandoffIncomplete, HandoffSecret, InvalidArgument
from ..memory.handoff.markdown import MAX_TEXT
from ..models.events import SessionInfo
from ..models.handoffs import HandedBack, WrittenHandoff
from ..models.text import counted, plain_line
from .handoffs import KeptHandoffs
from .sessions import sub_agent_id

_TASK = 200
"""Characters of a task that become a handoff's title."""


class SubAgents(KeptHandoffs):
    """What `Palimpsest` does for agents that run inside a call of another one."""

    async def begin(self, session_id: str, *, host: str = "", parent: str | None = None) -> SessionInfo:
        """A session under exactly this id, made where there is none: for programs that mint ids, of which one is never
        taken for a slip of another.

        Args:
            parent: the session that this one goes on from; what it dropped is found from here.

        Raises:
            InvalidArgument: the id is empty or too long.
        """
        return await self._sessions.ensure(session_id, host=host, parent=parent)

    async def begin_sub_agent(self, parent: str, name: str, *, host: str = "") -> SessionInfo:
        """The session of a sub-agent: its own window, ledger and archive below its parent's session.

        Args:
            parent: session of the agent that called it, by id or handle.
            name: what tells it from the parent's other sub-agents, such as the id of the call that it answers.

        Raises:
            SessionUnknown: there is no such parent.
            InvalidArgument: the name is empty.
        """
        above = await self._sessions.find(parent, whole=True)
        if not name:
            raise InvalidArgument("A sub-agent needs a name.", next="Give the id of the call that it answers.")
        return await self._sessions.ensure(
            sub_agent_id(above.session_id, name), host=host, project=above.project, parent=above.session_id
        )

    async def keep_context(self, session_id: str) -> int:
        """Archive everything that stands in a session's context, so that it is found and restored once the host lets
        go of it. The context stays as it is.

        Returns:
            How many batches hold it now.

        Raises:
            WriteFailed, LockTimeout: some of it may be archived already; call it again.
        """
        from .compaction.commit import Keeper  # brings the digester, which what only reads need not load

        info = await self._sessions.find(session_id, whole=True)
        counter = self._deps.counter_for(self._deps.model)
        await self._sessions.fold(info)
        _, shown = await self._sessions.view(info, counter)
        kept = await Keeper(self._deps, self._sessions).everything(info, shown, counter, reason="forced")
        return len(kept)

    async def hand_back(self, session_id: str, result: str, *, task: str = "") -> HandedBack:
        """What a sub-agent's parent is given: its result word for word, and below it where everything is that the
        sub-agent read. All of that is archived first, since its own context ends now.

        Args:
            session_id: the sub-agent's session.
            task: what it was asked; the title of the handoff that is written beside it.

        Raises:
            SessionUnknown, WriteFailed, LockTimeout: give the parent the result as it is.
        """
        info = await self._sessions.find(session_id, whole=True)
        batches = await self.keep_context(info.session_id)
        written = await self._handoff(info, result, plain_line(task, _TASK) or "Result of a sub-agent")
        if not batches:
            return HandedBack(text=result, session_id=info.session_id, handle=info.handle, batches=0)
        named = f" · its handoff: {written.name}" if written is not None else ""
        said = (
            f"[sub-agent {info.handle}: what it read is kept in {counted(batches, 'batch')} · "
            f'find words: search_offloaded {info.handle} "words" · read one: restore_batch {info.handle} BATCH · '
            f"which: list_offloaded {info.handle}{named}]"
        )
        return HandedBack(
            text=f"{result}\n\n{said}" if result else said,
            session_id=info.session_id,
            handle=info.handle,
            batches=batches,
            handoff=written.name if written is not None else "",
        )

    async def _handoff(self, info: SessionInfo, result: str, task: str) -> WrittenHandoff | None:
        """None where nothing can be said in one, or only with a secret: the result itself comes back all the same."""
        try:
            return await self.write_handoff(
                info.session_id, task, phase="fork_back", fields={"result": result[:MAX_TEXT]}
            )
        except (HandoffIncomplete, HandoffSecret, InvalidArgument):
            return None
