"""What a purge takes out of texts that were made of others: a pattern's matches, or what only removed texts held."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence

from ..context.tombstones import PURGED, masked_value
from ..errors import InvalidArgument
from ..experience.ports import Experience, SkillFile, SkillPlace
from ..ports.text import Redactor, Registry

LEAST_LINE = 16
LEAST_VALUE = 5
"""Characters from which on a line, or a specific, says where it comes from."""


def pattern_mask(pattern: re.Pattern[str], mark: str, *, same_size: bool = False) -> Callable[[str], str]:
    """Matches become the mark; with `same_size` as many bytes of it as they had.

    A text may also stand in the form that JSON gives it: so does a pattern that is a plain text.
    """
    quoted = _quoted(pattern)

    def fill(found: re.Match[str]) -> str:
        return mark * len(found[0].encode("utf-8", "surrogatepass")) if same_size else mark

    def mask(text: str) -> str:
        masked = pattern.sub(fill, text)
        return masked if quoted is None else quoted.sub(fill, masked)

    return mask


def _quoted(pattern: re.Pattern[str]) -> re.Pattern[str] | None:
    """The pattern of a plain text in JSON's form, where that differs."""
    text = re.sub(r"\\(.)", r"\1", pattern.pattern, flags=re.DOTALL)
    if re.escape(text) != pattern.pattern:
        return None
    forms = {json.dumps(text, ensure_ascii=only)[1:-1] for only in (True, False)} - {text}
    return re.compile("|".join(map(re.escape, sorted(forms)))) if forms else None


def derived_mask(
    leaving: Sequence[str], staying: Sequence[str], registry: Registry, redactor: Redactor
) -> Callable[[str], str]:
    """Lines and specifics that only the texts that leave have, and none that stays, masked where they are quoted."""
    fragments: set[str] = set()
    for text in leaving:
        masked = redactor.redact(text).text
        for one in {text, masked}:
            fragments.update(line.strip() for line in one.split("\n") if len(line.strip()) >= LEAST_LINE)
        fragments.update(span.text for span in registry.spans(masked) if len(span.text) >= LEAST_VALUE)
    by_head = _by_head(fragments)
    stays: dict[str, bool] = {}

    def is_only_here(fragment: str) -> bool:
        if fragment not in stays:
            stays[fragment] = any(fragment in text for text in staying)
        return not stays[fragment]

    def mask(text: str) -> str:
        found = [one for one in _quoted_in(text, by_head) if is_only_here(one)]
        for fragment in sorted(found, key=len, reverse=True):
            text = text.replace(fragment, PURGED)
        return text

    return mask


def _by_head(fragments: Iterable[str]) -> dict[int, dict[str, list[str]]]:
    """Fragments by their first characters: a session has a hundred thousand of them, a handoff quotes ten."""
    heads: dict[int, dict[str, list[str]]] = {LEAST_VALUE: {}, LEAST_LINE: {}}
    for fragment in fragments:
        size = LEAST_LINE if len(fragment) >= LEAST_LINE else LEAST_VALUE
        heads[size].setdefault(fragment[:size], []).append(fragment)
    return heads


def _quoted_in(text: str, by_head: dict[int, dict[str, list[str]]]) -> set[str]:
    return {
        fragment
        for size, heads in by_head.items()
        for at in range(len(text) - size + 1)
        for fragment in heads.get(text[at : at + size], ())
        if text.startswith(fragment, at)
    }


# The experience of skills: logs, digests, our notes about them, snapshots.

_FILES: tuple[SkillFile, ...] = ("digest", "side")


async def blank_experience(experience: Experience, mask: Callable[[str], str]) -> tuple[str, ...]:
    """Blank what a mask finds, byte for byte, in everything that is kept of every skill. Returns what changed.

    Raises:
        WriteFailed, LockTimeout: some of it may be as it was; ask again.
    """
    changed: list[str] = []
    for place in await experience.skills():
        async with experience.lock(place):
            done = [name for name in _FILES if await _file(experience, place, name, mask)]
            for name in await experience.files.snapshots(place):
                data = await experience.files.snapshot(place, name)
                if data is not None and (new := _masked(data, mask)) != data:
                    await experience.files.keep_snapshot(place, name, new)
                    done.append("side")
            if await experience.log.blank(place, mask) or done:
                changed.append(f"experience of {place.name}")
    return tuple(changed)


async def _file(experience: Experience, place: SkillPlace, name: SkillFile, mask: Callable[[str], str]) -> bool:
    data = await experience.files.read(place, name)
    if data is None or (new := _masked(data, mask)) == data:
        return False
    await experience.files.replace(place, name, new)
    return True


def _masked(data: bytes, mask: Callable[[str], str]) -> bytes:
    text = mask(data.decode("utf-8", "surrogateescape"))
    try:
        value = json.loads(text)
    except ValueError:
        return text.encode("utf-8", "surrogateescape")
    masked = masked_value(value, mask)
    return (text if masked == value else json.dumps(masked)).encode("utf-8", "surrogateescape")


def compiled(matching: str, regex: str) -> re.Pattern[str]:
    """The pattern of a purge by text.

    Raises:
        InvalidArgument: it is empty, no regular expression, or fits the empty text.
    """
    if bool(matching) == bool(regex):
        raise InvalidArgument("Name a text or a regular expression.", next="Give one of --matching and --regex.")
    try:
        pattern = re.compile(regex or re.escape(matching))
    except re.error as error:
        raise InvalidArgument(f"--regex is no regular expression ({error}).", next="Write it as in Python.") from None
    if pattern.search("") is not None:
        raise InvalidArgument("The pattern fits every text.", next="Name what has to go more closely.")
    return pattern
