"""The artifact trail: which files a session changed, how and in which order, from its tool calls alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from ...models.summaries import ChangedFile, Step, Verb
from .calls import Call, is_check, is_patch, newly_defined, patch_effects, strings
from .merge import joined_path, tidy
from .shell import commands, file_effects

_OLD = ("old_string", "oldString", "oldText", "old_str", "old_text", "old", "search")
_NEW = ("new_string", "newString", "newText", "new_str", "new_text", "new", "replace", "insert_text")
_WHOLE = ("content", "contents", "file_text", "fileText", "text", "code")
_PATCHES = ("patch", "input", "diff", "patch_text", "command", "cmd", "arguments")
_COMMANDS = ("command", "cmd", "commands", "script", "code", "argv")
_SCRIPT_TOOLS = "python run_python execute_python execute_ipython_cell ipython sql write_stdin"
_SCRIPTS = frozenset(_SCRIPT_TOOLS.split())
"""Runners whose argument is no shell line."""
_APPLIES = re.compile(r"\b(?:git apply|git am|patch|apply_patch)\b")
"""Programs that change what a patch on their standard input names."""
MAX_NAMES = 12
"""Names that one step keeps; further ones are counted."""


_SHELL_VERBS = frozenset(("edited", "moved", "copied", "deleted", "reverted"))
_UNKEPT = ("/tmp/", "/dev/")
_HUSHED = re.compile(r"2> ?/dev/null|\|\| ?true\b")
MOST_PATHS = 8
"""Paths that one line of what a command did names."""
_COMMITS = re.compile(r"\bgit (?:-\S+ \S+ )*commit\b")


class Change(NamedTuple):
    """One change of one file."""

    path: str
    verb: Verb
    folder: str = ""
    other: str = ""
    names: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    """Names that it takes out."""


class Trail(NamedTuple):
    """What a session did to files."""

    files: tuple[ChangedFile, ...]
    """In the order in which they were first changed."""
    unnamed: int
    """Changes that shell commands made to files which no word of theirs names."""


def trail(calls: Sequence[Call]) -> Trail:
    """The files that calls changed. A failed call changes nothing, unless it is a shell command or has no result:
    then the step says `unconfirmed`."""
    known = {
        call.action.target for call in calls if call.action.verb in ("read", "edit", "write") and call.action.target
    }
    changes: dict[tuple[str, str], list[Change]] = {}
    gone: dict[str, tuple[str, str]] = {}
    committed: dict[tuple[str, str], int] = {}
    unnamed = 0
    for call in calls:
        if call.action.verb == "run" and call.answered and not call.failed and _COMMITS.search(call.action.target):
            committed = {key: len(made) for key, made in changes.items()}
        found, more = _changes(call)
        unnamed += more
        for change in found:
            path, folder = _settled(change, known)
            if not path:
                continue
            into = tidy(change.other)
            for there in (joined_path(folder, path), joined_path(folder, into) + "/" * into.endswith("/")):
                _appears(there, gone, changes)
            if change.verb == "reverted" and path == "." and _revert(folder, changes, committed):
                continue
            if change.verb == "deleted":
                _empty(joined_path(folder, path).rstrip("/"), changes)
            changes.setdefault((path, folder), []).append(change)
            if change.verb == "moved" and (known_as := _of_path(joined_path(tidy(change.folder), into), changes)):
                changes[known_as].append(Change(known_as[0], "written"))
            if change.verb == "deleted":
                gone[joined_path(folder, path)] = path, folder
    files = (
        ChangedFile(path=path, folder=folder, steps=tuple(_steps(made))) for (path, folder), made in changes.items()
    )
    return Trail(tuple(files), unnamed)


def _revert(
    folder: str, changes: dict[tuple[str, str], list[Change]], committed: Mapping[tuple[str, str], int]
) -> bool:
    """Note of every file that was only edited since the last commit that a command reverted the whole folder; whether
    there is any. What was made since is not known to git, and stays."""
    found = False
    for key, made in changes.items():
        since = {change.verb for change in made[committed.get(key, 0) :]}
        if since == {"edited"} and (not folder or joined_path(key[1], key[0]).startswith(f"{folder.rstrip('/')}/")):
            made.append(Change(key[0], "reverted"))
            found = True
    return found


def _empty(folder: str, changes: dict[tuple[str, str], list[Change]]) -> None:
    """Forget what was changed in a folder that is deleted: none of it is left."""
    for key in [key for key in changes if f"{joined_path(key[1], key[0]).rstrip('/')}/".startswith(f"{folder}/")]:
        if joined_path(key[1], key[0]) != folder:
            del changes[key]


def _appears(path: str, gone: dict[str, tuple[str, str]], changes: dict[tuple[str, str], list[Change]]) -> None:
    """What was deleted as a whole and has something in it again is not told as deleted."""
    for folder in [one for one in gone if _is_in(path, one.rstrip("/"))]:
        key = gone.pop(folder)
        changes[key] = [one for one in changes[key] if one.verb != "deleted"]
        if not changes[key]:
            del changes[key]


def _of_path(path: str, changes: Mapping[tuple[str, str], list[Change]]) -> tuple[str, str] | None:
    """As what a file is known that was changed before."""
    return next((key for key in changes if joined_path(key[1], key[0]) == path), None)


def _is_in(path: str, folder: str) -> bool:
    """Whether something is in a folder, by the folder's whole name or by as much of it as was given."""
    return path.startswith(f"{folder}/") or (not folder.startswith("/") and f"/{folder}/" in path)


