"""The three gates of seed 004, in their order: what may be forgotten, what is preserved, what stays word for word.

They speak of what is older than the newest messages; those stay whole. Whatever no rule speaks of is preserved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit, urlunsplit

from ..models.plans import ContextItem, Gate, Policy
from ..models.text import counted
from ..text.specifics.cues import ASKS, CRITERIA, DECIDED, PREFERS
from .forget import cures, forgettable
from .scene import WORK_MESSAGES, Result, Scene, is_result

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


# The citation index: one numbered line a URL, so that `[3]` keeps meaning the same source.


_TRACKING = frozenset({"gclid", "fbclid", "ref", "source", "mc_cid", "mc_eid", "_ga", "_gl"})
"""Query parameters that say where a reader came from, not what is read; and every `utm_…`."""
_ARXIV_VERSION = re.compile(r"^(/(?:abs|pdf|html)/.+?)v\d+(\.pdf)?$")
_SLASHES = re.compile(r"/{2,}")
_AROUND = re.compile(r"^[\s\x00-\x20]+|[\s\x00-\x20]+$")
"""Blanks and control characters: `urlsplit` drops the latter, and what then stands outside would be blank again."""
_ENDING = re.compile(r"[\s\x00-\x20/]+$")
_LINE = re.compile(r"\[(\d+)\] (\S+)")


def canonical_url(url: str) -> str:
    """The form by which two spellings of one source are recognised; not for showing.

    Tracking parameters, fragment, arXiv version and trailing slash go; scheme and host become lower case. What cannot
    be parsed is its own canonical form. Idempotent.
    """
    text = _AROUND.sub("", url)
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
    except ValueError:
        return text
    path = _SLASHES.sub("/", parts.path)
    if host in ("arxiv.org", "www.arxiv.org"):
        path = _ARXIV_VERSION.sub(r"\1\2", path)
    query = "&".join(pair for pair in parts.query.split("&") if pair and not _is_tracking(pair))
    user, at, address = parts.netloc.rpartition("@")
    whole = urlunsplit((parts.scheme, user + at + address.lower(), _ENDING.sub("", path), query, ""))
    return _AROUND.sub("", whole)


def parse_lines(lines: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Canonical URL -> (number, URL as shown) of an index's lines. Other lines are ignored; the first number wins."""
    known: dict[str, tuple[int, str]] = {}
    for line in lines:
        if (found := _LINE.fullmatch(line.strip())) is not None:
            known.setdefault(canonical_url(found[2]), (int(found[1]), found[2]))
    return known


def index_lines(lines: Iterable[str], urls: Iterable[str]) -> tuple[str, ...]:
    """The index after more URLs: `[1] https://…`, by number.

    A URL that is known in any spelling keeps its number and the spelling it came with first; a new one gets the next
    number above the highest. Empty URLs are skipped, and white space inside one is written as %20, so that every line
    is one entry. Numbers are never given twice.
    """
    known = parse_lines(lines)
    for url in urls:
        shown = "%20".join(url.split())
        if shown and (key := canonical_url(shown)) not in known:
            known[key] = (1 + max((number for number, _ in known.values()), default=0), shown)
    return tuple(f"[{number}] {shown}" for number, shown in sorted(known.values()))


def _is_tracking(pair: str) -> bool:
    name = pair.partition("=")[0].lower()
    return name.startswith("utm_") or name in _TRACKING
