"""What every adapter does with the library: one store, asked from any thread and any event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypedDict, TypeVar, Unpack, cast

from ..core.palimpsest import Palimpsest
from ..errors import PalimpsestError
from ..hosts.pieces import as_fields, text_of
from ..models.plans import PassKeywords
from ..models.text import counted
from ..settings.settings import Settings
from .conversation import Form, listed, unlisted

M = TypeVar("M")
T = TypeVar("T")
P = ParamSpec("P")

log = logging.getLogger("palimpsest_mcp.integrations")


class WindowOptions(TypedDict, total=False):
    """Of an adapter, the same for every framework."""

    home: Path | str | None
    """Folder of the store; None takes `PALIMPSEST_HOME`, else the platform's user data folder."""
    window_tokens: int | None
    """Of the model's window; None knows it by the model's name."""
    target: float | None
    policy: str | None
    keep_last: int | None
    thinking: str
    model: str
    """Where the framework does not say it."""
    above_tokens: int | None
    """Results above so many tokens are shrunk before they are first sent; None takes the setting, else 25,000."""


@dataclass(frozen=True)
class Agent:
    """One agent's session."""

    session_id: str
    parent: str = ""
    """Session of the agent in whose call it runs; empty where it runs by itself."""


@dataclass
class ToolRun:
    """A tool call that is being answered: an agent that begins within it is a sub-agent of the caller."""

    caller: Agent
    call_id: str
    sub_agent: Agent | None = None
    """The one that began."""
    by: object = None
    """The caller, as its framework tells agents apart."""
    outer: ToolRun | None = None
    """The one that the caller itself runs in."""


_WITHIN: ContextVar[ToolRun | None] = ContextVar("palimpsest_tool_run", default=None)


_MORE_PASSES = 4
"""Asked for behind the first one of a request; one that is not due any more is none."""
_MOST_KNOWN = 1_000
"""Sessions remembered at a time, the newest used: a proxy serves many."""


