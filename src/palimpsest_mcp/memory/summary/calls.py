"""A session's items as calls with their results: what the harvest looks at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from ...models.items import Action, Item, content_text
from ...models.summaries import Verb
from ...models.text import late
from ...text.specifics.vocabulary import outcome_of

# Which files a patch changes: the `*** Begin Patch` form of agents, and unified diffs.


_AGENT = late(r"^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)
_UNIFIED = late(r"^--- (\S[^\t\n]*)(?:\t[^\n]*)?\n\+\+\+ (\S[^\t\n]*)", re.MULTILINE)
_VERBS: dict[str, Verb] = {"Add": "created", "Update": "edited", "Delete": "deleted"}


def is_patch(text: str) -> bool:
    """Whether a text holds a patch of either form."""
    return "*** Begin Patch" in text or _UNIFIED.search(text) is not None


def patch_effects(text: str) -> Iterator[tuple[str, Verb, str]]:
    """Path, what becomes of it, and where it moves, for every file of a patch, in order."""
    last = ""
    found = False
    for match in _AGENT.finditer(text):
        found = True
        if match[3]:
            if last:
                yield last, "moved", match[3].strip()
        else:
            last = match[2].strip()
            yield last, _VERBS[match[1]], ""
    if not found:
        yield from _unified(text)


def _unified(text: str) -> Iterator[tuple[str, Verb, str]]:
    for old, new in _UNIFIED.findall(text):
        before, after = _name(old), _name(new)
        if after == "/dev/null":
            yield before, "deleted", ""
        else:
            yield after, "created" if before == "/dev/null" else "edited", ""


def _name(path: str) -> str:
    path = path.strip()
    return path[2:] if path[:2] in ("a/", "b/") else path


# Names that a piece of source code defines: enough to say what an edit added, in any of the common languages.


_WORDS = (
    r"(?:export|default|public|private|protected|internal|static|async|abstract|override|final|readonly|inline|const|"
    r"unsafe|extern|virtual|pub(?:\([a-z]+\))?)"
)
_KEYWORD = late(
    rf"^[ \t]*(?:{_WORDS}[ \t]+)*(?:def|class|function\*?|fn|func|fun|interface|type|enum|struct|trait|module|"
    r"defmodule|defp|namespace|record|protocol|extension|impl)[ \t]+(?:\([^)\n]{0,80}\)[ \t]*)?([A-Za-z_$][\w$.?!]*)",
    re.MULTILINE,
)
_METHOD = late(
    r"^[ \t]+(?:(?:public|private|protected|static|async|override|get|set)[ \t]+)*([A-Za-z_$#][\w$]*)"
    r"(?:<[^>\n]{0,80}>)?\([^;\n]{0,300}\)[ \t]*(?::[^;{=\n]{1,200})?\{[ \t]*$",
    re.MULTILINE,
)
_TOP_VALUE = late(r"^(?:export[ \t]+)?(?:const|let|var|val)[ \t]+([A-Za-z_$][\w$]*)", re.MULTILINE)
_NO_METHOD_WORDS = "if for while switch catch function return else do try with constructor match"
_NO_METHOD = frozenset(_NO_METHOD_WORDS.split())
MAX_TEXT = 200_000
MAX_NAME = 60


def defined(text: str) -> dict[str, None]:
    """Names of functions, classes, types and top-level values, in order of kind and place."""
    text = text[:MAX_TEXT]
    names = [*_KEYWORD.findall(text), *_METHOD.findall(text), *_TOP_VALUE.findall(text)]
    return dict.fromkeys(name for name in names if name not in _NO_METHOD and len(name) <= MAX_NAME)


def newly_defined(old: str, new: str) -> tuple[str, ...]:
    """Names that the new text defines and the old one does not."""
    before = defined(old)
    return tuple(name for name in defined(new) if name not in before)


# What an editing tool says came of a call, where the host does not mark it: done, or refused.
#
# The words are those of Claude Code, Anthropic's text editor, OpenHands, SWE-agent, Codex, pi, Gemini CLI, Cline,
# Copilot and Aider, as their sessions show them. Tools print pieces of files after their verdict, so only its first
# lines count.


_VERDICT = 400
"""Characters in which a verdict stands."""
_WRAPPER = late(r"\s*<(?:tool_use_error|error)>", re.IGNORECASE)
_EXIT_STATUS = late(
    r"^\W*(?:process |command |the command )?(?:exited|finished|completed)?(?: with)?\s*exit(?:ed)?(?: with)?(?: exit)?"
    r"[ _-]?(?:code|status)\W{1,4}(\d{1,5})\b",
    re.IGNORECASE | re.MULTILINE,
)
_UNDONE = late(
    r"\bnot (?:been )?(?:successful|successfully|applied|written|saved|updated|changed|edited|created|made)\b"
    r"|\bun(?:successful|changed)|\bmodified since\b"
    r"|\bno (?:changes?|replacements?|edits?)\b|\bfail(?:ed|ure|s)?\b|\brefus|\breject"
    r"|\b0 (?:edits|replacements|changes|occurrences|files)\b|\bcould ?n[o']t\b|\bcannot\b|\bcan't\b|\bunable to\b",
    re.IGNORECASE,
)
_DONE = late(
    r"^[^\w\n]{0,8}(?:ok\b|done\b|success|edited\b|updated\b|replaced\b|applied\b|wrote\b|created\b|saved\b|written\b"
    r"|inserted\b|deleted\b|patched\b|modified\b|(?:the )?(?:file|notebook|cell|patch|content)\b.{0,300}?"
    r"\b(?:has been|have been|was|were|created|updated|edited|written|saved|applied|successfully)\b)|\bsuccessfully\b",
    re.IGNORECASE,
)
_REFUSED = late(
    r"^\W*(?:<error>|\[?error\b\]?\s*[:(\]-]|fatal:|traceback \(most recent|exception\b"
    r"|(?:\w+\.)*\w*(?:Error|Exception):)"
    r"|\bstring to (?:replace|find) (?:was )?not found|\bno replacement was performed"
    r"|\bno (?:replacement|edit)s? (?:was|were) |\bno match(?:es|ing)?\b"
    r"|\bno changes? (?:(?:was|were) )?(?:made|applied|needed|to make|detected)"
    r"|\b(?:could|did|can|does|do|was|were|is|are|has|have)(?: not|n't)\b.{0,60}"
    r"\b(?:find|found|match|appear|exist|locate|contain|read|unique|appl(?:y|ied)|writ(?:e|ten)|edit|open|access|parse"
    r"|allowed)"
    r"|\bcannot (?:find|edit|write|open|apply|create|read|access|locate|modify|update|overwrite|be)"
    r"|\bunable to (?:find|edit|write|open|apply|create|read|access|locate|modify|update)"
    r"|\bfailed (?:to|with|in|at|because)\b"
    r"|\b(?:patch|edit|write|hunk|verification|replacement|update|search|diff)\b.{0,40} failed"
    r"|\bfound (?:\d+|multiple) (?:matches|occurrences)|\bmultiple (?:matches|occurrences)"
    r"|\bnot unique\b|\bmust be unique|\b(?:are|is) (?:exactly )?(?:the same|identical)\b|\bidentical content"
    r"|\bnot been read\b|\bmodified since\b|\bno such file|\bpermission denied|\bis a directory|\bread-only\b"
    r"|\bpermission to\b.{0,80}\b(?:denied|not)|\balready exists\b|\bran into\b|\berrno\b"
    r"|\bE(?:NOENT|ACCES|ISDIR|ROFS|PERM|EXIST)\b|\btool_use_error\b|\bInputValidationError"
    r"|\binvalid (?:\S{1,40} )?(?:patch|context|params|parameter|argument|input|edit|diff|path|hunk|json)"
    r"|\b(?:malformed|corrupt) (?:patch|diff)|\bdoes not apply\b|\bmissing required\b|\bnot allowed\b"
    r"|\bout of range\b",
    re.IGNORECASE | re.DOTALL,
)
BY_USER = late(
    r"\b(?:user (?:doesn't|does not|didn't|did not) (?:want|allow|approve)"
    r"|user (?:has )?(?:rejected|denied|declined|refused|cancell?ed)"
    r"|(?:rejected|denied|declined|cancell?ed|aborted|interrupted|refused) by (?:the )?user"
    r"|tool use was rejected|request interrupted|operation cancelled|command aborted"
    r"|(?:haven't|hasn't|has not|have not) (?:been )?granted)",
    re.IGNORECASE,
)
"""A person said no."""


def edit_failed(text: str) -> bool:
    """Whether the result of an editing tool says that nothing was changed. What says neither is taken as done: many
    tools answer with the new text, and others with nothing."""
    fields = _fields(text)
    if fields is not None:
        return _says_so(fields)
    if _WRAPPER.match(text):
        return True
    head = text.lstrip()[:_VERDICT]
    if code := _EXIT_STATUS.match(head):
        return int(code[1]) != 0
    first = head.split("\n", 1)[0]
    if BY_USER.search(head):
        return _DONE.search(first) is None or _UNDONE.search(first) is not None
    if _DONE.search(first) and not _UNDONE.search(first):
        return False
    return _REFUSED.search("\n".join(head.split("\n")[:2])) is not None


def _fields(text: str) -> Mapping[str, Any] | None:
    """The object that a result is, where it is one: Codex and most MCP servers answer so."""
    if not text.lstrip().startswith("{") or len(text) > 1_000_000:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None


def _says_so(fields: Mapping[str, Any]) -> bool:
    meta = fields.get("metadata")
    inner = cast("dict[str, Any]", meta if isinstance(meta, dict) else {})
    for code in (inner.get("exit_code"), fields.get("exit_code"), fields.get("exitCode"), fields.get("returncode")):
        if isinstance(code, int):
            return code != 0
    for name in ("success", "ok", "applied", "accepted"):
        if isinstance(fields.get(name), bool):
            return not fields[name]
    if fields.get("is_error") is True or fields.get("isError") is True or fields.get("error"):
        return True
    status = fields.get("status")
    if isinstance(status, str) and status.lower() in ("error", "failed", "failure", "rejected", "denied", "declined"):
        return True
    words = (fields.get(key) for key in ("output", "message", "result", "text"))
    said = next((word for word in words if isinstance(word, str)), "")
    return bool(said) and not said.lstrip().startswith("{") and edit_failed(said)


_OTHER = Action(verb="other")
_EXIT = late(r"exit(?:ed)?(?: with)?(?: exit)? ?(?:code|status)\s*(?:is|of)?\s*[:=]?\s*(\d{1,3})\b", re.IGNORECASE)
_TRACEBACK = "Traceback (most recent call last):"
_ENDS = 600
"""Characters at the start and end of a run's result in which a failure is looked for."""
_VIEWS = late(
    r"\s*(?:cd \S+ && )?(?:sudo )?(?:cat|zcat|bat|nl|tail|head|less|more|sed -n|awk|grep|rg|egrep|ls|wc|find|jq|"
    r"journalctl|git (?:log|show|diff|blame|status)|docker logs|kubectl logs|gh run view)\b"
)
"""Commands that show what stands somewhere: an error in it is not theirs."""
_FIRST_WORD = late(
    r"\s*(?:<error>|<tool_use_error>|\[?error\]?\b\s*[:\]]|error \w+ing(?: \w+){0,3}:|fatal:|bash: |sh: )",
    re.IGNORECASE,
)


