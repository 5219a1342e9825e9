"""The real server process on a pipe."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from palimpsest_mcp.server.server import let_answers_through, run_interruptible

from ..conftest import first_of
from .conftest import begin

SILENT_S = 60.0
"""A server that has not answered by then never will."""
ENDS_S = 30.0
"""A server that lives on so long after an interrupt does not end by it."""
COMMAND = [sys.executable, "-m", "palimpsest_mcp"]


def message(number: int, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


HELLO = message(
    1,
    "initialize",
    protocolVersion="2025-11-25",
    capabilities={},
    clientInfo={"name": "raw", "version": "0"},
) + json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n"  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize("mode", first_of(["2026-07-28", "legacy"]))
async def test_a_session_through_a_pipe(tmp_path: Path, mode: str) -> None:
    parameters = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], "serve", "--home", str(tmp_path / "home")], env=dict(os.environ)
    )
    async with Client(parameters, mode=mode) as client:
        items = [{"role": "tool", "tool_use_id": f"c{n}", "content": f"row {n} " * 2_000} for n in range(8)]
        recorded = await client.call_tool("record_items", {"session_id": "new", "items": items})
        assert recorded.structured_content is not None
        handle = recorded.structured_content["session"]
        arguments = {"session_id": handle, "force": True, "target": 0.3, "window_tokens": 100_000}
        report = (await client.call_tool("compact_session", arguments)).structured_content
        assert report is not None and report["batches"]
        back = await client.call_tool("restore_batch", {"session_id": handle, "batch_id": "offload_0001"})
        assert isinstance(back.content[0], TextContent) and "row 0 row 0" in back.content[0].text
    assert (tmp_path / "home" / "VERSION").exists()


def exchange(home: Path, *lines: str, log_level: str = "") -> tuple[list[dict[str, Any]], str]:
    """Answers on stdout, and what went to stderr."""
    environment = {**os.environ, "PALIMPSEST_HOME": str(home), "PALIMPSEST_LOG_LEVEL": log_level or "warning"}
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    ) as running:
        assert running.stdin is not None and running.stdout is not None and running.stderr is not None
        silent = threading.Timer(SILENT_S, running.kill)
        silent.start()
        answers: list[dict[str, Any]] = []
        for line in lines:
            running.stdin.write(line)
            running.stdin.flush()
            answers.append(json.loads(running.stdout.readline() or '"no answer"'))
        running.stdin.close()
        rest, stderr = running.stdout.read(), running.stderr.read()
        silent.cancel()
        assert rest == "" and running.wait(60) == 0
    return answers, stderr


class Pipe:
    """A server that many tests talk with, one after the other, as one client would."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._running = subprocess.Popen(
            COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=at(home), text=True
        )
        (self._hello,) = self._answers(HELLO)

    def _answers(self, *lines: str) -> Iterator[dict[str, Any]]:
        running = self._running
        assert running.stdin is not None and running.stdout is not None
        for line in lines:
            silent = threading.Timer(SILENT_S, running.kill)
            silent.start()
            running.stdin.write(line)
            running.stdin.flush()
            yield json.loads(running.stdout.readline() or '"no answer"')
            silent.cancel()

    def ask(self, *lines: str) -> list[dict[str, Any]]:
        """The answer to the greeting, and one to each line."""
        return [self._hello, *self._answers(*lines)]

    def end(self) -> None:
        """It has said nothing else on either stream, and ends well."""
        with self._running as running:
            assert running.stdin is not None and running.stdout is not None and running.stderr is not None
            silent = threading.Timer(SILENT_S, running.kill)
            silent.start()
            running.stdin.close()
            rest = running.stdout.read(), running.stderr.read()
            silent.cancel()
        assert rest == ("", "") and running.returncode == 0


@pytest.fixture(scope="module")
def pipe(tmp_path_factory: pytest.TempPathFactory) -> Generator[Pipe]:
    one = Pipe(tmp_path_factory.mktemp("pipe"))
    yield one
    one.end()


