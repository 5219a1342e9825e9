"""verify: hashes always, counts where registry and masks are those of then (D12)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.models.items import Span
from palimpsest_mcp.models.records import OffloadRecord
from palimpsest_mcp.text.specifics.registry import DefaultRegistry

pytestmark = pytest.mark.anyio
MakeSession = Callable[..., list[dict[str, Any]]]


async def forged(p: Palimpsest, messages: list[dict[str, Any]], **changes: Any) -> OffloadRecord:
    """A record of the session, archived once more with other counts: what a defect of ours would have written."""
    done = await p.compact_messages(messages, session_id="s", target=0.5, force=True)
    record = await p.record("s", done.report.batches[0].batch_id)
    counts = msgspec.structs.replace(record.specifics, **changes)
    false = msgspec.structs.replace(record, batch_id="offload_9001", specifics=counts)
    await p.deps.store.archive.append(SessionKey("s"), [false])
    return record


async def test_a_whole_store_has_no_findings(p: Palimpsest, session: MakeSession) -> None:
    await p.compact_messages(session(20), session_id="s", target=0.4, force=True)
    assert not (await p.verify()).findings


async def test_counts_that_are_not_true_are_damage(p: Palimpsest, session: MakeSession) -> None:
    record = await forged(p, session(20), left_out=0)
    assert record.specifics.left_out
    report = await p.verify()
    assert not report.ok
    damage = [one for one in report.findings if one.severity == "damage"]
    assert len(damage) == 1 and "offload_9001" in damage[0].where and "add up" in damage[0].what


async def test_another_version_of_the_registry_counts_nothing_again(tmp_path: Path, session: MakeSession) -> None:
    class Newer(DefaultRegistry):
        def __init__(self) -> None:
            super().__init__()
            self.version = "999"

        def spans(self, text: str) -> list[Span]:
            return []

    async with Palimpsest.open(tmp_path / "home") as p:
        await forged(p, session(20), left_out=0)
        newer = Palimpsest(replace(p.deps, registry=Newer()), p.settings)
        assert (await newer.verify()).ok


async def test_masks_of_other_rules_are_a_note(p: Palimpsest, session: MakeSession) -> None:
    record = await forged(p, session(20))
    false = msgspec.structs.replace(record, batch_id="offload_9002", redaction={"email": 3})
    await p.deps.store.archive.append(SessionKey("s"), [false])
    report = await p.verify()
    assert report.ok
    assert any("masked by other rules" in one.what for one in report.findings)