def changes_by_shell(call: Call) -> bool:
    """Whether a command line that went through edited, moved, copied, deleted or reverted files by its words; what a
    check leaves behind, and temporary files, are none."""
    if call.action.verb != "run" or not call.answered or call.failed or is_check(call.action.target):
        return False
    found, unnamed = _changes(call)
    return unnamed > 0 or any(
        change.verb in _SHELL_VERBS and not joined_path(change.folder, change.path).startswith(_UNKEPT)
        for change in found
    )


def shell_acts(call: Call) -> str:
    """What a command line that went through did to files and folders by its words: `deleted main.ts, cli.ts; moved
    a.ts to b.ts`. Empty: nothing, as of a check or where only a variable names the files."""
    if call.action.verb != "run" or not call.answered or call.failed or is_check(call.action.target):
        return ""
    found: dict[str, list[str]] = {}
    for command in commands(_command(call)):
        words = [word.text for word in command.words if not word.text.startswith("-")]
        if words[:1] == ["mkdir"]:
            found.setdefault("made folder", []).extend(map(_shown_path, words[1:]))
    for change in _changes(call)[0]:
        if not joined_path(change.folder, change.path).startswith(_UNKEPT):
            other = (
                f" {'from' if change.verb == 'copied' else 'to'} {_shown_path(change.other)}" if change.other else ""
            )
            found.setdefault(change.verb, []).append(_shown_path(change.path) + other)
    told = "; ".join(f"{verb} {_listed(paths)}" for verb, paths in found.items() if paths)
    return f"{told} (errors of it were not shown)" if told and _HUSHED.search(_command(call)) else told


def _shown_path(path: str) -> str:
    """A path as the command wrote it; of a whole one the name."""
    return tidy(path.rstrip("/").rpartition("/")[2] if path.startswith(("/", "~")) else path)


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MOST_PATHS} more" if len(paths) > MOST_PATHS else ""
    return ", ".join(paths[:MOST_PATHS]) + more


def changed_paths(calls: Sequence[Call]) -> list[str]:
    """Every file that editing tools changed for sure, each once, in the order of its last change."""
    found: dict[str, None] = {}
    for call in calls:
        if call.action.verb not in ("edit", "write"):
            continue
        for change in _changes(call)[0]:
            if change.verb != "unconfirmed" and (path := tidy(change.path)):
                found.pop(path, None)
                found[path] = None
    return list(found)


