"""The forget gate: what has been superseded, said again, resolved or given up. Each rule names what shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from ..text.specifics.cues import (
    DEAD_END,
    DECIDED,
    FAILED,
    PASSED,
    SUPERSEDES,
    conclusion,
    name_after,
    sentences,
)
from .scene import Result, Scene, covers
from .versions import pairs_of_same_bytes, reads_of

ANSWER_MESSAGES = 6
"""An answer that says what an output came to stands within so many messages behind it."""
LINE_QUOTED = 16
"""A last line of so many characters that an answer repeats is its conclusion."""
_COUNT = re.compile(r"\b(\d{1,7}) (?:[a-z]+ )?(tests?|passed|passing|failed|failing|failures?|examples?|specs?)\b")


def forgettable(scene: Scene) -> dict[str, str]:
    """Item id -> the evidence that it may be forgotten; the first rule that fits gives it."""
    found: dict[str, str] = {}
    for rule in (_read_again, _changed_since, _resolved, _repeated, _concluded, _dead_ends, _superseded_decisions):
        for item_id, evidence in rule(scene):
            found.setdefault(item_id, evidence)
    return found


def _read_again(scene: Scene) -> Iterator[tuple[str, str]]:
    """A read whose lines a later read of the same file shows again."""
    for path, reads in reads_of(scene).items():
        for place, earlier in enumerate(reads):
            later = next((one for one in reversed(reads[place + 1 :]) if covers(one, earlier)), None)
            if later is not None:
                yield earlier.item.id, f"{path} was read again: {later.item.id}"


def _changed_since(scene: Scene) -> Iterator[tuple[str, str]]:
    """A read of a file that was changed since; not the newest one of a file that is being worked on."""
    for path, reads in reads_of(scene).items():
        changes = scene.changes.get(path, [])
        for one in reads:
            since = next((call for row, call in reversed(changes) if row > one.row), "")
            newest = one is reads[-1]
            if since and not (newest and path in scene.in_work):
                yield one.item.id, f"{path} was changed since: {since}"


def _resolved(scene: Scene) -> Iterator[tuple[str, str]]:
    """An error that a later run of the same call, or of the same command, no longer has."""
    for group in (*scene.by("asked").values(), *scene.by("command").values()):
        for place, one in enumerate(group):
            if one.outcome.failed:
                cure = next((later for later in group[place + 1 :] if cures(later, one)), None)
                if cure is not None:
                    yield one.item.id, f"the same call went well later: {cure.item.id}"


def cures(later: Result, failed: Result) -> bool:
    """Whether a later result shows that a call which failed works now.

    It must say so itself; or be the very same call, without an error of its own, where the host or the exit code had
    marked the first one. What passed a filter proves nothing.
    """
    if later.outcome.failed is False and not later.filtered:
        return True
    return later.outcome.failed is None and later.asked == failed.asked and failed.item.is_error


def _repeated(scene: Scene) -> Iterator[tuple[str, str]]:
    """Exact repeats of any result, and near repeats of the same call: the newest stays."""
    for one, newest in pairs_of_same_bytes(scene):
        yield one.item.id, f"the same bytes stand in {newest.item.id}"
    for group in scene.by("asked").values():
        for earlier, later in pairwise(group):
            if not earlier.outcome.failed and covers(later, earlier):
                yield earlier.item.id, f"the same call gave nearly the same again: {later.item.id}"


def _concluded(scene: Scene) -> Iterator[tuple[str, str]]:
    """An output whose conclusion a later answer repeats: its last line, or the counts of its tests."""
    answers = [item for item in scene.messages if item.role == "assistant"]
    place = 0
    for one in scene.results:
        if one.verb not in ("run", "other") or one.outcome.failed:
            continue
        while place < len(answers) and answers[place].position[0] <= one.row:
            place += 1
        ending = conclusion(one.text)
        last = one.text.rstrip().rpartition("\n")[2].strip()
        for answer in answers[place:]:
            if answer.position[0] > one.row + ANSWER_MESSAGES:
                break
            if _says(scene.texts[answer.id], ending, last):
                yield one.item.id, f"its conclusion stands in {answer.id}"
                break


def _says(answer: str, ending: str, last: str) -> bool:
    if len(last) >= LINE_QUOTED and last in answer:
        return True
    counts = [number for number, _ in _COUNT.findall(ending) if number != "0"]
    return bool(counts and PASSED.search(answer)) and all(re.search(rf"(?<!\w){n}(?!\w)", answer) for n in counts)


def _dead_ends(scene: Scene) -> Iterator[tuple[str, str]]:
    """What somebody calls a dead end by its name, and nobody touched again."""
    groups = scene.by("target")
    names = {path: name for path in groups if (name := _name_of(path))}
    for message in scene.messages:
        text = scene.texts[message.id]
        for cue in (DEAD_END, FAILED):
            for sentence in sentences(text, cue):
                for path, name in names.items():
                    # Of a file, "it did not work" says little: what was done to it did not.
                    if name in sentence and (cue is DEAD_END or " " in path):
                        yield from _given_up(scene, groups[path], path, message.position[0], message.id)


def _given_up(scene: Scene, group: list[Result], path: str, row: int, message: str) -> Iterator[tuple[str, str]]:
    touched = [one.row for one in group] + [changed for changed, _ in scene.changes.get(path, [])]
    if max(touched) > row:
        return
    for one in group:
        if one.verb != "edit":
            yield one.item.id, f"{message} calls {path} a dead end"


def _name_of(target: str) -> str:
    """What a sentence would call it by: a file's name, or a short command; empty where that could be anything."""
    if "\n" in target or len(target) > 120:
        return ""
    name = target.rstrip("/").rpartition("/")[2] if " " not in target else target
    return name if len(name) >= 5 and ("." in name or " " in name) else ""


def _superseded_decisions(scene: Scene) -> Iterator[tuple[str, str]]:
    """A message that settled on something which a later one drops by its name."""
    decided = _decisions(scene)
    if not decided:
        return
    for message in scene.messages:
        for sentence in sentences(scene.texts[message.id], SUPERSEDES):
            for found in SUPERSEDES.finditer(sentence):
                name = name_after(sentence, found.end())
                for earlier, row in decided.get(name.lower(), ()) if len(name) > 2 else ():
                    if row < message.position[0]:
                        yield earlier, f"{message.id} supersedes the decision for {name}"


def _decisions(scene: Scene) -> Mapping[str, list[tuple[str, int]]]:
    """What was settled on, lower-cased -> (message, row)."""
    found: dict[str, list[tuple[str, int]]] = {}
    for message in scene.messages:
        for sentence in sentences(scene.texts[message.id], DECIDED):
            for cue in DECIDED.finditer(sentence):
                name = name_after(
                    sentence, cue.end() + len(sentence[cue.end() :]) - len(sentence[cue.end() :].lstrip())
                )
                if len(name) > 2:
                    found.setdefault(name.lower(), []).append((message.id, message.position[0]))
    return found
