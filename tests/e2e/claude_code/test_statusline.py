"""The status line in the interactive client."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from .driver import Client
from .fake_messages import bash, say
from .terminal import Terminal

pytestmark = pytest.mark.long


def test_it_stands_under_the_prompt_and_follows_the_session(client: Client, terminal: Callable[..., Terminal]) -> None:
    client.plugin = None
    client.environment["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "200000"
    assert client.palimpsest("install", "claude-code").returncode == 0
    client.api.play(bash("echo one"), say("an answer", used=83_470))
    screen = terminal(client)
    screen.ask("hello there", "an answer")
    shown = screen.wait(r"context 46% of 180k, auto-compact at 167k")
    assert re.search("context 46%", shown)
    screen.leave()
