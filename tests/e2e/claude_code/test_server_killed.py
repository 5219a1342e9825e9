"""The server is killed before, during and after a compaction: the session goes on, and what was archived stays."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from threading import Thread

import pytest

from .driver import OUR_TOOLS, OVER_TRIGGER, Client, Run, wait_for
from .fake_messages import Reply, Request, Turn, all_faults, calls, say
from .long_sessions import archived, damage, reading, restore_first, results_of


def kill_servers(client: Client) -> None:
    servers = client.servers()
    assert servers, "no server runs"
    for process in servers:
        os.kill(process, signal.SIGKILL)
    wait_for(lambda: not set(servers) & set(client.servers()), "the server did not die")


def sound(client: Client, run: Run) -> None:
    """Whatever happened: the session came to its end, is well formed, and its store is whole."""
    assert run.said == "end" and not all_faults(run.requests)
    assert not damage(client)
    results = results_of(run.requests, run.requests[-1])
    kept = archived(client, run.session_id) if results.digested else {}
    for call_id in results.digested:
        assert kept[call_id].decode() == results.originals[call_id]


def full(client: Client) -> list[Turn]:
    return [reading(client, *range(3)), reading(client, *range(3, 6))]


@pytest.mark.long
def test_killed_before_a_compaction_the_client_compacts_and_goes_on(client: Client) -> None:
    def kill_and_go_on(_: Request) -> Reply:
        kill_servers(client)
        return calls(("Bash", {"command": "echo on"}), used=OVER_TRIGGER)

    run = client.run("go", turns=[*full(client), kill_and_go_on, say("end")])
    sound(client, run)
    again = client.run("more", "--resume", run.session_id, turns=[restore_any, say("end")])
    sound(client, again)


def restore_any(_: Request) -> Reply:
    return calls((f"{OUR_TOOLS}__list_offloaded", {"session_id": "this"}))


@pytest.mark.long
def test_killed_during_a_compaction_the_conversation_is_the_old_or_the_new_one(client: Client, tmp_path: Path) -> None:
    log = tmp_path / "debug.txt"

    def kill_in_the_middle() -> None:
        wait_for(lambda: log.exists() and b"$.mcp.call (palimpsest)" in log.read_bytes(), "no call of the module", 60)
        kill_servers(client)

    killer = Thread(target=kill_in_the_middle)
    killer.start()
    turns = [*full(client), calls(("Bash", {"command": "echo on"}), used=OVER_TRIGGER), say("end")]
    run = client.run("go", "--debug-file", str(log), turns=turns)
    killer.join()
    sound(client, run)
    again = client.run("more", "--resume", run.session_id, turns=[say("end")])
    sound(client, again)
    assert again.requests[-1].results == run.requests[-1].results


@pytest.mark.long
def test_killed_after_a_compaction_the_digests_stay_and_a_new_process_restores(client: Client) -> None:
    def kill_and_restore(request: Request) -> Reply:
        kill_servers(client)
        return restore_first(request)

    turns = [*full(client), calls(("Bash", {"command": "echo on"}), used=OVER_TRIGGER), kill_and_restore, say("end")]
    run = client.run("go", turns=turns)
    sound(client, run)
    results = results_of(run.requests, run.requests[-1])
    assert results.digested
    again = client.run("more", "--resume", run.session_id, turns=[restore_first, say("end")])
    sound(client, again)
    answer = list(again.requests[-1].results.values())[-1]
    assert any(results.originals[one] in answer for one in results.digested)


@pytest.mark.long
@pytest.mark.parametrize("when", ["after", "before"])
def test_a_hook_of_a_dead_server_stops_no_prompt(client: Client, when: str) -> None:
    with client.talking(turns=[say("one"), say("end")]) as talk:
        if when == "before":
            wait_for(client.servers, "no server")
            kill_servers(client)
        talk.say("first")
        if when == "after":
            kill_servers(client)
        talk.say("second")
    assert talk.ended().said == "end"
