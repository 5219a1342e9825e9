"""A shell command line as simple commands: words, redirections, and where each command stands. No shell is run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

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
