"""The options of a pass: each is named here once, and every face takes it from here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple, TypeAlias, TypedDict, get_args

import msgspec

Progress: TypeAlias = Callable[[int, int, str], Awaitable[None]]
"""Called with steps done, steps in all, and what is being done."""


class Offer(NamedTuple):
    """How the faces offer an option; one without an offer is for programs."""

    help: str = ""
    """Of its flag on the command line; empty where it has none."""
    flag: str = ""
    """Where it is not the option's own name."""
    metavar: str | None = None
    least: int | None = None
    """The smallest number that fits."""
    to_agents: bool = True
    """Whether the tool takes it as an argument."""


class PassOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a pass is asked for."""

    policy: Annotated[str | None, Offer("research (default), anchored, phased, or one from the settings file.")] = None
    """None: the one that the session was given before, else the default."""
    strategy: Annotated[str, Offer("How: anchored, sliding_window, opaque … Default: the policy's, anchored.")] = ""
    """Empty: the policy's own."""
    target: Annotated[float | None, Offer("Ratio to come down to, such as 0.4.")] = None
    """Share of the window to reach, above 0 and below 1; None takes the policy's."""
    force: Annotated[bool, Offer("Run below the trigger too; without --window the session itself is it.")] = False
    """Run below the trigger too; with no window from anywhere the session's own size is the window."""
    dry_run: Annotated[bool, Offer("Show the plan and change nothing.")] = False
    focus: Annotated[str, Offer("Task words: what matters to them is kept first.")] = ""
    """Words of the task; a bonus in choosing what to show."""
    window_tokens: Annotated[int | None, Offer("Tokens of the context window.", flag="window", least=1)] = None
    """The effective window."""
    used_tokens: Annotated[
        int | None, Offer("Tokens now in it, as the provider reported them.", flag="used", least=0)
    ] = None
    """What the provider reported for this context; None estimates."""
    keep_last: Annotated[int | None, Offer("Newest tool results to keep whole; -1 keeps all.", metavar="K")] = None
    """Newest tool results that stay whole, at least 3; -1 keeps all; None takes the policy's."""
    plan_id: Annotated[str, Offer()] = ""
    """Of a dry run; the pass is refused when the session changed since."""
    digests: Annotated[Mapping[str, str] | None, Offer()] = None
    """The caller's own summaries by the number of their slot in that plan, `{"1": "…"}`. Each stands, labelled, above
    what code shows, or a note of the report says why it does not (I4)."""
    model: Annotated[str, Offer("Model id: decides the tokenizer's factor and the usual window.", to_agents=False)] = ""
    host: str = ""
    """Of the client that asks, by its own name."""
    progress: Progress | None = None


def offers() -> Iterator[tuple[str, Any, Any, Offer]]:
    """Every option that a face offers: its name, its type, its default, and how."""
    for field in msgspec.structs.fields(PassOptions):
        for offer in get_args(field.type):
            if isinstance(offer, Offer):
                yield field.name, get_args(field.type)[0], field.default, offer


class PassKeywords(TypedDict, total=False):
    """The same as keyword arguments of the library, for any context."""

    policy: str | None
    strategy: str
    target: float | None
    force: bool
    dry_run: bool
    focus: str
    window_tokens: int | None
    used_tokens: int | None
    keep_last: int | None
    model: str
    progress: Progress | None


class SessionPassKeywords(PassKeywords, total=False):
    """And those for a session that is recorded already."""

    plan_id: str
    digests: Mapping[str, str] | None
    host: str
