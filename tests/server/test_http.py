"""The real server over HTTP on loopback: what it answers, to whom, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from palimpsest_mcp.errors import InvalidArgument
from palimpsest_mcp.models.tools import HttpOptions
from palimpsest_mcp.server.access import read_tokens
from palimpsest_mcp.server.http import _listen  # pyright: ignore[reportPrivateUsage]  # what it serves on
from palimpsest_mcp.web.app import bound

from ..conftest import first_of

ENDS_S = 120.0
"""A server that lives on so long after a signal does not end by it."""
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
MODERN = {**JSON, "mcp-protocol-version": "2026-07-28"}
ERAS = ("legacy", "2026-07-28")


def ask(method: str, url: str, **more: Any) -> httpx2.Response:
    """One request on a connection of its own."""
    return httpx2.request(method, url, timeout=ENDS_S, **more)


@contextmanager
def serving(home: Path, *options: str, status: int = 0, end: int = signal.SIGTERM) -> Generator[str]:
    """A server of its own; gives the URL of its `/mcp`. It has to end by the signal with the exit status."""
    command = [sys.executable, "-m", "palimpsest_mcp", "serve", "--home", str(home), "--http", "127.0.0.1:0", *options]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        silent = threading.Timer(ENDS_S, running.kill)
        silent.start()
        said = running.stderr.readline()
        found = re.search(r"at (http://\S+?/mcp),", said)
        assert found is not None, said + running.stderr.read()
        silent.cancel()
        try:
            yield found[1]
        finally:
            silent = threading.Timer(ENDS_S, running.kill)
            silent.start()
            running.send_signal(end)
            rest = running.stderr.read()
            ended = running.wait()
            silent.cancel()
    assert ended == status, rest


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("http") / "home") as found:
        yield found


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def session(result: CallToolResult) -> str:
    assert not result.is_error and result.structured_content is not None, text_of(result)
    return str(result.structured_content["session"])


def items(word: str) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_use_id": f"c{n}", "content": f"{word} row {n} 中 é\n" * 300} for n in range(8)]


CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("record_items", {"session_id": "one", "items": items("lion")}),
    ("check_context_ratio", {"session_id": "one", "used_tokens": 30_000, "window_tokens": 33_000, "detail": True}),
    ("compact_session", {"session_id": "one", "force": True, "target": 0.3, "window_tokens": 33_000}),
    ("list_offloaded", {"session_id": "one"}),
    ("list_offloaded", {"session_id": "nobody"}),
    ("search_offloaded", {"query": "lion", "session_id": "one"}),
    ("show_context", {"session_id": "one", "detail": True}),
    ("restore_batch", {"session_id": "one", "batch_id": "offload_0001"}),
    ("restore_batch", {"session_id": "one", "batch_id": "offload_0001", "nonsense": 1}),
    ("update_summary", {"session_id": "one", "sections": {"next_steps": ["feed the lion 中"]}}),
    ("compact_session", {"session_id": "one", "target": "much"}),
    ("load_handoff", {"task": "none"}),
    ("no_such_tool", {}),
)
_MOVES = re.compile(
    r"\b\d\d-\d\d \d\d:\d\d\b|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?|[0-9a-f]{8,64}"
)
"""Times of the day, and marks that are drawn anew for each answer."""


async def answers(client: Client) -> list[bytes]:
    """What each call gives, as it stands on the wire but for what is different each time."""
    found: list[bytes] = []
    for tool, arguments in CALLS:
        result = await client.call_tool(tool, arguments)
        said = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        found.append(_MOVES.sub("*", json.dumps(said, ensure_ascii=False)).encode())
    return found


@pytest.mark.anyio
@pytest.mark.parametrize("era", first_of(reversed(ERAS)))
async def test_every_answer_is_the_same_bytes_over_http_as_on_stdio(tmp_path: Path, era: str) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "palimpsest_mcp", "serve", "--home", str(tmp_path / "stdio")],
        env=dict(os.environ),
    )
    async with Client(parameters, mode=era) as client:
        on_stdio = await answers(client)
    with serving(tmp_path / "http") as url:
        async with Client(url, mode=era) as client:
            over_http = await answers(client)
    for (tool, _), one, other in zip(CALLS, on_stdio, over_http, strict=True):
        assert one == other, tool
    assert len({*on_stdio}) > 8, "the calls differ"


MALFORMED: dict[str, tuple[bytes, int]] = {
    "empty": (b"", -32700),
    "no json": (b"{]", -32700),
    "cut": (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/li', -32700),
    "no utf-8": (b'{"jsonrpc": "2.0", "id": 1, "method": "\xff\xfe', -32700),
    "deep": (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + b"[" * 90_000 + b"]" * 90_000 + b"}", -32700),
    "batch": (b'[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]', -32600),
    "a number": (b"5", -32600),
    "no version": (b'{"id": 1, "method": "tools/list"}', -32600),
    "no method": (b'{"jsonrpc": "2.0", "id": 1}', -32600),
    "a fraction": (b'{"jsonrpc": "2.0", "id": 1.5, "method": "tools/list"}', -32600),
    "a list of params": (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": [1]}', -32602),
}


@pytest.mark.parametrize("headers", [JSON, MODERN], ids=ERAS)
@pytest.mark.parametrize("case", MALFORMED)
def test_every_malformed_request_is_answered_in_the_words_of_stdio(
    url: str, case: str, headers: dict[str, str]
) -> None:
    body, code = MALFORMED[case]
    answer = ask("POST", url, content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code), answer.text
    assert answer.json()["error"]["message"].endswith((".", ")."))
    assert ask("GET", url.replace("/mcp", "/health")).json() == {"status": "ok"}, "the server lives on"


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/mcp", {**JSON, "content-type": "text/plain"}, 400),
        ("POST", "/mcp", {**JSON, "accept": "text/html"}, 406),
        ("POST", "/mcp", {**JSON, "mcp-protocol-version": "1999-01-01"}, 400),
        ("POST", "/mcp", {**JSON, "mcp-session-id": "nobody"}, 404),
        ("GET", "/mcp", JSON, 400),
        ("PUT", "/mcp", JSON, 405),
        ("DELETE", "/mcp", {**JSON, "mcp-session-id": "nobody"}, 404),
        ("GET", "/elsewhere", {}, 404),
        ("POST", "/health", {}, 405),
        ("POST", "/mcp", {**JSON, "host": "evil.example"}, 421),
        ("POST", "/mcp", {**JSON, "host": "127.0.0.1.evil.example:80"}, 421),
        ("POST", "/mcp", {**JSON, "origin": "https://evil.example"}, 403),
        ("POST", "/mcp", {**JSON, "origin": "null"}, 403),
    ],
)
def test_what_is_no_request_of_mcp_is_refused_with_a_status(
    url: str, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
    answer = ask(method, url.replace("/mcp", path), content=body, headers=headers)
    assert answer.status_code == status, answer.text


def test_a_request_that_is_no_http_is_answered(url: str) -> None:
    with socket.create_connection(("127.0.0.1", int(url.split(":")[2].split("/")[0]))) as plug:
        plug.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert plug.recv(100).startswith(b"HTTP/1.1 400")


@pytest.mark.long
@pytest.mark.anyio
@pytest.mark.parametrize("era", first_of(reversed(ERAS)))
async def test_half_a_surrogate_pair_is_kept_as_it_is_on_stdio(url: str, era: str) -> None:
    """Both parsers of the SDK would refuse or break on it."""
    item = {"role": "user", "content": "cut here \ud83d", "id": "mine \udc80"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}
    with httpx2.Client(timeout=ENDS_S, headers=JSON if era == "legacy" else MODERN) as client:
        session: dict[str, str] = {}
        meta: dict[str, Any] = {}

        def call(method: str, **params: Any) -> dict[str, Any]:
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, **meta}}
            named = {"mcp-method": method, "mcp-name": params.get("name", "")} if meta else {}
            answer = client.post(url, content=json.dumps(message).encode(), headers={**session, **named})
            session.update({k: v for k, v in answer.headers.items() if k == "mcp-session-id"})
            return json.loads(answer.text.split("data: ")[-1] if "data: " in answer.text else answer.text)

        if era == "legacy":
            assert "result" in call("initialize", **hello)
        else:
            prefix = "io.modelcontextprotocol/"
            meta["_meta"] = {f"{prefix}protocolVersion": era, f"{prefix}clientCapabilities": {}}
        said = call("tools/call", name="record_items", arguments={"session_id": f"night {era}", "items": [item]})
        assert said["result"]["structuredContent"]["recorded"] == 1, said
        pinned = call(
            "tools/call", name="show_context", arguments={"session_id": f"night {era}", "pin": ["mine \udc80"]}
        )
        assert not pinned["result"]["isError"], "the id is the same half"
        wrong = call("tools/call", name="record_items", arguments={"session_id": "s", "items": [{"x\ud83d": "y"}]})
        assert "x\ufffd is not a field" in wrong["result"]["content"][0]["text"]


# Who may call.


def tokens_file(folder: Path) -> tuple[Path, dict[str, str]]:
    tokens = {name: secrets.token_hex(32) for name in ("owner", "ada", "bob")}
    path = folder / "tokens"
    path.write_text("# who may call\n\n" + "".join(f"{name} {token}\n" for name, token in tokens.items()), "utf-8")
    return path, tokens


@dataclass(frozen=True)
class Guarded:
    """A server that takes tokens only."""

    url: str
    home: Path
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    path, tokens = tokens_file(folder)
    with serving(folder / "home", "--tokens", str(path)) as url:
        yield Guarded(url, folder / "home", tokens)


def command(*arguments: str) -> str:
    """What the command line prints; it has to end well."""
    done = subprocess.run([sys.executable, "-m", "palimpsest_mcp", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def as_caller(url: str, token: str, era: str, tool: str, arguments: dict[str, Any]) -> CallToolResult:
    headers = {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=ENDS_S) as http,
        Client(streamable_http_client(url, http_client=http), mode=era) as client,
    ):
        return await client.call_tool(tool, arguments)


@pytest.mark.anyio
@pytest.mark.parametrize("era", first_of(reversed(ERAS)))
async def test_each_caller_has_its_own_sessions_and_the_owner_those_of_the_command_line(
    guarded: Guarded, era: str
) -> None:
    url, home, tokens, mine = guarded.url, guarded.home, guarded.tokens, f"mine {era}"
    for name, token in tokens.items():
        done = await as_caller(url, token, era, "record_items", {"session_id": mine, "items": items(name)})
        assert session(done)
    for name, token in tokens.items():
        arguments = {"session_id": mine, "force": True, "target": 0.3, "window_tokens": 33_000}
        assert session(await as_caller(url, token, era, "compact_session", arguments))
        back = {"session_id": mine, "batch_id": "offload_0001"}
        text = text_of(await as_caller(url, token, era, "restore_batch", back))
        assert f"{name} row" in text and not any(f"{other} row" in text for other in tokens if other != name)
        for other in tokens:
            found = text_of(await as_caller(url, token, era, "search_offloaded", {"query": other}))
            assert (f"{other} row" in found) == (other == name), (name, other)
    transcript = {"session_id": mine, "transcript_path": "/etc/passwd"}
    refused = await as_caller(url, tokens["ada"], era, "check_context_ratio", transcript)
    assert refused.is_error
    learned = {"skill": "search", "event": {"outcome": "success", "winning_pattern": "adas pattern"}}
    assert not (await as_caller(url, tokens["ada"], era, "record_experience", learned)).is_error
    assert "c0" in command("list", mine, "--home", str(home), "--json"), "the owner's session"
    assert not list((home).glob("experience/*")), "what ada's skills learn is not the owner's"
    command("verify", "--home", str(home))


def test_without_a_token_or_with_a_wrong_one_nothing_but_health_is_answered(guarded: Guarded) -> None:
    body, url, ada = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}', guarded.url, guarded.tokens["ada"]
    for given in ("", "Bearer", f"Bearer {'0' * 64}", f"Basic {ada}", ada):
        answer = ask("POST", url, content=body, headers={**JSON, "authorization": given})
        assert answer.status_code == 401 and answer.headers["www-authenticate"].startswith("Bearer "), given
    assert ask("GET", url.replace("/mcp", "/health")).status_code == 200


def opened(url: str, token: str) -> httpx2.Client:
    """A client whose session of the older protocol has begun."""
    client = httpx2.Client(timeout=ENDS_S, headers={**JSON, "authorization": f"Bearer {token}"})
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}
    answer = client.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    client.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
    return client


def test_a_session_of_the_protocol_is_nobody_elses(guarded: Guarded) -> None:
    url, tokens = guarded.url, guarded.tokens
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    with closing(opened(url, tokens["ada"])) as client:
        assert client.post(url, json=message).status_code == 200
        stolen = {"authorization": f"Bearer {tokens['bob']}"}
        assert client.post(url, json=message, headers=stolen).status_code == 404
        assert client.request("DELETE", url, headers=stolen).status_code == 404
        assert client.post(url, json=message).status_code == 200, "still there"


@pytest.mark.long
def test_more_requests_than_the_rate_are_told_when_to_come_again(tmp_path: Path) -> None:
    path, tokens = tokens_file(tmp_path)
    with serving(tmp_path / "home", "--tokens", str(path), "--rate", "0.5") as url:
        statuses = {"ada": [0], "bob": [0]}
        for name, found in statuses.items():
            with httpx2.Client(timeout=ENDS_S, headers={**JSON, "authorization": f"Bearer {tokens[name]}"}) as client:
                for _ in range(8):
                    answer = client.post(url, content=b"{}")
                    found.append(answer.status_code)
                    assert answer.status_code != 429 or int(answer.headers["retry-after"]) >= 1
        assert 429 in statuses["ada"] and statuses["bob"][1] == 400, "each caller has a rate of its own"


@pytest.mark.long
def test_a_body_over_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with serving(tmp_path, "--max-body", "1") as url:
        assert ask("POST", url, content=b" " * (1 << 20) + b"{}", headers=JSON).status_code == 413
        chunks = (b" " * 65_536 for _ in range(40))
        assert ask("POST", url, content=chunks, headers=JSON).status_code == 413


@pytest.mark.anyio
async def test_a_call_over_the_time_limit_is_stopped_and_answered(tmp_path: Path) -> None:
    with serving(tmp_path, "--time-limit", "0.000001") as url:
        with httpx2.Client(timeout=ENDS_S, headers=MODERN) as client:
            prefix = "io.modelcontextprotocol/"
            meta: dict[str, Any] = {f"{prefix}protocolVersion": "2026-07-28", f"{prefix}clientCapabilities": {}}
            call: dict[str, Any] = {"name": "show_context", "arguments": {"session_id": "x"}, "_meta": meta}
            message: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}
            named = {"mcp-method": "tools/call", "mcp-name": "show_context"}
            said = client.post(url, json=message, headers=named).json()
        assert said["id"] == 7 and "took longer than" in said["error"]["message"], said


# An issuer of access tokens.


class Issuer:
    """An authorization server on loopback: its metadata, its keys, and tokens as it would sign them."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        public: dict[str, str] = json.loads(ECAlgorithm.to_jwk(self.key.public_key()))
        keys: Any = {"keys": [{**public, "kid": "k1", "alg": "ES256", "use": "sig"}]}
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found: Any = keys if self.path == "/keys" else {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/keys"}
                body = json.dumps(found).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def token(self, key: Any = None, algorithm: str = "ES256", **claims: Any) -> str:
        whole = {"iss": self.url, "sub": "ada", "exp": 4_000_000_000, "scope": "context", **claims}
        headers = {"kid": "k1"}
        return jwt.encode(
            {name: value for name, value in whole.items() if value is not None},
            key or self.key,
            algorithm=algorithm,
            headers=headers,
        )

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.mark.anyio
async def test_only_tokens_that_the_issuer_signed_for_this_server_are_taken(tmp_path: Path) -> None:
    issuer = Issuer()
    public = "http://127.0.0.1:9/mcp"
    options = ("--oauth-issuer", issuer.url, "--public-url", public, "--oauth-scope", "context")
    with serving(tmp_path / "home", *options) as url:
        metadata = ask("GET", url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")).json()
        assert metadata["resource"] == public and metadata["authorization_servers"] == [issuer.url]
        said = ask("POST", url, headers=JSON).headers["www-authenticate"]
        assert 'resource_metadata="http://127.0.0.1:9/.well-known/oauth-protected-resource/mcp"' in said

        def status(token: str) -> int:
            return ask("POST", url, headers={**JSON, "authorization": f"Bearer {token}"}, content=b"{]").status_code

        assert status(issuer.token(aud=public)) == 400, "authenticated, and then no JSON"
        refused = {
            "another audience": issuer.token(aud="https://elsewhere.example/mcp"),
            "no audience": issuer.token(),
            "expired": issuer.token(aud=public, exp=1),
            "no end": issuer.token(aud=public, exp=None),
            "another issuer": issuer.token(aud=public, iss="https://elsewhere.example"),
            "another key": issuer.token(ec.generate_private_key(ec.SECP256R1()), aud=public),
            "a shared secret": issuer.token("k" * 64, "HS256", aud=public),
            "no signature": jwt.encode({"iss": issuer.url, "sub": "ada", "exp": 4e9, "aud": public}, "", "none"),
            "nobody": issuer.token(aud=public, sub=None),
            "no token": "x.y.z",
        }
        for why, token in refused.items():
            assert status(token) == 401, why
        assert status(issuer.token(aud=public, scope="other")) == 403
        for name in ("ada", "bob"):
            arguments = {"session_id": "mine", "items": items(name)}
            done = await as_caller(url, issuer.token(aud=public, sub=name), "legacy", "record_items", arguments)
            assert done.structured_content is not None and done.structured_content["recorded"] == 8
    issuer.close()
    assert len(list((tmp_path / "home" / "session").iterdir())) == 2


REFUSED: tuple[tuple[tuple[str, ...], str], ...] = (
    (("--http", "0.0.0.0:0"), "others can reach"),
    (("--http", "192.0.2.1:0"), "others can reach"),
    (("--http", "[::]:0", "--tokens", "T"), "its own name"),
    (("--http", "nonsense"), "no address and port"),
    (("--http", "127.0.0.1:70000"), "no address and port"),
    (("--http", "192.0.2.1:1", "--tokens", "T"), "cannot listen"),
    (("--http", "0", "--tokens", "nowhere"), "cannot be read"),
    (("--http", "0", "--oauth-issuer", "http://elsewhere.example"), "no https URL"),
    (("--http", "0", "--oauth-issuer", "https://elsewhere.example"), "--public-url"),
    (("--http", "0", "--tls-cert", "T"), "needs its key"),
    (("--http", "0", "--host", "claude-code"), "on a pipe"),
    (("--workers", "2"), "is for HTTP"),
)
ONE_AFTER_THE_OTHER = """
import json, sys
from palimpsest_mcp.__main__ import main
for words in json.load(sys.stdin):
    print(main(words), flush=True, file=sys.stderr)
"""


@pytest.mark.long
def test_options_that_would_serve_the_wrong_people_are_refused_with_a_next_step(tmp_path: Path) -> None:
    """In one process, which would not end if one of them served."""
    path, _ = tokens_file(tmp_path)
    words = [
        ["serve", "--home", str(tmp_path / "home"), "--json", *(str(path) if one == "T" else one for one in options)]
        for options, _ in REFUSED
    ]
    done = subprocess.run(
        [sys.executable, "-c", ONE_AFTER_THE_OTHER],
        input=json.dumps(words),
        capture_output=True,
        text=True,
        timeout=ENDS_S,
        cwd=tmp_path,
    )
    assert done.returncode == 0 and done.stdout == "", done.stderr
    said = re.split(r"^2\n", done.stderr, flags=re.MULTILINE)
    assert len(said) == len(REFUSED) + 1 and said[-1] == "", done.stderr
    for (options, says), told in zip(REFUSED, said, strict=False):
        assert says in told and '"next"' in told, (options, told)


@pytest.mark.parametrize(
    "text", ["", "ada short", "ada", f"ada {'a' * 64}\nbob {'a' * 64}", f"Ada!! {'a' * 64}", "\udcff"]
)
def test_a_file_of_tokens_that_is_none_is_refused_without_quoting_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tokens"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidArgument) as refused:
        read_tokens(path)
    assert "a" * 64 not in str(refused.value) and "short" not in refused.value.message.replace("shorter", "")


# Several processes, and the end.


@pytest.mark.long
@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_two_workers_answer_for_one_store(tmp_path: Path, era: str) -> None:
    """Each call may come to either process; the older protocol has no session there."""
    with serving(tmp_path, "--workers", "2") as url:

        async def one(number: int) -> None:
            name, word = f"s{number}", f"animal{number}x"
            for part in range(3):
                async with Client(url, mode=era) as client:
                    more = [{**item, "tool_use_id": f"c{part}-{n}"} for n, item in enumerate(items(word)[:4])]
                    assert session(await client.call_tool("record_items", {"session_id": name, "items": more}))
            async with Client(url, mode=era) as client:
                arguments = {"session_id": name, "force": True, "target": 0.3, "window_tokens": 50_000}
                assert session(await client.call_tool("compact_session", arguments))
                text = text_of(
                    await client.call_tool("restore_batch", {"session_id": name, "batch_id": "offload_0001"})
                )
                assert f"{word} row" in text and len(set(re.findall(r"animal\dx", text))) == 1

        await asyncio.gather(*(one(number) for number in range(4)))
    command("verify", "--home", str(tmp_path))


@pytest.mark.long
def test_an_interrupt_ends_it_by_130_and_a_termination_by_0_while_clients_listen(tmp_path: Path) -> None:
    """A client that waits for notifications would hold the connection open for ever."""
    for number, (end, status) in enumerate(((signal.SIGINT, 130), (signal.SIGTERM, 0))):
        path, tokens = tokens_file(tmp_path)
        with serving(tmp_path / str(number), "--tokens", str(path), end=end, status=status) as url:
            plug = ExitStack()
            client = plug.enter_context(closing(opened(url, tokens["ada"])))
            assert plug.enter_context(client.stream("GET", url)).status_code == 200
        with suppress(httpx2.HTTPError):
            plug.close()


@pytest.mark.long
@pytest.mark.anyio
async def test_an_answer_is_sent_at_once_however_many_writes_it_takes() -> None:
    """Else the second write waits 40 ms for the first one's acknowledgement."""
    for listening in (_listen(HttpOptions(address="127.0.0.1", port=0)), bound(0)):
        told: asyncio.Queue[int] = asyncio.Queue()

        async def answer(
            _: asyncio.StreamReader, writer: asyncio.StreamWriter, told: asyncio.Queue[int] = told
        ) -> None:
            accepted: socket.socket = writer.get_extra_info("socket")
            told.put_nowait(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(answer, sock=listening):
            with closing(socket.create_connection(listening.getsockname()[:2])):
                assert await told.get()
