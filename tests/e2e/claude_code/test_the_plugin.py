"""The plugin as it is given away: valid, installed from the marketplace file, cheap."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest_mcp.server.lifespan import count_o200k

from .driver import CHECKOUT, OUR_TOOLS, PLUGIN, Client, Run
from .fake_messages import say

STANDING_TOKENS = 450
"""What the plugin may cost in every prompt, its names, instructions and skill together."""


def test_the_plugin_passes_the_checks_of_the_plugin_directory(client: Client, tmp_path: Path) -> None:
    mine = shutil.copytree(PLUGIN, tmp_path / "plugin")
    done = client.offline("plugin", "validate", "--strict", "--profile", "directory", str(mine))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_marketplace_file_passes_its_checks(client: Client) -> None:
    done = client.offline("plugin", "validate", "--strict", str(CHECKOUT))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
def test_the_plugin_installs_from_the_marketplace_file_and_works(client: Client) -> None:
    client.plugin = None
    for arguments in (("marketplace", "add", str(CHECKOUT)), ("install", "palimpsest@palimpsest")):
        done = client.offline("plugin", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    assert f"{OUR_TOOLS}__restore_batch" in _second_prompt(client).requests[-1].text


@pytest.mark.long
def test_the_skill_is_called_by_its_own_name(client: Client) -> None:
    run = client.run("/palimpsest", turns=[say("done")])
    assert "restore_batch" in run.requests[-1].text and "what stands where" in run.requests[-1].text


@pytest.mark.long
def test_the_plugin_costs_few_tokens_in_every_prompt(users: Callable[[str], Client]) -> None:
    # The client names its folders in the prompt, under names that differ in tokens from run to run.
    without, full = users("without"), users("plugged")
    without.plugin = None
    before, after = (re.sub(r"\S*pytest-of-\S*", "HOME", _standing(_second_prompt(user))) for user in (without, full))
    cost = count_o200k(after) - count_o200k(before)
    added = "\n".join(line for line in after.splitlines() if line not in set(before.splitlines()))
    assert f"{OUR_TOOLS}__restore_batch" in added
    assert cost <= STANDING_TOKENS, f"{cost} tokens:\n{added}"


def _second_prompt(user: Client) -> Run:
    """All that is announced late, such as tools of a server that was still starting, stands in the second request."""
    with user.talking(turns=[say("first"), say("second")]) as talk:
        talk.say("one")
        talk.say("two")
    return talk.ended()


def _standing(run: Run) -> str:
    """System prompt, tools and conversation, a line for each of their lines."""
    request = run.requests[-1]
    return "\n".join((request.system, json.dumps(request.body.get("tools"), indent=0), request.text))
