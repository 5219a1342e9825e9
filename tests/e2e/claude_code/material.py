"""What a working day brings into a context: files of many kinds, each full of its own specifics."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

SIZE_CHARS = 19_000
"""Of one file: long enough to matter, short enough that the client shows it whole."""


def mark(number: int, line: int) -> str:
    """An id that stands nowhere else."""
    return hashlib.sha256(f"{number}/{line}".encode()).hexdigest()[:10]


def _log(n: int, i: int) -> str:
    time = f"2026-11-{n % 28 + 1:02}T10:{i // 60 % 60:02}:{i % 60:02}Z"
    return f"{time} INFO worker-{n} served /srv/app{n}/item{i}.json in {i * 7 % 950} ms request req-{mark(n, i)}"


def _table(n: int, i: int) -> str:
    return f"host{n:02}-{i:03},10.{n}.{i // 250}.{i % 250},{8000 + i},{i * 13 % 997}.{n}%,{mark(n, i)}"


def _code(n: int, i: int) -> str:
    body = f"    return lookup('/api/v{n}/{mark(n, i)}', timeout={i % 60 + 1})"
    return f"def handler_{n}_{i}(request):  # see issue #{n * 1000 + i}\n{body}"


def _search(n: int, i: int) -> str:
    return f"src/module{n}/file_{i}.py:{i * 3 + 1}:    raise ConfigError('E{n:02}{i:03} unknown key {mark(n, i)}')"


def _test(n: int, i: int) -> str:
    return f"tests/test_area{n}.py::test_case_{i} {'FAILED' if i % 17 == 3 else 'PASSED'} [{mark(n, i)}] {i % 90}.{n} s"


def _json(n: int, i: int) -> str:
    return json.dumps({"id": mark(n, i), "path": f"/data/{n}/{i}.bin", "size": i * 4096 + n, "version": f"{n}.{i}.0"})


KINDS: tuple[Callable[[int, int], str], ...] = (_log, _table, _code, _search, _test, _json)


def text(number: int, size_chars: int = SIZE_CHARS) -> str:
    """The text of file `number`: whole lines."""
    kind, lines, length = KINDS[number % len(KINDS)], list[str](), 0
    while length < size_chars:
        lines.append(kind(number, len(lines)))
        length += len(lines[-1]) + 1
    return "\n".join(lines) + "\n"


def write(folder: Path, number: int, size_chars: int = SIZE_CHARS) -> Path:
    """File `number` in a folder, if it is not there yet."""
    path = folder / f"file{number:02}.txt"
    path.write_text(text(number, size_chars), "utf-8")
    return path