@dataclass
class _Known:
    """What is remembered of a session between two calls."""

    calls: frozenset[str] = frozenset()
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One pass at a time: retries and parallel requests of one session wait for each other."""


def _synchronous(
    asked: Callable[Concatenate[AgentWindow, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[AgentWindow, P], T]:
    """The same method for synchronous code: the caller's thread waits for the store's."""

    @wraps(asked)
    def wait(self: AgentWindow, *args: P.args, **keywords: P.kwargs) -> T:
        return asyncio.run_coroutine_threadsafe(asked(self, *args, **keywords), self.loop()).result()

    return wait


class AgentWindow:
    """The windows of the agents of one program. No failure of ours reaches the framework: messages and results then
    stay as they came, and the log of `palimpsest_mcp.integrations` says why.

    The store is opened when it is first needed, on a thread with an event loop of its own, so that agents of several
    loops, threads and synchronous code may share it.
    """

    def __init__(self, *, host: str = "", **options: Unpack[WindowOptions]) -> None:
        self._host = host
        self._home = options.pop("home", None)
        self._above_tokens = options.pop("above_tokens", None)
        self._model = options.pop("model", "")
        given = {name: value for name, value in options.items() if value is not None}
        self._asked = cast("PassKeywords", given)  # the names are those of a pass
        self._known: dict[str, _Known] = {}
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._opened = AsyncExitStack()
        self._store: asyncio.Task[Palimpsest] | None = None

    # Which session an agent has.

    def agent(self, session_id: str, by: object = None) -> Agent:
        """The session of an agent that its framework knows by this id; within a tool call of another agent it is a
        sub-agent's, below the caller's.

        Args:
            by: tells the agent from others, where its own calls are named by `begin_tool_run`.
        """
        run = _WITHIN.get()
        if run is not None and by is not None and run.by == by:
            return run.caller
        if run is None:
            return Agent(session_id)
        run.sub_agent = run.sub_agent or Agent(f"{run.caller.session_id}/{run.call_id}", run.caller.session_id)
        return run.sub_agent

    @contextmanager
    def tool_run(self, caller: Agent, call_id: str) -> Generator[ToolRun]:
        """While a tool call is answered. What is called in the block, in its tasks and their threads runs within it."""
        run = ToolRun(caller, call_id)
        token = _WITHIN.set(run)
        try:
            yield run
        finally:
            _WITHIN.reset(token)

    def begin_tool_run(self, caller: Agent, call_id: str, by: object) -> None:
        """The same, where a framework only tells that a call begins, and later in the same context that it ended."""
        outer = _WITHIN.get()
        if outer is not None and outer.by == by:
            outer = outer.outer  # one that never ended: it was cancelled
        _WITHIN.set(ToolRun(caller, call_id, by=by, outer=outer))

    def end_tool_run(self, call_id: str, by: object) -> ToolRun | None:
        """The call that ended; None where it was not told that it began."""
        run = _WITHIN.get()
        if run is None or run.by != by or run.call_id != call_id:
            return None
        _WITHIN.set(run.outer)
        return run

    # What adapters ask for, from a loop and without one.

    async def ashortened(
        self,
        agent: Agent,
        messages: Sequence[M],
        form: Form[M],
        *,
        model: str = "",
        system: str = "",
        force: bool = False,
    ) -> list[M]:
        """The messages with digests in the place of old results, as a pass at the trigger leaves them.

        Args:
            system: the system prompt, where it is not among the messages; counted only.
            force: run a pass below the trigger, too: for an overflow.
        """
        work = self._shortened(agent, messages, form, model, system, force)
        return await self._quietly(work, list(messages), agent)

    shortened = _synchronous(ashortened)

    async def ashortened_list(
        self, agent: Agent, messages: list[Any], *, model: str = "", system: str = "", form: str = "auto"
    ) -> list[Any]:
        """The same for a list in a provider's own form, Anthropic's or one of OpenAI's."""
        work = self._compacted(agent, messages, model, system, form, force=False)
        return await self._quietly(work, messages, agent)

    async def ashrunk(
        self, agent: Agent, result: Any, call_id: str, tool_name: str, args: Mapping[str, Any] | None
    ) -> Any:
        """A result before it is first sent: a text, or a list of text blocks, in the shape that it came in."""
        given = cast("str | list[Any]", result)
        if not isinstance(given, (str, list)) or not call_id:  # pyright: ignore[reportUnnecessaryIsInstance]
            return given
        return await self._quietly(self._shrunk(agent, given, call_id, tool_name, args), given, agent)

    shrunk = _synchronous(ashrunk)

    async def ahanded_back(self, run: ToolRun, result: str, task: str = "") -> str:
        """What a tool call brought: of a sub-agent, with where everything is that it read."""
        if run.sub_agent is None:
            return result
        return await self._quietly(self._handed_back(run.sub_agent, result, task), result, run.sub_agent)

    handed_back = _synchronous(ahanded_back)

    async def aask(self, question: Callable[[Palimpsest], Coroutine[Any, Any, T]]) -> T:
        """Anything else of the library, such as `window.aask(lambda p: p.search_offloaded("words"))`. Errors are
        raised."""
        return await self._there(self._asked_store(question))

    ask = _synchronous(aask)

    async def acompacted_rows(
        self, agent: Agent, rows: list[dict[str, Any]], host_session_id: str
    ) -> list[dict[str, Any]]:
        """Rows of a Claude Code transcript with digests in the place of old results."""
        return await self._quietly(self._rows(agent, rows, host_session_id), rows, agent)

    # How.

    async def _compacted(
        self, agent: Agent, messages: list[Any], model: str, system: str, form: str, *, force: bool
    ) -> list[Any]:
        p = await self._palimpsest()
        known = self._known.pop(agent.session_id, None) or _Known()
        self._known[agent.session_id] = known
        while len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        async with known.turn:
            await self._begin(p, agent)
            calls = frozenset(_result_ids(messages))
            if known.calls - calls:
                await self._host_compacted(p, agent, len(known.calls - calls))
            known.calls = calls
            ask = partial(
                p.compact_messages,
                messages,
                session_id=agent.session_id,
                form=form,
                system=system,
                auto=not force,
                **{**self._asked, "model": model or self._model, "force": force},
            )
            done = await ask()
            for _ in range(0 if force else _MORE_PASSES):
                if not done.report.batches:
                    break
                done = await ask()  # behind a pass: where it is still due, what that made may go up a level
        if done.report.status == "failed":
            log.warning("session %s: %s", agent.session_id, done.report.reason)
        return done.messages

    async def _shortened(
        self, agent: Agent, messages: Sequence[M], form: Form[M], model: str, system: str, force: bool
    ) -> list[M]:
        before = listed(messages, form)
        if not before.messages:
            return list(messages)
        after = await self._compacted(agent, before.messages, model, system, "anthropic", force=force)
        return unlisted(before, after, form)

    async def _rows(self, agent: Agent, rows: list[dict[str, Any]], host_session_id: str) -> list[dict[str, Any]]:
        p = await self._palimpsest()
        await self._begin(p, agent)
        done = await p.compact_rows(
            rows,
            session_id=agent.session_id,
            host_session_id=host_session_id,
            auto=True,
            **{**self._asked, "model": self._model},
        )
        return done.messages

    async def _host_compacted(self, p: Palimpsest, agent: Agent, gone: int) -> None:
        """The framework itself took results out of its list: what stood there is archived before it counts as gone."""
        await p.keep_context(agent.session_id)
        info = await p.session(agent.session_id, whole=True)
        what = counted(gone, "result")
        log.info(
            "session %s: the framework took %s out of its list; kept, see list_offloaded %s",
            agent.session_id,
            what,
            info.handle,
        )

    async def _shrunk(
        self, agent: Agent, result: str | list[Any], call_id: str, tool_name: str, args: Mapping[str, Any] | None
    ) -> str | list[Any]:
        p = await self._palimpsest()
        await self._begin(p, agent)
        return await p.shrink_result(agent.session_id, result, call_id=call_id, tool_name=tool_name, args=args)

    async def _handed_back(self, agent: Agent, result: str, task: str) -> str:
        p = await self._palimpsest()
        await self._begin(p, agent)
        return (await p.hand_back(agent.session_id, result, task=task)).text

    async def _begin(self, p: Palimpsest, agent: Agent) -> None:
        if not agent.parent:
            await p.begin(agent.session_id, host=self._host)
            return
        await p.begin(agent.parent, host=self._host)
        await p.begin_sub_agent(agent.parent, agent.session_id.removeprefix(f"{agent.parent}/"), host=self._host)

    async def _asked_store(self, question: Callable[[Palimpsest], Coroutine[Any, Any, T]]) -> T:
        return await question(await self._palimpsest())

    async def _quietly(self, work: Coroutine[Any, Any, T], otherwise: T, agent: Agent) -> T:
        try:
            return await self._there(work)
        except PalimpsestError as error:
            log.warning("session %s: left as it came: %s", agent.session_id, error)
        except Exception:
            log.exception("session %s: left as it came", agent.session_id)
        return otherwise

    # The thread that the store lives on.

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        loop = self.loop()
        if asyncio.get_running_loop() is loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))

    async def _palimpsest(self) -> Palimpsest:
        """The store, opened by whoever asks first."""
        if self._store is None or (self._store.done() and self._store.exception() is not None):
            self._store = asyncio.ensure_future(self._open())
        return await asyncio.shield(self._store)

    async def _open(self) -> Palimpsest:
        settings = Settings.load(home=self._home, at_birth_tokens=self._above_tokens)
        return await self._opened.enter_async_context(Palimpsest.open(settings=settings))

    def loop(self) -> asyncio.AbstractEventLoop:
        """What the store is asked on; started when it is first needed."""
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="palimpsest", daemon=True)
                self._thread.start()
            return self._loop

    def close(self) -> None:
        """Close the store and end its thread; the next call opens it again. What was committed is on disk anyway."""
        with self._starting:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._opened.aclose(), loop).result()
        self._store, self._opened, self._known = None, AsyncExitStack(), {}
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def __enter__(self) -> AgentWindow:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _result_ids(messages: Sequence[Any]) -> Generator[str]:
    """Ids of the calls whose results stand in a list of any form."""
    for message in messages:
        fields = as_fields(message) or {}
        content = fields.get("content")
        blocks = cast("list[Any]", content) if isinstance(content, list) else []
        for told in (fields, *(as_fields(block) or {} for block in blocks)):
            yield from filter(None, (text_of(told, name) for name in ("tool_call_id", "call_id", "tool_use_id")))