def test_nothing_but_the_protocol_goes_to_stdout_and_nothing_to_stderr(tmp_path: Path) -> None:
    answers, stderr = exchange(
        tmp_path,
        HELLO,
        message(2, "tools/call", name="show_context", arguments={"session_id": "nobody"}),
        message(3, "tools/list"),
    )
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert answers[1]["result"]["isError"] and len(answers[2]["result"]["tools"]) >= 7
    assert stderr == ""


@pytest.mark.long
def test_whoever_asks_for_a_log_gets_json_lines_that_quote_nothing(tmp_path: Path) -> None:
    _, stderr = exchange(
        tmp_path,
        HELLO,
        message(2, "tools/call", name="show_context", arguments={"session_id": "quoted-by-nobody"}),
        message(3, "resources/read", uri="palimpsest://handoffs/quoted-by-nobody"),
        log_level="debug",
    )
    assert [json.loads(line)["what"] for line in stderr.splitlines()], stderr
    assert "quoted-by-nobody" not in stderr


@pytest.mark.long
def test_a_number_that_json_does_not_have_is_refused_on_the_wire(pipe: Pipe) -> None:
    call = message(2, "tools/call", name="compact_session", arguments={"session_id": "s", "target": float("nan")})
    assert "NaN" in call
    answers = pipe.ask(call)
    said = json.dumps(answers[1])
    assert "error" in said.lower() and ("target" in said or "arse" in said)


@pytest.mark.long
def test_half_a_surrogate_pair_on_the_wire_is_answered(pipe: Pipe) -> None:
    """A client written in JavaScript sends what it cut as `\\ud83d`; the SDK's parser refuses it without an answer."""
    item = {"role": "user", "content": "cut here \ud83d", "id": "mine \udc80", "args": {"k\udc80": "\ud83d"}}
    call = message(2, "tools/call", name="record_items", arguments={"session_id": "night \ud83d", "items": [item]})
    assert "\\ud83d" in call
    anyio.run(begin, pipe.home, "night \ud83d")
    answers = pipe.ask(
        call,
        message(3, "tools/call", name="show_context", arguments={"session_id": "night \ud83d", "pin": ["mine \udc80"]}),
    )
    assert not answers[1]["result"]["isError"] and answers[1]["result"]["structuredContent"]["recorded"] == 1
    assert not answers[2]["result"]["isError"] and "pinned" in answers[2]["result"]["content"][0]["text"]


@pytest.mark.long
def test_an_answer_that_would_quote_half_a_pair_is_sent_with_a_mark_in_its_place(pipe: Pipe) -> None:
    """The SDK's writer ends the server over it."""
    bad = message(2, "tools/call", name="record_items", arguments={"session_id": "new", "items": [{"x\ud83d": "y"}]})
    answers = pipe.ask(bad, message(3, "tools/list"))
    assert answers[1]["result"]["isError"] and "x\ufffd is not a field" in answers[1]["result"]["content"][0]["text"]
    assert answers[2]["id"] == 3


def test_every_malformed_request_is_answered_and_the_server_lives_on(pipe: Pipe) -> None:
    """`tests/server/test_wire.py` has many more; none may leave a client waiting."""
    deep = '{"method": "tools/call", "params": ' + "[" * 100_000 + "]" * 100_000 + ', "jsonrpc": "2.0", "id": 3}\n'
    answers = pipe.ask(
        "{]\n",
        '{"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": [1]}\n',
        deep,
        '{"jsonrpc": "2.0", "id": 1.5, "method": "tools/list"}\n',
        message(5, "tools/list"),
    )
    assert [(answer["id"], answer.get("error", {}).get("code")) for answer in answers[1:]] == [
        (None, -32700),
        (2, -32602),
        (3, -32700),
        (1.5, -32600),
        (5, None),
    ]


