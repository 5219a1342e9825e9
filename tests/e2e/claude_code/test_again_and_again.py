"""A session that is compacted several times, resumed and forked: digests are never taken for originals."""

from __future__ import annotations

import pytest

from .driver import OVER_TRIGGER, Client
from .fake_messages import all_faults, calls, say
from .long_sessions import archived, damage, reading, results_of


@pytest.mark.long
def test_after_several_compactions_and_in_a_fork_every_original_still_comes_back(client: Client) -> None:
    over = calls(("Bash", {"command": "echo on"}), used=OVER_TRIGGER)
    turns = [reading(client, *range(5)), over, reading(client, *range(5, 10)), over, say("end")]
    first = client.run("go", turns=turns)
    assert len(first.boundaries()) == 2
    turns = [reading(client, *range(10, 15)), over, say("end")]
    fork = client.run("on", "--resume", first.session_id, "--fork-session", turns=turns)
    assert fork.session_id != first.session_id and len(fork.boundaries()) == 1
    requests = [*first.requests, *fork.requests]
    assert not all_faults(requests) and not [request for request in requests if request.is_summary]

    results = results_of(requests, requests[-1])
    kept = archived(client, fork.session_id)
    assert len(results.digested) > 10
    for call_id in results.digested:
        assert kept[call_id].decode() == results.originals[call_id]
    assert not damage(client)
