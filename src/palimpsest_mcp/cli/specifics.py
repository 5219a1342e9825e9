"""`specifics FILE`: what the registry finds in a text, and what would be masked before anybody sees it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import FileEmpty, FileMissing
from ..text.specifics.delimited import fields_apart
from .face import Face, pass_face, shared_options
from .screen import say, say_fields, say_json, say_table

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest
    from ..models.items import Span
    from ..ports.text import Redacted

EXAMPLES = 6


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@shared_options
@pass_face
def specifics(face: Face, file: Path) -> None:
    """What must survive word for word in FILE (any text), by class, and what would be masked."""
    text = _read(file)
    masked, spans, version = face.ask(lambda facade: _found(facade, text), make=False)
    by_class: dict[str, list[str]] = {}
    for span in spans:
        by_class.setdefault(span.cls, []).append(span.text)
    if face.as_json:
        classes = {name: {"count": len(found), "texts": _distinct(found)} for name, found in by_class.items()}
        say_json({"registry": version, "specifics": classes, "masked": masked.counts})
    else:
        _say(masked, by_class, version)


async def _found(facade: Palimpsest, text: str) -> tuple[Redacted, list[Span], str]:
    """As a digest would see it: masked first."""
    registry = facade.deps.registry
    masked = facade.deps.redactor.redact(text)
    return masked, registry.spans(fields_apart(masked.text)), registry.version


def _say(masked: Redacted, by_class: dict[str, list[str]], version: str) -> None:
    rows = [
        (name, str(len(found)), str(len(_distinct(found))), ", ".join(_distinct(found)[:EXAMPLES]))
        for name, found in sorted(by_class.items(), key=lambda pair: -len(pair[1]))
    ]
    say_table("class, found:number, distinct:number, such as:list", rows)
    if not rows:
        say("no specifics found")
    words = ", ".join(f"{number} {kind}" for kind, number in sorted(masked.counts.items())) or "nothing"
    say_fields([("masked", words), ("registry", version)])


def _distinct(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _read(file: Path) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise FileMissing(f"{file.name} cannot be read ({error.strerror}).", next="Name a text file.") from None
    if not data.strip():
        raise FileEmpty(f"{file.name} is empty.", next="Name a file with text in it.")
    return data.decode("utf-8", "replace")
