"""An older client, or one that may run no module: it summarises by itself, and still nothing is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from . import material
from .driver import Client, Run
from .fake_messages import Request, all_faults, say
from .long_sessions import archived, damage, reading, results_of, working_day

pytestmark = pytest.mark.long

HOOK_CONTEXT_CHARS = 10_000


def without_module(client: Client) -> Client:
    assert client.plugin is not None
    path = client.plugin / "hooks" / "hooks.json"
    hooks = json.loads(path.read_text("utf-8"))
    del hooks["modules"]
    path.write_text(json.dumps(hooks), "utf-8")
    return client


@dataclass(frozen=True)
class Day:
    client: Client
    run: Run
    summary: Request
    after: Request
    """The first request behind the client's summary."""


@pytest.fixture(scope="module")
def day(users: Callable[[str], Client]) -> Day:
    client = without_module(users("older"))
    turns = working_day(client, reading(client, 50), say("end", used=None), say("the second end", used=None))
    with client.talking(turns=turns) as talk:
        talk.say("go through the files")
        talk.say("and now?")
    run = talk.ended()
    (at,) = [number for number, request in enumerate(run.requests) if request.is_summary]
    return Day(client, run, run.requests[at], run.requests[at + 1])


def test_the_client_summarises_once_and_the_session_comes_to_its_end(day: Day) -> None:
    assert day.run.said == "the second end" and len(day.run.boundaries()) == 1
    assert "THE CLIENT'S OWN SUMMARY" in day.after.text
    assert not all_faults(day.run.requests)


def test_the_summary_is_told_in_plain_text_what_to_keep(day: Day) -> None:
    told = day.summary.last_user.partition("Additional Instructions:")[2]
    assert "word for word" in told and "restore_batch" in told
    values = [material.mark(number, line) for number in range(60) for line in range(200)]
    assert sum(value in told for value in values) > 0, "no specific of the session is named"
    assert "{" not in told.partition("REMINDER")[0], "JSON would stand in the prompt as text"


def test_the_next_request_says_what_can_be_restored_within_the_clients_limit(day: Day) -> None:
    lines = [
        block["text"] for block in day.after.blocks if block["type"] == "text" and "restore_batch" in block["text"]
    ]
    said = next(text for text in lines if "offload_0001" in text or "list_offloaded" in text)
    assert "Full output saved to" not in said
    context = said[said.index("Palimpsest keeps the originals") :]
    assert len(re.split(r"\n\n", context)[0]) < HOOK_CONTEXT_CHARS


def test_the_archive_has_the_exact_bytes_of_everything_that_left(day: Day) -> None:
    results = results_of(day.run.requests[: day.after.number], day.after)
    left = set(results.originals) - set(day.after.results)
    long = {one for one in left if len(results.originals[one]) > material.SIZE_CHARS // 2}
    assert len(long) > 15
    kept = archived(day.client, day.run.session_id)
    for call_id in long:
        assert kept[call_id].decode() == results.originals[call_id]


def test_what_the_summary_lost_is_named_to_the_model(day: Day) -> None:
    """By the next UserPromptSubmit or PostToolUse; the fake summary holds no specific at all."""
    last = day.run.requests[-1]
    new = last.text[len(day.after.text) - HOOK_CONTEXT_CHARS :]
    assert re.search(r"(?i)lost|does not hold|no longer", new) and "restore_batch" in new


def test_the_store_verifies(day: Day) -> None:
    assert not damage(day.client)