@pytest.mark.long
def test_a_prompt_that_there_is_not_is_answered_by_the_names_of_those_there_are(pipe: Pipe) -> None:
    answers = pipe.ask(
        message(2, "prompts/get", name="nope"),
        message(3, "prompts/get", name="handoff", arguments={"topic": "x"}),
        message(4, "prompts/get", name="handoff", arguments={"task": "x"}),
    )
    assert answers[1]["error"] == {
        "code": -32602,
        "message": "There is no prompt of this name. Use one of handoff, resume, start_phase, what_was_dropped.",
    }
    assert answers[2]["error"]["code"] == -32602 and "'topic'" in answers[2]["error"]["message"]
    assert "task 'x'" in answers[3]["result"]["messages"][0]["content"]["text"]


def interrupted(code: list[str], home: Path, until: str, *, first: str = "") -> tuple[int, str]:
    """Status and standard error of a process that gets SIGINT once it has said a line that begins so."""
    # Whoever runs these tests in the background may have us ignore the signal, and a child would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        code,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PALIMPSEST_HOME": str(home)},
        text=True,
    ) as running:
        assert running.stdin is not None and running.stdout is not None and running.stderr is not None
        running.stdin.write(first)
        running.stdin.flush()
        assert running.stdout.readline().startswith(until)
        running.send_signal(signal.SIGINT)
        silent = threading.Timer(ENDS_S, running.kill)
        silent.start()
        status = running.wait()
        silent.cancel()
        return status, running.stderr.read()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for another process")
def test_an_interrupt_ends_a_server_that_waits_for_its_client(tmp_path: Path) -> None:
    """Its stdin stays open: a read of it cannot be called off."""
    assert interrupted(COMMAND, tmp_path, '{"jsonrpc"', first=HELLO) == (130, "")


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for another process")
@pytest.mark.parametrize("thread", first_of(["asyncio.to_thread", "anyio.to_thread.run_sync"]))
def test_an_interrupt_ends_a_server_in_which_a_pass_works(tmp_path: Path, thread: str) -> None:
    """Passes work in threads, which cannot be called off either; this one would never end."""
    code = f"""
import anyio, asyncio, sys, threading
from palimpsest_mcp.server.server import run_interruptible

def never_ends():
    print("at work", flush=True)
    threading.Event().wait()

async def work():
    async with anyio.create_task_group() as tasks:
        tasks.start_soon({thread}, never_ends)

sys.exit(run_interruptible(work))
"""
    assert interrupted([sys.executable, "-c", code], tmp_path, "at work") == (130, "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for another process")
@pytest.mark.long
def test_an_interrupt_that_does_not_break_the_sleep_of_the_loop_ends_a_server_too(tmp_path: Path) -> None:
    """In the moment before the loop sleeps a signal breaks no sleep. Here it never does: another thread receives it."""
    code = """
import anyio, signal, sys, threading
from palimpsest_mcp.server.server import run_interruptible

async def work():
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # of this thread alone
    print("asleep", flush=True)
    await anyio.sleep_forever()

sys.exit(run_interruptible(work))
"""
    assert interrupted([sys.executable, "-c", code], tmp_path, "asleep") == (130, "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for another process")
@pytest.mark.long
def test_an_interrupt_ends_a_server_whose_client_reads_no_more(tmp_path: Path) -> None:
    asked = HELLO + "".join(message(2 + n, "tools/list") for n in range(40))  # more than a pipe holds
    assert interrupted(COMMAND, tmp_path, '{"jsonrpc"', first=asked) == (130, "")


MANY = 3_000
"""Requests of which neither the answers nor the requests themselves fit into the pipes between."""


