"""Types of tool arguments: lenient about null, strict about values; no check costs tokens of the schema."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar, cast

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from ..errors import InvalidArgument
from ..models.plans import offers
from ..models.text import shown

Tool = TypeVar("Tool", bound=Callable[..., Any])


def _null_is_empty(value: Any) -> Any:
    return "" if value is None else value


def _null_is_false(value: Any) -> Any:
    return False if value is None else value


def _one_is_a_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _lines(value: Any) -> Any:
    if value is None:
        return ()
    return tuple(line for line in str(value).split("\n") if line.strip()) if isinstance(value, (str, int)) else value


def _above_zero(value: float | None) -> Any:
    if value is not None and value <= 0:
        raise ValueError("must be above 0")
    return value


def _not_negative(value: int | None) -> int | None:
    if value is not None and value < 0:
        raise ValueError("must not be negative")
    return value


def _finite(value: Any) -> Any:
    """Refuse NaN and infinities at any depth; a stack, since nesting is the caller's."""
    todo: list[Any] = [value]
    while todo:
        node = todo.pop()
        if isinstance(node, float) and (node != node or node in (float("inf"), float("-inf"))):
            raise ValueError("holds NaN or an infinite number, which JSON does not have")
        if isinstance(node, dict):
            todo.extend(cast("dict[Any, Any]", node).values())
        elif isinstance(node, list):
            todo.extend(cast("list[Any]", node))
    return value


Text: TypeAlias = Annotated[str, BeforeValidator(_null_is_empty)]
Flag: TypeAlias = Annotated[bool, BeforeValidator(_null_is_false)]
Count: TypeAlias = Annotated[int | None, AfterValidator(_above_zero)]
"""A whole number above 0."""
Place: TypeAlias = Annotated[int | None, AfterValidator(_not_negative)]
Share: TypeAlias = Annotated[float | None, Field(allow_inf_nan=False), AfterValidator(_above_zero)]
Ids: TypeAlias = Annotated[list[str] | None, BeforeValidator(_one_is_a_list)]
Objects: TypeAlias = Annotated[list[dict[str, Any]], AfterValidator(_finite)]
"""Loose on purpose: typed items cost a thousand schema tokens. The facade checks them and names the field (I2)."""
Object: TypeAlias = Annotated[dict[str, Any], AfterValidator(_finite)]
"""One of them."""
Lines: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_lines), WithJsonSchema({"type": "string"})]
"""One text a line; a list of texts is taken as well. A list's schema would cost twice the tokens."""
Texts: TypeAlias = dict[str, str] | None
NEW = "new"
SessionOrNew: TypeAlias = Annotated[str, Field(description=f'handle or id; "{NEW}" starts one')]
_ARGUMENTS: dict[tuple[Any, int | None], Any] = {
    (str, None): Text,
    (str | None, None): Text,
    (bool, None): Flag,
    (float | None, None): Share,
    (int | None, None): int | None,
    (int | None, 0): Place,
    (int | None, 1): Count,
    (Mapping[str, str] | None, None): Texts,
}
"""By the type of an option of a pass, and its least number."""


def with_pass_options(tool: Tool) -> Tool:
    """Let a tool take the options of a pass as arguments of its own, in the place of its `**options`."""
    signature = inspect.signature(tool, eval_str=True)
    by_name = inspect.Parameter.KEYWORD_ONLY
    own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    options = [
        inspect.Parameter(
            name, by_name, default=default, annotation=_annotated(_ARGUMENTS[kind, offer.least], offer.said)
        )
        for name, kind, default, offer in offers()
        if offer.to_agents
    ]
    setattr(tool, "__signature__", signature.replace(parameters=[*own, *options]))  # noqa: B010 functions have none
    return tool


def _annotated(kind: Any, said: str) -> Any:
    return Annotated[kind, Field(description=said)] if said else kind


# Which files a model may have us read: transcripts of the host, nothing else on the disk.


CLAUDE_CONFIG = "CLAUDE_CONFIG_DIR"


def checked_transcript(path: str) -> str:
    """The path, links followed, when it is a `.jsonl` file under the host's own folder of transcripts.

    Raises:
        InvalidArgument: it lies elsewhere or is no such file; whether it exists is not said.
    """
    if not path:
        return ""
    root = transcripts_folder()
    try:
        found = Path(path).expanduser()
        resolved = Path(os.path.realpath(found))
    except (ValueError, RuntimeError):  # half of a surrogate pair, a NUL, a home of nobody: no path at all
        found = resolved = Path()
    if not found.is_absolute() or resolved.suffix != ".jsonl" or not resolved.is_relative_to(root):
        raise InvalidArgument(
            f"transcript_path {shown(path, 200)} is not a transcript of the host.",
            next=f"Give the absolute path of a .jsonl file under {root}, or leave it out and give used_tokens.",
        )
    return str(resolved)


def transcripts_folder() -> Path:
    """Where Claude Code keeps its transcripts, for this user."""
    named = os.environ.get(CLAUDE_CONFIG)
    config = Path(named).expanduser() if named else Path.home() / ".claude"
    return Path(os.path.realpath(config / "projects"))
