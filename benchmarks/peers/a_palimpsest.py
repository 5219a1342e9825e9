"""Our adapter for the peers' harness, which lends `peerlib`: compress with the library, restore in a fresh process.

Options: target=0.3 (of the session's own size), policy=research.
"""

import asyncio
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import peerlib

SESSION = "peer"


def load():
    from importlib.metadata import version

    from palimpsest_mcp.core.palimpsest import Palimpsest

    return Palimpsest, version("palimpsest-mcp")


def compress(palimpsest, messages, store, opts):
    async def run():
        async with palimpsest.open(store) as p:
            return await p.compact_messages(
                messages,
                session_id=SESSION,
                target=float(opts.get("target", 0.3)),
                policy=opts.get("policy"),
                keep_last=3,
                force=True,
            )

    result = asyncio.run(run())
    report = result.report
    return result.messages, {"status": report.status, "batches": len(report.batches)}


def restore(palimpsest, orig, comp, store, opts):
    """What survives in the compressed list as it was needs no restore; the rest comes from the store."""

    async def run():
        found = dict(plain_results(comp, orig))
        async with palimpsest.open(store) as p:
            for batch in await p.list_offloaded(SESSION):
                for one in await p.restore_batch(SESSION, batch.batch_id):
                    found[call_id(one.item_id)] = one.text
        return found

    return asyncio.run(run())


def plain_results(comp, orig):
    """Results that were left alone: equal to what came in."""
    before = peerlib.tool_results(orig)
    after = peerlib.tool_results(comp)
    return [(key, text) for key, text in after.items() if before.get(key) == text]


def call_id(item_id):
    """An item of a call is named agent, call id, `#n`; the main agent's name is empty."""
    return item_id.rpartition("#")[0] or item_id


peerlib.cli("palimpsest", load, compress, restore)
