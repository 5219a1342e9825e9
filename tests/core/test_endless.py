"""A session that never ends: passes go on, digests go up a level (L16), and everything promised still holds."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.digest.notation import expanded

from .conftest import results

pytestmark = pytest.mark.anyio

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "torture"
ROUNDS, WINDOW = (35, 48_000) if LONG else (14, 24_000)
"""In the smaller window digests go up a level within half as many rounds."""
A_ROUND = 6
LINES = 110
TARGET = 0.55
NEAR = 0.02
"""Digests of the second level are made of whole ones: once in many rounds the last of them may not fit."""
Messages = list[dict[str, Any]]
_TICKET = re.compile(r"AX-\d{5}")
_VALUE = re.compile(r"[A-Z]{2}-\d{5}|/srv/\S+|\d+\.\d+ ms")


def turns(first: int, count: int) -> Messages:
    """Calls with results of some 4,000 tokens; each names some values that earlier ones named too."""
    messages: Messages = []
    for n in range(first, first + count):
        call = f"toolu_{n:05d}"
        messages.append(
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"./probe --turn {n}"}}
                ],
            }
        )
        lines = [f"turn {n} of the probe, {6 + n % 5} shards"]
        lines += [
            f"shard AX-{10_000 + n * 20 + k} wrote /srv/out/{n:04d}/part-{k:02d}.bin in {n}.{k} ms" for k in range(20)
        ]
        lines += [f"again AX-{10_000 + (n * 7 + k) % (20 * max(1, n))} from turn {n - 1}" for k in range(6)]
        messages.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": "\n".join(lines)}]}
        )
    return messages


@pytest.mark.long
async def test_many_rounds_stay_under_the_target_lose_nothing_and_invent_nothing(p: Palimpsest) -> None:
    whole: Messages = [{"role": "user", "content": "Watch the probe until it fails."}]
    context: Messages = list(whole)
    passes = lifted_in = missed = 0
    for round_ in range(ROUNDS):
        new = turns(A_ROUND * round_, A_ROUND)
        whole += [*new, {"role": "user", "content": f"And round {round_}?"}]
        before = results(context)
        done = await p.compact_messages(
            [*context, *whole[len(context) :]], session_id="endless", window_tokens=WINDOW, target=TARGET, force=True
        )
        context = done.messages
        ratio = done.report.after.ratio
        assert ratio is not None and ratio <= TARGET + NEAR, (round_, done.report.reason)
        missed += ratio > TARGET
        assert (ratio > TARGET) == (done.report.status == "target_not_reached"), "a miss is told, and nothing else is"
        passes += bool(done.report.batches)
        after, originals = results(context), results(whole)
        rewritten = {call for call, text in before.items() if after[call] != text != originals[call]}
        rows = [row for row in await p.list_offloaded("endless") if row.state == "replaced"]
        raised = {item for row in rows if row.level > 1 for item in row.item_ids}
        assert rewritten <= raised, "a digest keeps its bytes at its level"
        lifted_in += bool(rewritten)
        for row in rows:
            counts = row.specifics
            assert counts.shown + counts.elsewhere + counts.left_out == counts.total
    assert passes >= ROUNDS - 5 and lifted_in >= 3 and missed <= 1
    texts = results(whole)
    known = set(_VALUE.findall("\n".join(texts.values())))
    for call, text in results(context).items():
        shown = [line for line in expanded(text).split("\n") if not line.startswith("[")]
        assert set(_VALUE.findall("\n".join(shown))) <= known, call
    view = {ticket for text in results(context).values() for ticket in _TICKET.findall(expanded(text))}
    for row in await p.list_offloaded("endless"):
        if row.state == "replaced":
            own = [_TICKET.findall(texts[name]) for name in row.item_ids]
            missing = sum(len(set(tickets) - view) for tickets in own)
            left_out = row.specifics.by_class["issue"].left_out
            assert missing <= left_out, "what is said to stand elsewhere stands there"
        for one in await p.restore_batch("endless", row.batch_id):
            assert one.text == texts[one.item_id.partition("#")[0]]
    assert await p.expand_messages(context, session_id="endless") == whole
    assert not (await p.verify("endless")).findings