@pytest.mark.long
def test_requests_that_come_faster_than_they_are_answered_are_all_answered(tmp_path: Path) -> None:
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=at(tmp_path), text=True
    ) as running:
        stdin, stdout = running.stdin, running.stdout
        assert stdin is not None and stdout is not None
        silent = threading.Timer(SILENT_S, running.kill)
        silent.start()
        asked = HELLO + "".join(message(number, "ping") for number in range(2, MANY))

        def send() -> None:
            with suppress(BrokenPipeError), stdin:
                stdin.write(asked)

        sender = threading.Thread(target=send)
        sender.start()
        answers = [json.loads(stdout.readline() or '{"id": 0}')["id"] for _ in range(1, MANY)]
        silent.cancel()
        sender.join()
        assert sorted(answers) == [*range(1, MANY)]
        assert stdout.read() == "" and running.wait(SILENT_S) == 0


@pytest.mark.long
def test_requests_are_read_from_a_file_too(tmp_path: Path) -> None:
    """No event loop can wait for one."""
    asked = tmp_path / "asked.jsonl"
    asked.write_text(HELLO + "".join(message(number, "ping") for number in range(2, MANY)), "utf-8")
    with asked.open("rb") as stdin:
        done = subprocess.run(COMMAND, stdin=stdin, capture_output=True, timeout=SILENT_S, check=True, env=at(tmp_path))
    first, *_ = map(json.loads, done.stdout.splitlines())
    assert first["id"] == 1 and "result" in first


@pytest.mark.long
def test_a_server_whose_client_reads_no_more_ends_as_at_the_end_of_its_input(tmp_path: Path) -> None:
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=at(tmp_path), text=True
    ) as running:
        assert running.stdin is not None and running.stdout is not None and running.stderr is not None
        running.stdin.write(HELLO)
        running.stdin.flush()
        assert running.stdout.readline()
        running.stdout.close()
        running.stdin.write(message(2, "tools/list"))
        running.stdin.flush()
        assert running.wait(SILENT_S) == 0 and running.stderr.read() == ""


def at(home: Path) -> dict[str, str]:
    return {**os.environ, "PALIMPSEST_HOME": str(home)}


def test_in_a_server_threads_take_short_turns_and_old_objects_are_rarely_looked_at() -> None:
    """Both hold up the answers beside a pass: `benchmarks/busy.py` measures them."""
    turns, thresholds = sys.getswitchinterval(), gc.get_threshold()
    try:
        let_answers_through()
        assert sys.getswitchinterval() < turns and gc.get_threshold()[:2] == thresholds[:2]
        assert gc.get_threshold()[2] > thresholds[2]
    finally:
        sys.setswitchinterval(turns)
        gc.set_threshold(*thresholds)


def test_what_ends_by_itself_ends_with_zero() -> None:
    async def nothing() -> None:
        return None

    assert run_interruptible(nothing) == 0


@pytest.mark.long
def test_listing_tools_opens_no_store(tmp_path: Path) -> None:
    exchange(tmp_path / "home", HELLO, message(2, "tools/list"))
    assert not (tmp_path / "home").exists()


@pytest.mark.long
def test_the_model_library_is_not_imported_and_the_first_answer_is_quick(tmp_path: Path) -> None:
    """0.7 s is the aim on a quiet machine (benchmarks measure it); here it only must not be seconds."""
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: sys.stderr.write(str('anthropic' in sys.modules)))\n"
        "from palimpsest_mcp.__main__ import main\n"
        "sys.exit(main([]))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PALIMPSEST_HOME": str(tmp_path)},
        text=True,
    ) as running:
        assert running.stdin is not None and running.stdout is not None and running.stderr is not None
        running.stdin.write(HELLO)
        running.stdin.flush()
        assert json.loads(running.stdout.readline())["id"] == 1
        call = message(2, "tools/call", name="check_context_ratio", arguments={"session_id": "new", "used_tokens": 1})
        running.stdin.write(call)
        running.stdin.flush()
        answers = (json.loads(line) for line in running.stdout)
        assert next(one for one in answers if "method" not in one)["id"] == 2  # a line of the log may come before it
        running.stdin.close()
        assert running.stderr.read() == "False"
