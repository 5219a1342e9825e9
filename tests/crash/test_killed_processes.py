"""Every kind of process that writes is killed by SIGKILL, again and again, and a new process looks at what is left.

What was acknowledged is there, `verify` finds no damage, what was interrupted can be asked for again and comes to its
end, and a file that was to be written stands whole or not at all. The kinds, and what each must hold, are in
`victim.py` and beside it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from ..conftest import PROFILE, first_of
from .conftest import LONG, SEED, Tell, bound

pytestmark = [pytest.mark.crash, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]
SCRIPT = Path(__file__).with_name("killer.py")
WRITERS = (
    *("passes", "eight writers, one list", "server", "summary", "handoffs", "experience"),
    "two versions",
)
LIKE_ONE_LIST = "eight writers, own lists"
ONCE = ("rewrite", "migrate", "repair", "purge", "pack", "backup", "import")
"""These get a new store each time."""
KINDS = WRITERS + ONCE
FIRST = ("eight writers, one list", "server", "purge")
"""Eight at once, one behind a pipe; what takes away."""
FOR_A_MINUTE = ("eight writers for a minute, one list", "eight writers for a minute, own lists")
LEAST_ROUNDS = 1 if PROFILE == "ci" else 2
"""The second goes on in what the first has left, but for those that get a new store; `make torture` goes on to its
number."""


@pytest.fixture(scope="module")
def killer(tmp_path_factory: pytest.TempPathFactory) -> Generator[Callable[[str], dict[str, Any]]]:
    """Kills processes of a kind once: what came of it."""
    command = [sys.executable, str(SCRIPT), str(tmp_path_factory.mktemp("killed")), str(SEED)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    reads, writes = process.stdout, process.stdin
    assert reads is not None and writes is not None

    def kill(kind: str) -> dict[str, Any]:
        writes.write(f"{kind}\n")
        writes.flush()
        line = reads.readline()
        assert line, "the process that kills died"
        return json.loads(line)

    yield kill
    writes.close()
    process.wait(60)
    reads.close()


@pytest.mark.parametrize(
    "kind",
    first_of(
        dict.fromkeys((*FIRST, *KINDS, LIKE_ONE_LIST, *(FOR_A_MINUTE if LONG else ()))),
        kept=len(FIRST),
    ),
)
def test_a_killed_process_loses_nothing_that_was_acknowledged(
    kind: str, killer: Callable[[str], dict[str, Any]], tell: Tell
) -> None:
    kills = rounds = ended = acknowledged = 0
    least = sys.maxsize
    more = bound(share=0.1)
    while (rounds < LEAST_ROUNDS and not (kind in ONCE and kills)) or more(kills):
        outcome = killer(kind)
        assert not outcome["wrong"], (f"round {rounds}, seed {SEED}", *outcome["wrong"])
        kills, ended = kills + outcome["kills"], ended + outcome["ended"]
        rounds, acknowledged, least = rounds + 1, acknowledged + outcome["acks"], min(least, outcome["acks"])
        assert least, "a round without an acknowledgement proves nothing"
    assert kills, "nothing was killed"
    counts = {"acknowledgements": acknowledged, "at_least_in_a_round": least}
    tell(f"killed {kind}", kills=kills, **counts, rounds=rounds, ended_before=ended)
