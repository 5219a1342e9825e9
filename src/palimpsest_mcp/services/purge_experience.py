"""The experience of skills without what a purge takes out: logs, digests, our notes about them, snapshots."""

from __future__ import annotations

import json
from collections.abc import Callable

from ..ledger.tombstones import masked_value
from ..ports.experience import Experience, SkillFile, SkillPlace

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


__all__ = ["blank_experience"]
