"""The three gates of seed 004, in their order: what may be forgotten, what is preserved, what stays word for word.

They speak of what is older than the newest messages; those stay whole. Whatever no rule speaks of is preserved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..models.nouns import counted
from ..models.plans import ContextItem, Gate
from ..models.policies import Policy
from ..specifics.cues import ASKS, CRITERIA, DECIDED, PREFERS
from .forgetting import cures, forgettable
from .kinds import is_result
from .scene import WORK_MESSAGES, Result, Scene

UNSURE = "nothing shows that it may be forgotten"
GUIDELINE_FILES = ("SKILL.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", "copilot-instructions.md")
GUIDELINE_TOOLS = ("Skill", "skill", "load_skill", "activate_skill", "use_skill", "read_skill")
PATHS_LOOKED_FOR = 20
"""Of the files in work, so many are looked for in other results."""


def gates(items: Sequence[ContextItem], policy: Policy, *, replaced: bool = False) -> dict[str, Gate]:
    """Item id -> its gate and what shows it, for every item that stands whole in the context. Deterministic.

    Args:
        replaced: also for items that a digest or pointer stands for, as far as it can still be told.
    """
    scene = Scene(items, policy)
    forget, verbatim = forgettable(scene), _word_for_word(scene)
    results = {one.item.id: one for one in scene.results}
    found: dict[str, Gate] = {}
    for entry in items:
        if entry.state == "gone" or (entry.state == "replaced" and not replaced):
            continue
        item = entry.item
        if item.role != "system" and scene.age(item.position[0]) <= policy.keep_last_messages:
            found[item.id] = Gate("verbatim", f"one of the newest {counted(policy.keep_last_messages, 'message')}")
        elif item.id in forget:
            found[item.id] = Gate("forget", forget[item.id])
        elif item.id in verbatim:
            found[item.id] = Gate("verbatim", verbatim[item.id])
        elif is_result(item):
            found[item.id] = Gate("preserve", _in_work(scene, results.get(item.id)) or UNSURE)
        else:
            found[item.id] = Gate("preserve", _said(scene, entry) or UNSURE)
    return found


def _word_for_word(scene: Scene) -> dict[str, str]:
    """The verbatim gate beside the newest messages: code in work, errors in work, persona and guidelines."""
    found: dict[str, str] = {}
    for rule in (_persona, _guidelines, _being_edited, _being_debugged):
        for item_id, evidence in rule(scene):
            found.setdefault(item_id, evidence)
    return found


def _persona(scene: Scene) -> Iterator[tuple[str, str]]:
    for item_id, kind in scene.kinds.items():
        if kind == "system_prompt":
            yield item_id, "the agent's persona and instructions"


def _guidelines(scene: Scene) -> Iterator[tuple[str, str]]:
    """The newest result of each loaded skill or guideline file."""
    newest: dict[str, Result] = {}
    for one in scene.results:
        if one.item.kind == "skill" or one.item.tool_name in GUIDELINE_TOOLS:
            newest[one.asked] = one
        elif one.verb == "read" and one.target.rpartition("/")[2] in GUIDELINE_FILES and not one.item.is_error:
            newest[one.target] = one
    for one in newest.values():
        yield one.item.id, f"loaded guidelines: {one.target or one.item.tool_name}"


def _being_edited(scene: Scene) -> Iterator[tuple[str, str]]:
    """The newest read of every file that was changed a short while ago."""
    newest = {one.target: one for one in scene.results if one.verb == "read" and not one.item.is_error}
    for path in sorted(scene.in_work & newest.keys()):
        yield newest[path].item.id, f"{path} is being edited: {scene.changes[path][-1][1]}"


def _being_debugged(scene: Scene) -> Iterator[tuple[str, str]]:
    """The newest failing result of every command, while it is new and nothing shows that it was resolved."""
    for command, group in {**scene.by("asked"), **scene.by("command")}.items():
        failed = [one for one in group if one.outcome.failed]
        if not failed or scene.age(failed[-1].row) > WORK_MESSAGES:
            continue
        newest = failed[-1]
        if not any(cures(later, newest) for later in group if later.order > newest.order):
            yield newest.item.id, f"an error that is not resolved: {newest.target or command}"


def _in_work(scene: Scene, one: Result | None) -> str:
    """Which file in work a result speaks of."""
    if one is None or not scene.in_work:
        return ""
    if one.target in scene.in_work:
        return f"speaks of {one.target}, which is being worked on"
    path = next((path for path in sorted(scene.in_work)[:PATHS_LOOKED_FOR] if path in one.text), "")
    return f"names {path}, which is being worked on" if path else ""


def _said(scene: Scene, entry: ContextItem) -> str:
    """What makes a message, or another part of the conversation, worth keeping."""
    item = entry.item
    kind = scene.kinds[item.id]
    if kind in ("original_query", "clarify_verification") or item.id == scene.task:
        return "the task as it was given"
    if kind == "tool_call":
        return "the call that its result belongs to"
    text = scene.texts.get(item.id, "")
    speaker = "the user's" if item.role == "user" else "the agent's"
    for words, what in (
        (DECIDED, "decision"),
        (CRITERIA, "criterion"),
        (PREFERS, "preference"),
        (ASKS, "open question"),
    ):
        if words.search(text):
            return f"{speaker} {what}"
    return "the user's feedback" if item.role == "user" else ""


__all__ = ["UNSURE", "gates"]
