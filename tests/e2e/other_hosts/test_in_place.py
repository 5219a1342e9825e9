"""opencode and Pi as they are: long sessions stay below the trigger, and everything that left them comes back."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from palimpsest_mcp import Palimpsest

from ...conftest import first_of
from ..claude_code.fake_messages import Reply, Request, Turn, all_faults, call, say
from .driver import STEPS, WINDOW, User, output, tokens_of

IN_PI = pytest.mark.parametrize("user", first_of(["pi", "opencode"]), indirect=True)
"""What our server does, whoever asks it: a start of opencode costs three of Pi."""


def reads(user: User, name: str = "log", steps: int = STEPS) -> list[Turn]:
    more = {"description": "reads a log"} if user.host == "opencode" else {}
    return [call(user.tool, None, command=f"cat {name}{n}.txt", **more) for n in range(steps)]


def digests(request: Request) -> dict[str, str]:
    return {name: text for name, text in request.results.items() if "restore_batch" in text}


def originals(user: User, handle: str) -> dict[str, str]:
    """What left a session, by batch, from its archive."""

    async def read() -> dict[str, str]:
        async with Palimpsest.open(user.store) as palimpsest:
            batches = await palimpsest.list_offloaded(handle)
            wholes = {
                one.batch_id: await palimpsest.restore_batch(handle, one.batch_id, noted=False) for one in batches
            }
        return {batch: "".join(item.text for item in items) for batch, items in wholes.items()}

    return asyncio.run(read())


def only_session(user: User) -> str:
    """Its handle."""
    (session,) = json.loads(user.ours("--json", "sessions"))["sessions"]
    return session["handle"]


def answers(request: Request) -> list[list[dict[str, Any]]]:
    """What the model said, without marks of the cache, which move on."""
    said = [one["content"] for one in request.messages if one["role"] == "assistant"]
    return [[{key: part[key] for key in part if key != "cache_control"} for part in parts] for parts in said]


@pytest.fixture(scope="module")
def long_session(user: User) -> list[Request]:
    """What the model was asked while it read all logs."""
    user.api.play(*reads(user), say("all read", None))
    assert "all read" in user.run("read all logs")
    return list(user.requests())


@IN_PI
def test_a_long_session_shrinks_again_and_again_and_nothing_is_lost(user: User, long_session: list[Request]) -> None:
    requests = long_session
    assert len(requests) == STEPS + 1
    assert not all_faults(requests)
    assert all(tokens_of(one.body) < 0.9 * WINDOW for one in requests)
    assert len(requests[-1].results) == STEPS
    assert digests(requests[-1])
    assert not digests(requests[3])
    for before, after in zip(requests, requests[1:], strict=False):
        if set(digests(before)) == set(digests(after)):  # no pass between them: what is cached stays cached
            assert answers(after)[: len(answers(before))] == answers(before)
            assert {**after.results, **before.results} == after.results
    handle = only_session(user)
    batches = [name for name, text in originals(user, handle).items() if output(0) in text]
    assert output(0) in user.ours("restore", handle, batches[0])


@IN_PI
def test_a_session_that_is_taken_up_again_says_the_same_bytes(user: User, long_session: list[Request]) -> None:
    last = long_session[-1]
    handle = only_session(user)
    known = originals(user, handle)
    user.api.play(say("gone on", None))
    user.run("go on", goes_on=True)
    (first,) = user.requests()
    assert digests(last) and digests(last).keys() <= first.results.keys()
    assert not all_faults([first])
    # What was said since may bring the list to the trigger: then a pass ran, and its batches are new.
    same = {**first.results, **digests(last)} == first.results
    assert same or originals(user, handle).keys() - known.keys()


@pytest.mark.long
@IN_PI
def test_a_server_that_is_killed_costs_one_request_and_the_session_goes_on(user: User) -> None:
    killed: list[int] = []
    again = reads(user)[0]
    assert isinstance(again, Reply)

    def kill(_: Request) -> Reply:
        killed.append(user.kill_servers())
        return call(
            user.tool, None, command="cat log0.txt", **({"description": "x"} if user.host == "opencode" else {})
        )

    turns = reads(user, steps=10)
    user.api.play(*turns[:8], kill, *turns[8:], say("all read", None))
    assert "all read" in user.run("read all logs once more")
    assert killed[0] >= 1
    requests = user.requests()
    assert not all_faults(requests)
    assert digests(requests[-1])


@IN_PI
def test_two_sessions_do_not_know_of_each_other(user: User) -> None:
    user.api.play(*reads(user, "other", steps=9), say("all read", None))
    user.run("read the other logs")
    texts = "".join(digests(user.requests()[-1]).values())
    assert "other-req" in texts
    assert " req-" not in texts


@IN_PI
def test_a_result_above_the_users_floor_is_a_digest_when_the_model_first_sees_it(user: User) -> None:
    careful = replace(user, at_birth_tokens=2_000)
    careful.api.play(*reads(careful, steps=1), say("read", None))
    careful.run("read one log")
    request = careful.requests()[-1]
    assert len(request.results) == 1
    assert digests(request) == request.results


@IN_PI
def test_after_removal_the_host_is_as_it_was(user: User) -> None:
    user.ours("install", user.host, "--remove")
    user.api.play(*reads(user, steps=9), say("all read", None))
    user.run("read some logs")
    last = user.requests()[-1]
    assert not digests(last)
    assert not any("restore_batch" in tool["name"] for tool in last.body["tools"])
    assert last.results
    assert not list(user.home.rglob("palimpsest.js"))
