"""How uses of skills went, by a session's own items: what failed and what worked instead, checks, the user's word.

Facts only: an outcome is what calls and checks gave, a lesson is a command that failed beside the one that then worked,
a correction is in the user's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ..models.items import Item, content_text
from .summary.calls import Call, calls_of
from .summary.errors_met import EDITS, errors_met
from .summary.facts import runs_of
from .summary.orders import given_up_texts
from .summary.quotes import NOT_WRONG, WRONG, Mask, begins_with, ends_of, one_line, sentences, spoken

SKILL_TOOLS = ("Skill", "skill", "use_skill", "load_skill", "activate_skill")
MAX_WORDS = 300
MAX_COMMAND = 100
_TRIES = 4
"""Calls after a failed command among which the one that works in its place is looked for."""
_COMMAND = re.compile(r"<command-name>/?([\w:.-]+)</command-name>")
_SAID = ("message", "original_query")
_STOPPED = "[Request interrupted"
_VIEW = re.compile(r"\s*(?:2>&1)?\s*\|\s*(?:head|tail|grep|less|cat|wc)\b.*", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]\w{2,}")
_SIGNS = 6
"""Signs of a script without spaces that say something beside a cue."""


_GOOD = begins_with("good")


class Feedback(NamedTuple):
    """What a user's message says of the work before it."""

    kind: Literal["accepted", "rejected", "correction"]
    wanted: str = ""
    corrected: str = ""


class SkillUse(NamedTuple):
    """One use of a skill, over: by the user's next message, by the next skill, or by the end of the session."""

    skill: str
    events: tuple[dict[str, Any], ...]
    """For `record_experience`; the ids are the same whenever the same items are read."""


class _Start(NamedTuple):
    place: tuple[int, int]
    skill: str
    key: str


def skill_named(name: object) -> str:
    """The name under which a skill's experience is kept: `plugin:skill` is `plugin.skill`. Empty for our own, and for
    what is no name."""
    if not isinstance(name, str):
        return ""
    made = name.strip().lstrip("/").replace(":", ".")
    return (
        made if re.fullmatch(r"[A-Za-z0-9][\w.-]{0,63}", made, re.ASCII) and made.split(".")[0] != "palimpsest" else ""
    )


def skill_of(args: Mapping[str, Any] | None) -> str:
    """The skill that a call of a skill's tool starts."""
    fields = args or {}
    return next(
        (name for key in ("skill", "skill_name", "command", "name") if (name := skill_named(fields.get(key)))), ""
    )


def skill_uses(
    items: Sequence[Item], session_id: str, mask: Mask, *, prompt: str = "", ended: bool = False
) -> list[SkillUse]:
    """The uses of skills that are over.

    Args:
        items: every item of the main chain ever seen, in the host's order.
        mask: masks secrets; it sees whole texts.
        prompt: the user's newest message, where the items do not have it yet.
        ended: the session is over.
    """
    main = [item for item in items if not item.agent]
    calls = calls_of(main)
    starts = sorted([*_by_agent(calls), *_by_user(main)])
    said = [(item.position, text) for item, text in spoken(main, "user")]
    if prompt and (not said or said[-1][1].strip() != prompt.strip()):
        said.append((((main[-1].position[0] + 1) if main else 0, 0), prompt))
    found: list[SkillUse] = []
    for number, start in enumerate(starts):
        following = starts[number + 1].place if number + 1 < len(starts) else None
        answer = next(((at, text) for at, text in said if at > start.place), None)
        if answer is not None and following is not None and answer[0] > following:
            answer = None
        until = answer[0] if answer else following
        if until is None and not ended:
            continue
        within = [call for call in calls if call.place > start.place and (until is None or call.place < until)]
        stopped = any(
            content_text(item.content).startswith(_STOPPED)
            for item in main
            if item.role == "user"
            and item.kind in _SAID
            and item.position > start.place
            and (until is None or item.position < until)
        )
        feedback = feedback_of(mask(ends_of(answer[1])), within, mask) if answer else None
        found.append(SkillUse(start.skill, tuple(_events(start.key, session_id, within, feedback, stopped, mask))))
    return found


def feedback_of(text: str, calls: Sequence[Call], mask: Mask) -> Feedback | None:
    """What a message says of what was done before it; None where it says nothing. Only its beginning is judged: a new
    request may hold any words."""
    parts = sentences(text)[:3]
    if not parts or len(parts[0]) > MAX_WORDS:
        return None
    first = parts[0]
    if WRONG.match(first) and not NOT_WRONG.match(first):
        telling = [part for part in parts if _says_more(WRONG.sub("", part, count=1)) and not part.endswith("?")]
        if not telling:
            return Feedback("rejected")
        wanted = one_line(" ".join(telling), MAX_WORDS)
        return Feedback("correction", wanted, next(given_up_texts(wanted), "") or _done_about(wanted, calls, mask))
    return Feedback("accepted") if _GOOD.match(first) and not text.rstrip().endswith("?") else None