CHECKS = late(
    r"\b(?:pytest|unittest|tox|nox|ruff|mypy|pyright|flake8|pylint|vitest|jest|mocha|eslint|tsc|tsgo|biome|rspec|"
    r"golangci-lint|shellcheck|phpunit|dialyzer)\b"
    r"|\b(?:npm|pnpm|yarn|bun|deno)(?: run)? (?:test|check|lint|typecheck|build)\b"
    r"|\b(?:go|cargo|mix|dotnet|swift|gradle|gradlew|mvn|sbt|bazel|make|just|zig) (?:\S+ )?"
    r"(?:test|check|vet|clippy|lint|build|verify)\b"
)
"""Commands that check something: what they print says whether it is well."""
_HERE = late(r"<<-?\s*['\"]?(\w+)['\"]?.*?(?:^\s*\1\b|\Z)", re.DOTALL | re.MULTILINE)
_QUOTED = late(r'"(?:[^"\\]|\\.){0,4000}"|\'[^\']{0,4000}\'')
_SHELL = late(r"\b(?:ba|z|da)?sh -\w*c\b")


def unquoted(command: str) -> str:
    """A command line without what it quotes: messages of commits, reasons, texts to write; a shell's own line stays."""
    return command if _SHELL.search(command) else _QUOTED.sub(" ", _HERE.sub(" ", command))


