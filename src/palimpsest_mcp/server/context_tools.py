"""The four tools about what is in the context now: measure it, record it, look at it, compact it."""

from __future__ import annotations

import itertools
from typing import Annotated, Unpack

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult

from ..models.pass_options import Progress, SessionPassKeywords
from .answers import CompactAnswer, RatioAnswer, RecordedAnswer
from .arguments import Count, Flag, Ids, Objects, Place, Text, with_pass_options
from .context_text import context_page
from .counting import count_o200k
from .opening import OpenOnFirstUse
from .transcripts import checked_transcript

Call = Context[OpenOnFirstUse]


async def check_context_ratio(
    ctx: Call,
    session_id: str,
    used_tokens: Place = None,
    window_tokens: Count = None,
    model: Text = "",
    transcript_path: Text = "",
    policy: Text = "",
    detail: Flag = False,
) -> Annotated[CallToolResult, RatioAnswer]:
    """How full the context window is, what to do. Call before large reads; numbers are kept."""
    facade = await ctx.request_context.lifespan_context.facade()
    if session_id == "new":  # the answer names its handle, so it must exist first
        session_id = (await facade.record_items(session_id, ())).session_id
    usage = await facade.check_context_ratio(
        session_id,
        used_tokens=used_tokens,
        window_tokens=window_tokens,
        model=model,
        transcript_path=checked_transcript(transcript_path),
        policy=policy or None,
        host=host_of(ctx),
        detail=detail,
    )
    handle = (await facade.session(session_id)).handle
    return RatioAnswer.of(handle, ctx.request_context.lifespan_context.surface().view(usage), detail=detail).result(
        count_o200k
    )


async def record_items(
    ctx: Call, session_id: str, items: Objects, auto: Flag = False
) -> Annotated[CallToolResult, RecordedAnswer]:
    """For programs: record context items (kind, role, content, args, tool_name, tool_use_id, ts, title, url,
    source_channel, tokens, id). session_id "new" starts a session; auto compacts at the trigger."""
    facade = await ctx.request_context.lifespan_context.facade()
    recorded = await facade.record_items(session_id, items, auto=auto, host=host_of(ctx))
    return RecordedAnswer.of(ctx.request_context.lifespan_context.surface().view(recorded)).result(count_o200k)


async def show_context(
    ctx: Call, session_id: str, cursor: Text = "", detail: Flag = False, pin: Ids = None, unpin: Ids = None
) -> str:
    """What is in context, why protected, what was replaced. pin/unpin: ids to keep whole."""
    facade = await ctx.request_context.lifespan_context.facade()
    view = await facade.show_context(session_id, pin=pin or (), unpin=unpin or ())
    return context_page(
        ctx.request_context.lifespan_context.surface().view(view), cursor, detail=detail, count=count_o200k
    )


@with_pass_options
async def compact_session(
    ctx: Call, session_id: str, **options: Unpack[SessionPassKeywords]
) -> Annotated[CallToolResult, CompactAnswer]:
    """Replace old tool results by checked digests; originals stay restorable. target is a ratio (0.4). strategy:
    anchored|sliding_window|regenerative|opaque|importance|hybrid."""
    facade = await ctx.request_context.lifespan_context.facade()
    options["progress"], options["host"] = _rising(ctx), host_of(ctx)
    report = await facade.compact_session(session_id, **options)
    return CompactAnswer.of(ctx.request_context.lifespan_context.surface().view(report)).result(count_o200k)


def _rising(ctx: Call) -> Progress:
    """The protocol wants a number that only rises; a pass has stages, and each counts from the start."""
    steps = itertools.count(1)

    async def report(done: int, total: int, what: str) -> None:
        said = ctx.request_context.lifespan_context.surface().text(what)
        await ctx.report_progress(next(steps), None, f"{said} {done}/{total}" if total else said)

    return report


def host_of(ctx: Call) -> str:
    """The client's own name, as it introduced itself; empty when it did not."""
    params = ctx.session.client_params
    return params.client_info.name if params else ""