def _says_more(text: str) -> bool:
    """Whether something is left behind a cue that can be followed."""
    return len(_WORD.findall(text)) >= 2 or sum(char.isalpha() and not char.isascii() for char in text) >= _SIGNS


def _by_agent(calls: Sequence[Call]) -> Iterator[_Start]:
    for call in calls:
        if call.tool in SKILL_TOOLS and not call.failed and (name := skill_of(call.args)):
            yield _Start(call.place, name, f"use-{call.item_id}")


def _by_user(items: Sequence[Item]) -> Iterator[_Start]:
    """Skills and commands that a user called by their names, and that the agent then worked on: what the client does by
    itself is followed by its output or by the user's next message."""
    for number, item in enumerate(items):
        if item.role != "user" or item.kind not in _SAID:
            continue
        named = _COMMAND.search(content_text(item.content)[:2_000])
        after = next((one for one in items[number + 1 :] if one.kind in _SAID or one.role != "user"), None)
        if named and after and after.role != "user" and (name := skill_named(named[1])):
            yield _Start(item.position, name, f"use-{item.id}")


def _events(
    key: str, session_id: str, calls: Sequence[Call], feedback: Feedback | None, stopped: bool, mask: Mask
) -> Iterator[dict[str, Any]]:
    runs = runs_of(calls, mask)
    checks = [ran for ran in runs if ran.failed is not None]
    lessons = list(dict.fromkeys(_lessons(calls, mask)))
    replaced = {wrong for wrong, _ in lessons}
    failed = [ran for ran in checks if ran.failed and ran.command not in replaced]
    met = [error for _, error in errors_met(calls, mask)]
    open_errors = [error for error in met if not error.resolution and error.where not in replaced]
    clean = calls and not stopped and not open_errors
    event: dict[str, Any] = {
        "id": key,
        "session_id": session_id,
        "outcome": "failure" if failed else "success" if clean or (checks and not stopped) else "partial",
        "metrics": {
            "calls": len(calls),
            "errors": len(open_errors),
            "checks_passed": sum(not ran.failed for ran in checks),
            "checks_failed": len(failed),
        },
    }
    if failed:
        event["notes"] = f"{failed[-1].command}: {failed[-1].line}"
    if feedback is not None:
        event["user_feedback"] = feedback.kind
        if feedback.kind == "correction":
            event |= {"notes": feedback.wanted, "origin": "user"}
            event |= {"failure_mode": feedback.corrected} if feedback.corrected else {}
    yield event
    for number, (wrong, right) in enumerate(lessons[:3], 1):
        made = {"id": f"{key}.{number}", "session_id": session_id, "outcome": "success", "origin": "model"}
        yield {**made, "winning_pattern": f"run `{right}` instead of `{wrong}`"}


def _lessons(calls: Sequence[Call], mask: Mask) -> Iterator[tuple[str, str]]:
    """Commands that failed, each with the one that worked in its place: of the same words mostly, with nothing changed
    between the two, and never the other way round."""
    good = {_shown(call, mask) for call in calls if call.answered and not call.failed}
    for number, call in enumerate(calls):
        wrong = _shown(call, mask)
        if not (call.failed and wrong) or wrong in good:
            continue
        for other in calls[number + 1 : number + 1 + _TRIES]:
            if other.action.verb in EDITS:
                break
            right = _shown(other, mask)
            if right and other.answered and not other.failed and _alike(wrong, right):
                yield wrong, right
                break


def _shown(call: Call, mask: Mask) -> str:
    command = _VIEW.sub("", call.action.target.strip()) if call.action.verb == "run" else ""
    fits = 0 < len(command) <= MAX_COMMAND and "\n" not in command and "`" not in command
    return mask(command) if fits else ""


def _alike(wrong: str, right: str) -> bool:
    one, other = set(_WORD.findall(wrong)), set(_WORD.findall(right))
    return wrong != right and bool(one) and 2 * len(one & other) >= min(len(one), len(other))


def _done_about(wanted: str, calls: Sequence[Call], mask: Mask) -> str:
    """The newest command that shares a word with what the user wants instead; empty where none does."""
    words = set(map(str.casefold, _WORD.findall(wanted)))
    for call in reversed(calls):
        if (command := _shown(call, mask)) and words & set(map(str.casefold, _WORD.findall(command))):
            return command
    return ""