def _changes(call: Call) -> tuple[list[Change], int]:
    verb = call.action.verb
    if verb == "run":
        line = "" if call.tool.lower() in _SCRIPTS else _command(call)
        if _APPLIES.search(line) and is_patch(line):
            return [_confirmed(call, Change(path, what, other=other)) for path, what, other in patch_effects(line)], 0
        named, unnamed = file_effects(line)
        return [_confirmed(call, Change(e.path, e.verb, e.folder, e.other)) for e in named], unnamed
    if verb not in ("edit", "write") or (call.failed and call.answered):
        return [], 0
    patch = next((text for text in _patch_texts(call.args) if is_patch(text)), "")
    if patch:
        return [_confirmed(call, Change(path, what, other=other)) for path, what, other in patch_effects(patch)], 0
    return [_confirmed(call, _change(call))], 0


def _confirmed(call: Call, change: Change) -> Change:
    if call.answered and not call.failed:
        return change
    return change._replace(verb="unconfirmed", other="", names=())


def _change(call: Call) -> Change:
    """What an editing tool's own call did."""
    path = call.action.target
    command = call.args.get("command")
    if command in ("delete", "rename"):
        other = next((text for key in ("new_path", "newPath", "target") if (text := _word(call.args.get(key)))), "")
        return Change(path, "deleted" if command == "delete" else "moved", other=other)
    if call.action.verb == "write":
        verb: Verb = "created" if command == "create" or "created" in call.text[:200].lower() else "written"
        text = next((text for key in _WHOLE if (text := _word(call.args.get(key)))), "")
        return Change(path, verb, names=newly_defined("", text))
    names: dict[str, None] = {}
    lost: dict[str, None] = {}
    for old, new in edits_of(call.args):
        names.update(dict.fromkeys(newly_defined(old, new)))
        lost.update(dict.fromkeys(newly_defined(new, old)))
    return Change(path, "edited", names=tuple(names), lost=tuple(lost))


def edits_of(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Old and new text of every replacement that an edit's arguments ask for."""
    found: Any = args.get("edits")
    many = cast("list[Any]", found) if isinstance(found, list) else [args]
    for one in many:
        if isinstance(one, Mapping):
            fields = cast("Mapping[str, Any]", one)
            old, new = (next((_word(fields[key]) for key in keys if key in fields), "") for keys in (_OLD, _NEW))
            if old or new:
                yield old, new


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _command(call: Call) -> str:
    """The shell line of a call; for `["bash", "-lc", line]` the action has it."""
    line = next((value for key in _COMMANDS if isinstance(value := call.args.get(key), str)), "")
    return line or call.action.target


def _patch_texts(args: Mapping[str, Any]) -> Iterable[str]:
    for key in _PATCHES:
        yield from strings(args.get(key))


def _settled(change: Change, known: set[str]) -> tuple[str, str]:
    """Path and folder: the whole path where another call names it, else as the command wrote it."""
    path, folder = tidy(change.path), tidy(change.folder)
    whole = joined_path(folder, path)
    return (whole, "") if whole in known or whole == path else (path, folder)


def _steps(changes: Sequence[Change]) -> Iterator[Step]:
    """Runs of one kind of change become one step with a count; names that a later change took out are not told."""
    step: Step | None = None
    for at, change in enumerate(changes):
        gone = {name for later in changes[at + 1 :] for name in later.lost}
        change = change._replace(names=tuple(name for name in change.names if name not in gone))
        other = tidy(change.other)
        if step is not None and (step.verb, step.other) == (change.verb, other):
            names = tuple(dict.fromkeys((*step.names, *change.names)))
            step = msgspec.structs.replace(step, times=step.times + 1, names=names)
            continue
        if step is not None:
            yield _bounded(step)
        step = Step(verb=change.verb, other=other, names=change.names)
    if step is not None:
        yield _bounded(step)


def _bounded(step: Step) -> Step:
    more = max(0, len(step.names) - MAX_NAMES)
    return msgspec.structs.replace(step, names=step.names[:MAX_NAMES], more_names=more) if more else step
