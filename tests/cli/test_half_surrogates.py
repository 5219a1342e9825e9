"""Half a surrogate pair, which hosts written in JavaScript leave where they cut a text: in ids, arguments and results.

It breaks no command, and every original comes back byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import conversation, quietly

Program = Callable[..., Any]
Messages = list[dict[str, Any]]
HIGH, LOW = "\ud83d", "\udc80"


def halved(messages: Messages) -> Messages:
    """The same session with halves in call ids, arguments, results and words."""
    for message in messages:
        if isinstance(message["content"], str):
            message["content"] += f" {HIGH} please"
            continue
        for block in message["content"]:
            if block["type"] == "text":
                block["text"] += HIGH
            elif block["type"] == "tool_use":
                block["id"] += HIGH
                block["input"][f"k{LOW}"] = f"/a/{HIGH}.py"
            else:
                block["tool_use_id"] += HIGH
                block["content"] = f"half {LOW} of\n/var/{HIGH}/x.bin 12{HIGH}34 key{LOW}=77 ms\n{block['content']}"
    return messages


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("halves") / "halves.json"
    path.write_text(json.dumps({"id": f"chat {LOW}", "messages": halved(conversation())}), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def kept(file: Path) -> tuple[Path, str]:
    """The store, and the session's handle in it."""
    home = file.parent / "home"
    ran = quietly(home, "compact", file, "--force", "--target", "0.4", "--json")
    assert ran.status == 0 and ran.json["batches"], ran.err
    return home, ran.json["handle"]


@pytest.fixture
def home(kept: tuple[Path, str]) -> Path:
    """All tests here use the one store."""
    return kept[0]


@pytest.fixture
def handle(kept: tuple[Path, str]) -> str:
    return kept[1]


def test_the_session_comes_back_as_a_whole(program: Program, handle: str, file: Path, tmp_path: Path) -> None:
    ran = program("restore", handle, "--all", "--out", tmp_path / "back.json")
    assert ran.status == 0 and ran.text.startswith("34 messages written")
    assert json.loads((tmp_path / "back.json").read_bytes()) == json.loads(file.read_bytes())


def test_the_compacted_file_is_read_back_and_holds_the_same_halves(
    program: Program, file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "shorter.json"
    assert program("compact", file, "--force", "--target", "0.4", "--out", out).status == 0
    value = json.loads(out.read_bytes())
    assert value["id"] == f"chat {LOW}" and value["messages"][0]["content"].endswith(f" {HIGH} please")
    calls: list[str] = [
        block["id"]
        for message in value["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_use"
    ]
    assert len(calls) == 16 and all(call.endswith(HIGH) for call in calls)
    assert program("compact", out, "--session", "s2", "--force", "--target", "0.4").status == 0


def test_every_original_comes_back_byte_for_byte_by_its_own_call_id_too(
    program: Program, handle: str, file: Path
) -> None:
    given = {
        block["tool_use_id"]: block["content"]
        for message in json.loads(file.read_bytes())["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    }
    checked = 0
    for record in program("list", handle, "--json", "--full").json["batches"]:
        restored = program("restore", handle, record["batch_id"], "--json").json["items"]
        for item, one in zip(record["items"], restored, strict=True):
            assert one["content"] == given[item["call_id"]]
            for name in (item["id"], item["call_id"]):
                raw = program("restore", handle, record["batch_id"], "--item", name, "--raw").out
                assert raw == given[item["call_id"]].encode("utf-8", "surrogatepass")
            checked += 1
    assert checked >= 10


COMMANDS = """
list {s} · list {s} --json · list {s} --json --full · show {s} · show {s} --json · search half · search imported --json
search \udc80 · restore {s} offload_0001 · summary {s} · summary {s} --full --json · probe {s} · handoff load
handoff write --session {s} --task move\ud83d · handoff list --json · status · status --json · pin {s} toolu_15\ud83d
verify · verify {s} --json
"""


@pytest.mark.parametrize("command", COMMANDS.strip().replace("\n", " · ").split(" · "))
def test_no_command_minds(program: Program, handle: str, command: str) -> None:
    if command == "handoff load":
        assert program("handoff", "write", "--session", handle, "--task", f"move {HIGH}").status == 0
    ran = program(*command.format(s=handle).split(" "))
    assert ran.status == 0, ran.err
    assert ran.text if "--json" not in command else ran.json is not None


def test_a_batch_on_the_screen_says_once_that_characters_are_not_shown(program: Program, handle: str) -> None:
    ran = program("restore", handle, "offload_0001")
    assert ran.err.count("are not shown") == 1 and "\ufffd" in ran.text


def test_specifics_of_bytes_that_are_no_text_are_found(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(b"x \xed\xa0\xbd took 12 ms\n")
    ran = program("specifics", path)
    assert ran.status == 0 and "12 ms" in ran.text
