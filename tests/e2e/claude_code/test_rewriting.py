"""`rewrite` and `--resume` with the real client: digests in the request, and no compaction of the client's own."""

from __future__ import annotations

import json

import pytest

from .driver import OVER_TRIGGER, Client
from .fake_messages import Reply, all_faults, bash, call, calls, say
from .long_sessions import archived


@pytest.mark.long
def test_continue_and_resume_pick_a_rewritten_session_up_with_digests_and_nothing_is_compacted(client: Client) -> None:
    client.plugin = None
    noise = "for i in $(seq 1 120); do echo row $i of {0} took $((i*7)) ms; done"
    turns: list[Reply] = [
        *(bash(noise.format(n)) for n in range(4)),
        calls(*(("Bash", {"command": noise.format(n), "description": "d"}) for n in (4, 5))),
        *(bash(noise.format(n)) for n in (6, 7)),
        bash(noise.format(8), used=150_000),
        say("end", used=OVER_TRIGGER - 10_000),
    ]
    run = client.run("go", turns=turns)
    assert not any(request.is_summary for request in run.requests)
    whole = run.requests[-1].results
    before = client.transcript(run.session_id).read_bytes()

    done = client.palimpsest("--json", "rewrite", run.session_id)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    new = told["new_session_id"]
    assert client.transcript(run.session_id).read_bytes() == before

    picked_up = client.run("on", "--continue", turns=[say("ok")])
    assert picked_up.session_id == new
    again = client.run("more", "--resume", new, turns=[say("ok"), say("not asked for")])
    assert again.session_id == new
    (request,) = again.requests
    assert not request.is_summary
    assert not all_faults([request])
    shown = request.results
    assert shown.keys() == whole.keys()
    changed = {name for name in whole if shown[name] != whole[name]}
    assert len(changed) == told["digests"] >= 4
    assert all(len(shown[name]) < len(whole[name]) for name in changed)
    assert f"restore_batch {told['handle']} offload_" in request.text

    kept = archived(client, new)
    assert len(kept) == len(changed)
    assert {name: data.decode() for name, data in kept.items()}.items() <= whole.items()


@pytest.mark.long
def test_with_the_plugin_the_new_session_reaches_the_old_ones_batches(client: Client) -> None:
    noise = "for i in $(seq 1 120); do echo row $i of {0} took $((i*7)) ms; done"
    run = client.run("go", turns=[*(bash(noise.format(n)) for n in range(9)), say("end")])
    whole = run.requests[-1].results
    told = json.loads(client.palimpsest("--json", "rewrite", run.session_id).stdout)
    batch = told["batches"][0]
    item = batch["item_ids"][0]
    ask = call("mcp__plugin_palimpsest_server__restore_batch", batch_id=batch["batch_id"], item_id=item)
    again = client.run("more", "--resume", told["new_session_id"], turns=[ask, say("ok")])
    assert not any(request.is_summary for request in again.requests)
    assert not all_faults(again.requests)
    restored = list(again.requests[-1].results.values())[-1]
    assert whole[item] in restored
