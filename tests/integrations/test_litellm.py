"""The LiteLLM guardrail: the hook that the proxy calls, and the proxy itself with the configuration of the docs."""

# The framework is in no environment of the developers; `make frameworks` runs this file.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from palimpsest_mcp.integrations.window import AgentWindow

from .lists import chat_of, from_chat, from_items, items_of
from .material import STEPS, example, example_settings, need, result
from .replay import Messages, Seam, replay_all, tokens_of

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it asks the network for prices otherwise
need("litellm")
from palimpsest_mcp.integrations.litellm import PalimpsestGuardrail  # noqa: E402

pytestmark = pytest.mark.anyio
KEY = SimpleNamespace(token="hash of a key")


def session(steps: int = STEPS) -> Messages:
    """A long run in Anthropic's form."""
    found: Messages = [{"role": "user", "content": [{"type": "text", "text": "Find out why."}]}]
    for n in range(steps):
        call = {"type": "tool_use", "id": f"call_{n}", "name": "check", "input": {"step": n}}
        told = {"type": "tool_result", "tool_use_id": f"call_{n}", "content": result(n)}
        found += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [told]}]
    return found


ROUTES: dict[str, tuple[str, Callable[[Messages], list[Any]], Callable[[Sequence[Any]], Messages]]] = {
    "anthropic_messages": ("messages", lambda messages: messages, lambda messages: list(messages)),
    "acompletion": ("messages", chat_of, from_chat),
    "responses": ("input", items_of, from_items),
}


@pytest.mark.parametrize("route", ROUTES)
async def test_each_route_goes_out_shorter(make_window: Callable[..., AgentWindow], route: str) -> None:
    key, build, read = ROUTES[route]
    window = make_window()
    guardrail = PalimpsestGuardrail(window, guardrail_name="palimpsest")
    data = {"model": "gpt-5", key: build(session()), "metadata": {"session_id": "one"}, "stream": True, "tools": []}
    before = copy.deepcopy(data)
    out = await guardrail.async_pre_call_hook(KEY, None, data, route)
    assert data == before and {**out, key: 0} == {**data, key: 0}
    sent, raw = read(out[key]), read(data[key])
    assert tokens_of(sent) < 15_000 < tokens_of(raw)
    assert sent[-1] == raw[-1]
    again = await guardrail.async_pre_call_hook(KEY, None, data, route)
    assert again == out


async def test_a_request_that_is_no_list_goes_through(make_window: Callable[..., AgentWindow]) -> None:
    guardrail = PalimpsestGuardrail(make_window(), guardrail_name="palimpsest")
    for data in ({"model": "gpt-5", "input": "Hello"}, {"model": "gpt-5", "messages": []}, {"model": "x"}):
        assert await guardrail.async_pre_call_hook(KEY, None, data, "responses") is data


async def test_two_keys_never_share_a_session(make_window: Callable[..., AgentWindow]) -> None:
    window = make_window()
    guardrail = PalimpsestGuardrail(window, guardrail_name="palimpsest")
    for token in ("a", "b"):
        data = {"model": "gpt-5", "messages": session(), "metadata": {"session_id": "one"}}
        await guardrail.async_pre_call_hook(SimpleNamespace(token=token), None, data, "anthropic_messages")
    assert len(await window.aask(lambda p: p.sessions())) == 2


async def test_a_failure_of_ours_lets_the_request_through(
    make_window: Callable[..., AgentWindow], tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "home").write_text("no folder")
    guardrail = PalimpsestGuardrail(make_window(), guardrail_name="palimpsest")
    data = {"model": "gpt-5", "messages": session()}
    assert await guardrail.async_pre_call_hook(KEY, None, data, "acompletion") is data
    assert "left as it came" in caplog.text