def is_check(command: str) -> bool:
    """Whether a command line checks something."""
    return CHECKS.search(command) is not None and CHECKS.search(unquoted(command)) is not None


class Call(NamedTuple):
    """One tool call."""

    place: tuple[int, int]
    """Of the call, or of its result where no call was recorded."""
    agent: str
    tool: str
    action: Action
    args: Mapping[str, Any]
    text: str
    """Of all its results."""
    answered: bool
    failed: bool
    item_id: str


_NAME_WORD = late(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CHANGE_WORDS = """
    add approve assign book buy cancel charge close create delete exchange issue merge modify move order pay place post
    publish purchase refund reject remove rename reserve return schedule send set submit transfer update
"""
_LOOK_WORDS = "calculate check count describe fetch find get list lookup query read search show view"
_CHANGES, _LOOKS_UP = frozenset(_CHANGE_WORDS.split()), frozenset(_LOOK_WORDS.split())


def name_words(tool: str) -> list[str]:
    """The words of a tool's own name, without its server's."""
    return [word.lower() for word in _NAME_WORD.findall(tool.rpartition("__")[2])]


def is_act(call: Call) -> bool:
    """Whether a call of a tool that neither runs commands nor works on files changes something, by the tool's name: it
    books, cancels, sends. What it did is not done again."""
    words = set(name_words(call.tool)) if call.action.verb == "other" and not call.agent else set[str]()
    return bool(words & _CHANGES) and not words & _LOOKS_UP


_BACKGROUND = late(r"\b(?:background|task)\b.{0,40}?\bid\b\W{1,4}([\w-]{4,64})", re.IGNORECASE)
"""How a host says that a command goes on in the background, under which id."""
_RUNNING = late(r"<status>\s*(?:running|pending)|\b(?:still|not yet) (?:running|ready|finished)\b", re.IGNORECASE)


def calls_of(items: Sequence[Item]) -> list[Call]:
    """Every call of the items (in the host's order), also those that never got a result. One that went on in the
    background has the result that a later call fetched."""
    units: dict[str, list[Item]] = {}
    for item in items:
        if item.kind == "tool_call" or item.role == "tool":
            units.setdefault(item.unit or item.id, []).append(item)
    calls = [_call(unit) for unit in units.values()]
    return [_fetched(call, calls[number + 1 :]) for number, call in enumerate(calls)]


def _fetched(call: Call, later: Sequence[Call]) -> Call:
    found = _BACKGROUND.search(call.text[:_VERDICT]) if call.action.verb == "run" else None
    if found is None:
        return call
    for other in later:
        if other.answered and found[1] in strings(other.args) and not _RUNNING.search(other.text[:_VERDICT]):
            failed = other.failed or says_it_failed(call.action, other.text)
            return call._replace(text=other.text, failed=failed)
    return call


def _call(unit: list[Item]) -> Call:
    first = next((item for item in unit if item.kind == "tool_call"), unit[0])
    results = [item for item in unit if item.role == "tool"]
    text = "\n".join(content_text(item.content) for item in results)
    action = next((item.action for item in unit if item.action), _OTHER)
    args = next((item.args for item in unit if item.args), None) or _input_of(first)
    failed = any(item.is_error for item in results) or says_it_failed(action, text)
    return Call(
        place=first.position,
        agent=first.agent,
        tool=first.tool_name,
        action=action,
        args=args,
        text=text,
        answered=bool(results),
        failed=failed,
        item_id=(results or [first])[0].id,
    )


def _input_of(item: Item) -> Mapping[str, Any]:
    content = item.content if isinstance(item.content, dict) else {}
    found = content.get("input")
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def says_it_failed(action: Action, text: str) -> bool:
    """Whether a result that the host did not mark says itself that it failed: by exit code, traceback, first word or,
    of an edit, its verdict."""
    if action.verb in ("read", "search"):
        return len(text) < _ENDS and _FIRST_WORD.match(text) is not None
    if action.verb in ("edit", "write"):
        return edit_failed(text)
    if action.verb != "run":
        return _FIRST_WORD.match(text) is not None
    if _FIRST_WORD.match(text) and not _VIEWS.match(action.target):
        return True
    tail = text[-_ENDS:]
    codes = _EXIT.findall(text[:_ENDS] + "\n" + tail)
    if codes:
        return int(codes[-1]) != 0
    if _VIEWS.match(action.target):
        return False
    if is_check(action.target) and outcome_of(text).failed:
        return True
    return _TRACEBACK in text and not text.rstrip().endswith(_TRACEBACK)


def strings(value: Any) -> Iterable[str]:
    """Every string of a JSON value, in order."""
    todo: list[Any] = [value]
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, Mapping):
            todo.extend(reversed(list(cast("Mapping[str, Any]", node).values())))
        elif isinstance(node, (list, tuple)):
            todo.extend(reversed(cast("Sequence[Any]", node)))
