"""Which files a shell command changes, as far as its words name them: redirections, tee, sed -i, mv, cp, rm and kin."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ...models.summaries import Verb
from .merge import joined_path

# A shell command line as simple commands: words, redirections, and where each command stands. No shell is run.


MAX_HEREDOCS = 20
MAX_COMMAND = 60_000
"""Characters of one command line that are read; what files a longer one changes is not told from its words."""
_SEPARATORS = ("&&", "||", ";;", ";", "|&", "|", "&", "\n")
_REDIRECTION = re.compile(r"(?:\d*|&)(>>|>\||>&|>|<<<|<<-?|<&|<>|<)")
_HEREDOC = re.compile(r"""\s*(['"]?)([^\s'"<>;|&()]+)\1""")
_ENDS_WORD = frozenset(" \t\n;|&()<>")


class Word(NamedTuple):
    """One word as the shell would see it."""

    text: str
    expands: bool = False
    """Holds a variable or command substitution: nobody knows from the text what it becomes."""
    glob: bool = False


class Command(NamedTuple):
    """One simple command."""

    words: tuple[Word, ...]
    writes: tuple[tuple[str, Word], ...]
    """Output redirections: `>` or `>>`, and the file."""
    depth: int
    """How many parentheses it stands in: a `cd` inside them ends with them."""


def commands(line: str) -> list[Command]:
    """The simple commands of a line, in order; heredoc bodies and comments are skipped."""
    return list(_Reader(line[:MAX_COMMAND]).read())


class _Reader:
    def __init__(self, line: str) -> None:
        self._line = line
        self._place = 0
        self._depth = 0
        self._words: list[Word] = []
        self._writes: list[tuple[str, Word]] = []
        self._heredocs: list[str] = []

    def read(self) -> Iterator[Command]:
        while self._place < len(self._line):
            char = self._line[self._place]
            if char in " \t" or self._line.startswith("\\\n", self._place):
                self._place += 1 if char in " \t" else 2
            elif char == "#":
                end = self._line.find("\n", self._place)
                self._place = len(self._line) if end < 0 else end
            elif char in "()":
                yield from self._command()
                self._depth = max(0, self._depth + (1 if char == "(" else -1))
                self._place += 1
            elif found := _REDIRECTION.match(self._line, self._place):
                self._redirect(found)
            elif stop := next((one for one in _SEPARATORS if self._line.startswith(one, self._place)), ""):
                yield from self._command()
                self._place += len(stop)
                if stop == "\n":
                    self._skip_heredocs()
            else:
                self._words.append(self._word())
        yield from self._command()

    def _command(self) -> Iterator[Command]:
        if self._words or self._writes:
            yield Command(tuple(self._words), tuple(self._writes), self._depth)
        self._words, self._writes = [], []

    def _redirect(self, found: re.Match[str]) -> None:
        self._place = found.end()
        if found[1] in ("<<", "<<-"):
            if named := _HEREDOC.match(self._line, self._place):
                self._heredocs.append(named[2])
                self._place = named.end()
            return
        while self._line.startswith((" ", "\t"), self._place):
            self._place += 1
        target = self._word() if self._place < len(self._line) else Word("")
        if found[1] in (">", ">>", ">|", "<>") or (found[1] == ">&" and not re.fullmatch(r"\d+|-", target.text)):
            self._writes.append((">>" if found[1] == ">>" else ">", target))

    def _skip_heredocs(self) -> None:
        for name in self._heredocs[:MAX_HEREDOCS]:
            end = re.compile(rf"^\t*{re.escape(name)}$", re.MULTILINE).search(self._line, self._place)
            self._place = len(self._line) if end is None else min(len(self._line), end.end() + 1)
        self._heredocs = []

    def _word(self) -> Word:
        out: list[str] = []
        expands = glob = False
        while self._place < len(self._line) and self._line[self._place] not in _ENDS_WORD:
            char = self._line[self._place]
            if char == "'":
                out.append(self._single())
            elif char == '"':
                text, inner = self._double()
                out.append(text)
                expands |= inner
            elif char == "\\":
                out.append(self._line[self._place + 1 : self._place + 2].replace("\n", ""))
                self._place += 2
            elif char in "$`":
                out.append(self._substitution())
                expands = True
            else:
                glob |= char in "*?["
                out.append(char)
                self._place += 1
        if not out and self._place < len(self._line):
            self._place += self._line[self._place : self._place + 1] not in ("\n", ";", "|", "&", "(", ")")
        return Word("".join(out), expands, glob)

    def _single(self) -> str:
        end = self._line.find("'", self._place + 1)
        end = len(self._line) if end < 0 else end
        text = self._line[self._place + 1 : end]
        self._place = end + 1
        return text

    def _double(self) -> tuple[str, bool]:
        self._place += 1
        out: list[str] = []
        expands = False
        while self._place < len(self._line) and self._line[self._place] != '"':
            char = self._line[self._place]
            if char == "\\" and self._line[self._place + 1 : self._place + 2] in ('"', "\\", "$", "`", "\n"):
                out.append(self._line[self._place + 1].replace("\n", ""))
                self._place += 2
            elif char in "$`":
                out.append(self._substitution())
                expands = True
            else:
                out.append(char)
                self._place += 1
        self._place += 1
        return "".join(out), expands

    def _substitution(self) -> str:
        """`$name`, `${…}`, `$(…)` or backticks, as written; what they run is not looked at."""
        start = self._place
        if self._line[start] == "`":
            end = self._line.find("`", start + 1)
            self._place = len(self._line) if end < 0 else end + 1
        elif self._line.startswith(("$(", "${"), start):
            self._place = _closing(self._line, start + 1)
        else:
            named = re.compile(r"\$(?:\w+|[@*#?$!-])?").match(self._line, start)
            self._place = named.end() if named else start + 1
        return self._line[start : self._place]


def _closing(line: str, start: int) -> int:
    """The place after the bracket that closes the one at `start`, quotes minded."""
    opening, closing = line[start], {"(": ")", "{": "}"}[line[start]]
    depth, place, quote = 0, start, ""
    while place < len(line):
        char = line[place]
        if char == "\\" and quote != "'":
            place += 2
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == opening:
            depth += 1
        elif char == closing:
            depth -= 1
            if not depth:
                return place + 1
        place += 1
    return len(line)


class Effect(NamedTuple):
    """One file that a command changes."""

    path: str
    """As it is written in the command."""
    verb: Verb
    folder: str = ""
    """Where the shell stood, when the command itself said so by `cd`."""
    other: str = ""


class Effects(NamedTuple):
    """What one command line does to files."""

    named: tuple[Effect, ...]
    unnamed: int
    """Changes of files that only a variable or substitution names."""


_BEFORE = "do then else elif if while until ! { time sudo command nohup env exec builtin nice"
_NOT_THE_COMMAND = frozenset(_BEFORE.split())
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_NO_FILE = re.compile(r"/dev/|&|-$|$")
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
_MAX_LOOP = 200


def file_effects(line: str) -> Effects:
    """The files that a command line changes, in order."""
    return _Shell().run(commands(line))


class _Shell:
    """Walks through a line's commands and remembers where it stands."""

    def __init__(self) -> None:
        self._folders: dict[int, str] = {0: ""}
        """By depth of parentheses; a path that nobody can know is `?`."""
        self._loops: dict[str, tuple[Word, ...]] = {}
        self._chooses = False
        """Whether a loop looks at each of its words first: which files of a pattern it takes nobody can tell."""
        self._named: list[Effect] = []
        self._unnamed = 0

    def run(self, given: Sequence[Command]) -> Effects:
        for command in given:
            for depth in [one for one in self._folders if one > command.depth]:
                del self._folders[depth]
            self._folders.setdefault(command.depth, self._folders[max(self._folders)])
            self._simple(command)
        return Effects(tuple(self._named), self._unnamed)

    def _simple(self, command: Command) -> None:
        words = list(command.words)
        while words and (words[0].text in _NOT_THE_COMMAND or _is_assignment(words[0])):
            words.pop(0)
        for sign, target in command.writes:
            if not _NO_FILE.match(target.text):
                self._add([target], "appended" if sign == ">>" else "written", command.depth)
        if not words:
            return
        name, rest = posixpath.basename(words[0].text), words[1:]
        if name == "for" and len(rest) > 2 and rest[1].text == "in":
            self._loops[rest[0].text] = tuple(rest[2 : 2 + _MAX_LOOP])
        elif name in ("[", "[[", "test", "case", "grep"):
            self._chooses = bool(self._loops)
        elif name == "done":
            self._chooses = False
        elif name in ("cd", "pushd"):
            self._move(rest, command.depth)
        elif action := _ACTIONS.get(name):
            for verb, words_named, other in action(rest):
                self._add(words_named, verb, command.depth, other)

    def _move(self, rest: list[Word], depth: int) -> None:
        target = next((word for word in rest if word.text not in ("--", "-P", "-L")), Word("~"))
        here = self._folders[depth]
        if (
            target.expands
            or target.glob
            or target.text == "-"
            or (here == "?" and not target.text.startswith(("/", "~")))
        ):
            self._folders[depth] = "?"
        else:
            self._folders[depth] = joined_path(here, target.text)

    def _add(self, words: Sequence[Word], verb: Verb, depth: int, other: str = "") -> None:
        folder = self._folders[depth]
        for word in self._spelled_out(words):
            if word.expands or not word.text or "\n" in word.text:
                self._unnamed += 1
            else:
                whole = word.text.startswith(("/", "~")) or folder == "?"
                self._named.append(Effect(word.text, verb, "" if whole else folder, other))

    def _spelled_out(self, words: Sequence[Word]) -> Iterator[Word]:
        """A loop's variable as the words that the loop names."""
        for word in words:
            found = _VARIABLE.fullmatch(word.text) if word.expands else None
            loop = self._loops.get(found[1] or found[2]) if found else None
            unsure = self._chooses and any(one.glob for one in loop or ())
            yield from (loop if loop and not unsure else (word,))


Found = Iterator[tuple[Verb, Sequence[Word], str]]


def _is_assignment(word: Word) -> bool:
    return _ASSIGNMENT.match(word.text) is not None


def _operands(words: Sequence[Word], *, valued: Sequence[str] = ()) -> list[Word]:
    """Words that are no options; `valued` options take the word behind them."""
    found: list[Word] = []
    skip = ended = False
    for word in words:
        if skip:
            skip = False
        elif not ended and word.text == "--":
            ended = True
        elif not ended and word.text[:1] == "-" and len(word.text) > 1:
            skip = word.text in valued
        else:
            found.append(word)
    return found


def _tee(words: Sequence[Word]) -> Found:
    appends = any(word.text in ("-a", "--append") for word in words)
    yield "appended" if appends else "written", [w for w in _operands(words) if not _NO_FILE.match(w.text)], ""


def _sed(words: Sequence[Word]) -> Found:
    if not any(_IN_PLACE.match(word.text) for word in words):
        return
    files = [word for word in _operands(words, valued=("-e", "-f")) if word.text]
    scripted = any(word.text in ("-e", "-f") or word.text.startswith("--expression") for word in words)
    yield "edited", files if scripted else files[1:], ""


def _perl(words: Sequence[Word]) -> Found:
    if any(re.match(r"-\w*i", word.text) for word in words):
        yield "edited", _operands(words, valued=("-e", "-pe", "-i.bak", "-pie", "-ne")), ""


def _mv(words: Sequence[Word]) -> Found:
    files = _operands(words, valued=("-t", "--target-directory"))
    if len(files) > 1:
        yield "moved", files[:-1], "" if files[-1].expands else _shown(files[-1])


def _cp(words: Sequence[Word]) -> Found:
    files = _operands(words, valued=("-t", "--target-directory"))
    if len(files) > 1:
        yield "copied", files[-1:], " ".join(_shown(word) for word in files[:-1] if not word.expands)


def _shown(word: Word) -> str:
    return word.text.replace("\n", " ")


def _rm(words: Sequence[Word]) -> Found:
    yield "deleted", _operands(words), ""


def _touch(words: Sequence[Word]) -> Found:
    yield "created", _operands(words, valued=("-d", "-t", "-r")), ""


def _curl(words: Sequence[Word]) -> Found:
    for option, file in zip(words, words[1:], strict=False):
        if option.text in ("-o", "--output", "-O") and (option.text != "-O" or file.text[:1] not in "-h"):
            yield "written", [file] if not _NO_FILE.match(file.text) else [], ""


def _wget(words: Sequence[Word]) -> Found:
    for option, file in zip(words, words[1:], strict=False):
        if option.text in ("-O", "--output-document") and not _NO_FILE.match(file.text):
            yield "written", [file], ""


def _dd(words: Sequence[Word]) -> Found:
    for word in words:
        if word.text.startswith("of=") and not _NO_FILE.match(word.text[3:]):
            yield "written", [Word(word.text[3:], word.expands, word.glob)], ""


def _git(words: Sequence[Word]) -> Found:
    rest = list(words)
    while rest and rest[0].text.startswith("-"):
        rest = rest[2:] if rest[0].text in ("-C", "-c") else rest[1:]
    if not rest:
        return
    name, rest = rest[0].text, rest[1:]
    if name == "mv":
        yield from _mv(rest)
    elif name == "rm" and not any(word.text == "--cached" for word in rest):
        yield from _rm(rest)
    elif name == "restore" and not any(word.text in ("--staged", "-S") for word in rest):
        yield "reverted", _operands(rest, valued=("-s", "--source")), ""
    elif name == "checkout" and any(word.text == "--" for word in rest):
        yield "reverted", rest[[word.text for word in rest].index("--") + 1 :], ""


_ACTIONS: dict[str, Callable[[Sequence[Word]], Found]] = {
    "tee": _tee,
    "sed": _sed,
    "gsed": _sed,
    "perl": _perl,
    "mv": _mv,
    "cp": _cp,
    "rm": _rm,
    "unlink": _rm,
    "touch": _touch,
    "curl": _curl,
    "wget": _wget,
    "dd": _dd,
    "git": _git,
}
