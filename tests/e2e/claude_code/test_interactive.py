"""What a person at the terminal sees and gets: the threshold after a turn, the status line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .driver import OUR_TOOLS, Client, wait_for
from .fake_messages import all_faults, say
from .long_sessions import archived, reading, results_of
from .terminal import Terminal

OVER_OUR_THRESHOLD = 150_000
"""Above the policy's trigger, below the client's."""


def test_after_a_turn_over_our_threshold_the_session_is_compacted_and_the_status_line_says_so(
    client: Client, terminal: Callable[..., Terminal]
) -> None:
    line = {"type": "command", "command": "palimpsest-mcp statusline"}
    client.settings(permissions={"allow": ["Bash", "Read", OUR_TOOLS]}, statusLine=line)
    client.api.play(
        reading(client, *range(6)),
        reading(client, *range(6, 12)),
        say("THE FIRST ANSWER", used=OVER_OUR_THRESHOLD),
        say("THE SECOND ANSWER", used=30_000),
    )
    screen = terminal(client)
    screen.ask("go through the files", "THE FIRST ANSWER")
    session_id = client.api.requests[-1].session_id
    wait_for(
        lambda: any(row.get("subtype") == "compact_boundary" for row in client.rows(session_id)),
        "the session was not compacted after the turn",
    )
    screen.ask("and now", "THE SECOND ANSWER")
    screen.wait(r"1[67]% of 180k, auto-compact at 167k.* batch(es)? offloaded, \d.* saved")
    screen.leave()
    last = client.api.requests[-1]
    results = results_of(client.api.requests, last)
    assert results.digested and not client.api.summaries and not all_faults(client.api.requests)
    kept = archived(client, session_id)
    for call_id in results.digested:
        assert kept[call_id].decode() == results.originals[call_id]


@pytest.mark.long
def test_compact_by_hand_goes_through_the_module(client: Client, terminal: Callable[..., Terminal]) -> None:
    client.settings(permissions={"allow": ["Bash", "Read", OUR_TOOLS]})
    client.api.play(
        reading(client, *range(6)), say("THE FIRST ANSWER", used=60_000), say("THE SECOND ANSWER", used=30_000)
    )
    screen = terminal(client)
    screen.ask("go through the files", "THE FIRST ANSWER")
    screen.type("/compact")
    session_id = client.api.requests[-1].session_id
    wait_for(
        lambda: any(row.get("subtype") == "compact_boundary" for row in client.rows(session_id)),
        "the session was not compacted",
    )
    screen.ask("and now", "THE SECOND ANSWER")
    screen.leave()
    assert results_of(client.api.requests, client.api.requests[-1]).digested
    assert not client.api.summaries and not all_faults(client.api.requests)
