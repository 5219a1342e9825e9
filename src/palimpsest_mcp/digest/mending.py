"""Ledger lines that break a rule: what breaks it goes, the values stay."""

from __future__ import annotations

from collections.abc import Sequence

from ..models.digests import DigestLine
from ..ports.text import Registry
from .entries import BETWEEN, LED, NEAR, entry_groups
from .units import Survey
from .verify import PartCheck, check_part


def mended(survey: Survey, lines: Sequence[DigestLine], check: PartCheck, registry: Registry) -> list[DigestLine]:
    """The lines of a part; of those of the ledger that may not stand each group by itself, without its key or word
    where it may not stand beside that."""
    found: list[DigestLine] = []
    for number, line in enumerate(lines):
        if number in check.bad_lines and line.kind == "entry":
            found += _without_what_breaks(survey, line.text, registry)
        else:
            found.append(line)
    return found


def _without_what_breaks(survey: Survey, text: str, registry: Registry) -> list[DigestLine]:
    pieces = _pieces(text)
    bad = check_part(survey, [DigestLine("entry", whole) for whole, _ in pieces], registry).bad_lines
    kept = [bare if number in bad else whole for number, (whole, bare) in enumerate(pieces)]
    if text.startswith(" "):
        return [DigestLine("entry", one) for one in kept]
    led = found.group() if (found := LED.match(text)) else ""
    return [DigestLine("entry", led + BETWEEN.join(one.removeprefix(led) for one in kept))]


def _pieces(text: str) -> list[tuple[str, str]]:
    """Each group of a ledger line as a line of its own, and the same without its key or word."""
    led = found.group() if (found := LED.match(text)) else ""
    pieces: list[tuple[str, str]] = []
    for group in entry_groups(text):
        values = text[group.start : group.end]
        if group.together:
            values = values.removeprefix(NEAR).removeprefix(" ")
            pieces.append((f" {group.key}{NEAR}{values}" if group.key else f" {values}", f" {values}"))
        else:
            key = f"{group.key}=" if group.key else ""
            pieces.append((f"{led}{key}{values}", f"{led}{values}"))
    return pieces


__all__ = ["mended"]
