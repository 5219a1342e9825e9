"""A session of thirty calls is compacted inside the running client, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from .driver import Client, Run
from .fake_messages import all_faults, say
from .long_sessions import (
    NAMED_BATCH,
    Results,
    after_compaction,
    archived,
    reading,
    restore_first,
    results_of,
    working_day,
)

CALLS = 30
NEWEST = 3
"""Results that no policy takes."""


@dataclass(frozen=True)
class Day:
    client: Client
    run: Run
    resumed: Run
    results: Results


@pytest.fixture(scope="module")
def day(users: Callable[[str], Client]) -> Day:
    client = users("day")
    ending = [restore_first, reading(client, 50), say("end", used=None)]
    run = client.run("go through the files", turns=working_day(client, *ending))
    resumed = client.run("go on", "--resume", run.session_id, turns=[say("again", used=None)])
    return Day(client, run, resumed, results_of(run.requests, run.requests[-1]))


def test_the_session_made_thirty_calls_and_came_to_its_end(day: Day) -> None:
    assert day.run.said == "end" and day.run.returncode == 0
    assert len(day.results.originals) >= CALLS


def test_the_client_compacted_by_itself_and_asked_no_model_for_a_summary(day: Day) -> None:
    (boundary,) = day.run.boundaries()
    assert boundary["trigger"] == "auto"
    assert not [request for request in day.run.requests if request.is_summary]


def test_old_results_stand_as_digests_that_name_their_batch(day: Day) -> None:
    assert len(day.results.digested) > CALLS // 3
    kept = archived(day.client, day.run.session_id)
    for call_id, text in day.results.digested.items():
        assert len(text) < len(day.results.originals[call_id]) and call_id in kept
    batches = {found[2] for text in day.results.digested.values() for found in NAMED_BATCH.finditer(text)}
    listed = json.loads(day.client.palimpsest("list", day.run.session_id, "--json").stdout)
    assert batches == {one["batch_id"] for one in listed["batches"]}, "the first part of each batch names it"
    assert day.results.saved_chars > sum(map(len, day.results.originals.values())) // 3


def test_the_newest_results_stand_whole(day: Day) -> None:
    request = after_compaction(day.run)
    newest = list(request.results)[-NEWEST:]
    assert not set(newest) & set(day.results.digested)


def test_every_call_is_paired_in_every_request(day: Day) -> None:
    assert not all_faults([*day.run.requests, *day.resumed.requests])


def test_the_request_after_it_says_what_can_be_restored(day: Day) -> None:
    """SessionStart(compact): in no result, but in a message of the client's."""
    request = after_compaction(day.run)
    results = "\n".join(request.results.values())
    said = [text for text in request.text.split("\n") if "offload_0001" in text and text not in results]
    assert said


def test_a_restore_call_brings_back_the_exact_text(day: Day) -> None:
    (call_id,) = [
        block["id"]
        for message in day.run.requests[-1].messages
        if message["role"] == "assistant"
        for block in message["content"]
        if block.get("name", "").endswith("__restore_batch")
    ]
    answer = day.results.originals[call_id]
    assert any(original in answer for original in day.results.originals.values() if original != answer)


def test_the_archive_has_the_exact_bytes_of_everything_that_was_replaced(day: Day) -> None:
    kept = archived(day.client, day.run.session_id)
    for call_id in day.results.digested:
        assert kept[call_id].decode() == day.results.originals[call_id]


def test_the_command_line_gives_the_same_bytes(day: Day) -> None:
    listed = json.loads(day.client.palimpsest("list", day.run.session_id, "--json").stdout)
    batch = listed["batches"][0]
    item = batch["item_ids"][0]
    raw = day.client.palimpsest("restore", day.run.session_id, batch["batch_id"], "--item", item, "--raw").stdout
    assert raw.decode() == day.results.originals[item.rpartition("/")[2]]


def test_a_new_process_that_resumes_still_has_the_digests(day: Day) -> None:
    resumed = day.resumed.requests[-1]
    assert day.resumed.session_id == day.run.session_id
    assert resumed.results == day.run.requests[-1].results
    assert not day.resumed.boundaries()


def test_the_store_verifies(day: Day) -> None:
    done = day.client.palimpsest("verify")
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
