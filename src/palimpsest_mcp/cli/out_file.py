"""`--out FILE` and `--overwrite`: the same wherever a command writes a file that the user named."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import InvalidArgument
from .face import Face

if TYPE_CHECKING:
    from ..store.out_file import OutFile

Command = TypeVar("Command", bound=Callable[..., Any])


def out_options(help: str) -> Callable[[Command], Command]:
    """`--out` and `--overwrite`, as the parameters `out` and `overwrite`."""

    def add(command: Command) -> Command:
        out = click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help=help)
        overwrite = click.option(
            "--overwrite", is_flag=True, help="--out may replace a file that exists; never the one that is read."
        )
        return out(overwrite(command))

    return add


def out_file(
    face: Face, path: Path | None, *, overwrite: bool, sources: Sequence[Path] = (), source_name: str = ""
) -> OutFile | None:
    """What `--out` named, looked at before any work; None without it.

    Raises:
        InvalidArgument, OutputRefused: it cannot be written (`store.out_file`).
    """
    from ..settings.places import home_folder
    from ..store.out_file import OutFile

    if path is None:
        if overwrite:
            raise InvalidArgument("--overwrite is about --out FILE.", next="Name the file, or leave --overwrite out.")
        return None
    return OutFile(path, home=home_folder(face.home), sources=sources, source_name=source_name, overwrite=overwrite)


def json_bytes(value: Any) -> bytes:
    """JSON as it is written to files: readable as UTF-8; ASCII only where a string has half a surrogate pair."""
    try:
        data = json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        data = json.dumps(value).encode()
    return data + b"\n"


def free_name(stem: str) -> str:
    """A name for a file of messages that nothing has here yet: `s7f3k-messages.json`, else numbered."""
    stem = "".join(char if char.isalnum() or char in "._-" else "-" for char in stem)[:60].lstrip("-.") or "session"
    numbers = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    names = (f"{stem}-messages{number}.json" for number in numbers)
    return next(name for name in names if not os.path.lexists(name))