ANSWERS: dict[str, dict[str, Any]] = {
    "completions": {"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-5"}
    | {"choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]},
    "responses": {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "gpt-5"}
    | {"output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []},
    "messages": {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
    | {"content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn", "stop_sequence": None}
    | {"usage": {"input_tokens": 1, "output_tokens": 1}},
}
MESSAGES = ("anthropic_messages", "messages")
MASTER_KEY = "sk-" + "a7" * 32
MODELS = """\
model_list:
  - {{model_name: gpt-5, litellm_params: {{model: openai/gpt-5, api_base: "{url}/v1", api_key: none}}}}
  - {{model_name: claude, litellm_params: {{model: anthropic/claude-sonnet-4-5, api_base: "{url}", api_key: none}}}}
"""


@contextmanager
def provider() -> Generator[tuple[str, list[dict[str, Any]]]]:
    """Its address, and the requests that it gets."""
    got: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            body = json.dumps(ANSWERS[self.path.split("?")[0].rsplit("/", 1)[1]]).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", got
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def proxy(folder: Path, upstream: str) -> Generator[str]:
    """The real one, with the two files of the docs in a folder, in a window of 20,000 tokens."""
    (folder / "palimpsest_guardrail.py").write_text(example("LiteLLM"))
    guardrails = example_settings("LiteLLM").replace("200000", "20000")
    (folder / "config.yaml").write_text(MODELS.format(url=upstream) + guardrails)
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as free:
        url = f"http://127.0.0.1:{free.server_address[1]}"
    told = {"LITELLM_MASTER_KEY": MASTER_KEY, "PALIMPSEST_HOME": str(folder / "home")}
    command = [str(Path(sys.executable).with_name("litellm")), "--config", "config.yaml", "--host", "127.0.0.1"]
    command += ["--port", url.rsplit(":", 1)[1]]
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(command, cwd=folder, env={**os.environ, **told}, stdout=log, stderr=log)
    try:
        until = time.monotonic() + 400  # its start alone takes 25 s of processor time
        while not answers(url):
            assert process.poll() is None and time.monotonic() < until, (folder / "log").read_text()[-2000:]
            threading.Event().wait(0.5)
        yield url
    finally:
        process.terminate()
        process.wait()


def answers(url: str) -> bool:
    try:
        return urllib.request.urlopen(f"{url}/health/liveliness", timeout=5).status == 200
    except OSError:
        return False


def asked(url: str, path: str, data: dict[str, Any]) -> None:
    headers = {"content-type": "application/json", "authorization": f"Bearer {MASTER_KEY}"}
    request = urllib.request.Request(url + path, json.dumps(data).encode(), headers)
    try:
        urllib.request.urlopen(request, timeout=120).read()
    except urllib.error.HTTPError as error:
        raise AssertionError(error.read()[:2000]) from error


def test_the_proxy_with_the_files_of_the_docs_sends_digests_on_every_route(tmp_path: Path) -> None:
    pytest.importorskip("litellm_proxy_extras", reason="the proxy is not installed here")
    with provider() as (upstream, got), proxy(tmp_path, upstream) as url:
        for route, path in (("acompletion", "chat/completions"), ("responses", "responses"), MESSAGES):
            key, build, read = ROUTES[route]
            data = {"model": "claude" if path == "messages" else "gpt-5", key: build(session())}
            for _ in range(2):
                asked(url, f"/v1/{path}", {**data, "max_tokens": 64} if path == "messages" else data)
            sent, again = got[-2:]
            assert sent == again
            shorter = read([{"content": None, **one} if "role" in one else one for one in sent[key]])
            assert tokens_of(shorter) < 15_000 < tokens_of(session())
            assert shorter[-1]["content"][-1]["content"] == result(STEPS - 1)
        assert len(got) == 6


class Named(PalimpsestGuardrail):
    """The replay asks for the session by its name."""

    def session_of(self, data: Any, messages: list[Any], key: str) -> str:
        return data["metadata"]["session_id"]


async def send(window: AgentWindow, session_id: str, messages: Sequence[Any]) -> Sequence[Any]:
    data = {"model": "gpt-5", "messages": list(messages), "metadata": {"session_id": session_id}}
    guardrail = Named(window, guardrail_name="palimpsest")
    return (await guardrail.async_pre_call_hook(KEY, None, data, "acompletion"))["messages"]


SEAM = Seam(chat_of, send, from_chat, native=True)


async def test_real_sessions_replayed(make_window: Callable[..., AgentWindow]) -> None:
    await replay_all(make_window, SEAM)
