"""The page's routes: who may ask, what a stored text can do (nothing), and what a click changes."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.web.answers import Answers
from palimpsest_mcp.web.app import app, page, policy, shared_page

TOKEN = "a-token-of-this-test"
SECRET = "AKIAQYLPMN5HFIQR7XYA"
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \ud83d \x1b[31m"


def conversation() -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Which job fails?"}]
    secret: dict[str, Any] = {"type": "tool_use", "id": SECRET, "name": "read_log", "input": {}}
    messages.append({"role": "assistant", "content": [secret]})
    messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": SECRET, "content": "done"}]})
    for number in range(10):
        rows = "\n".join(
            f"2026-03-{row:02d} part-{number}-{row} wrote {number * 1000 + row} bytes" for row in range(1, 29)
        )
        last = f"ERROR E{4000 + number}: checksum differs in part-{number}-7\n"
        text = f"job {number}\nkey={SECRET}\n{HOSTILE}\n{rows}\n{last}"
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "read_log", "input": {"job": number}}
        messages.append({"role": "assistant", "content": [use]})
        messages.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}]}
        )
    return messages


@pytest.fixture
def client(tmp_path: Path) -> Generator[TestClient]:
    async def filled() -> None:
        async with Palimpsest.open(tmp_path / "home") as p:
            await p.compact_messages(conversation(), session_id="night", force=True, target=0.4, keep_last=3)

    asyncio.run(filled())
    opened: list[Any] = []

    async def served(scope: Any, receive: Any, send: Any) -> None:
        # The store opens in the client's own loop, as it does under the real server.
        if not opened:
            context = Palimpsest.open(tmp_path / "home", make=False)
            opened.extend([context, app(Answers(await context.__aenter__()), TOKEN)])
        await opened[1](scope, receive, send)

    with TestClient(served, base_url="http://127.0.0.1:7777") as made:
        yield made
        if opened:
            assert made.portal is not None
            made.portal.call(opened[0].__aexit__, None, None, None)


def ask(client: TestClient, route: str, **asked: str) -> Any:
    response = client.get(f"/{TOKEN}/api/{route}", params=asked)
    assert response.status_code == 200, response.text
    return response.json()


def send(client: TestClient, route: str, **asked: Any) -> Any:
    response = client.post(f"/{TOKEN}/api/{route}", json=asked)
    assert response.status_code == 200, response.text
    return response.json()


def first_replaced(client: TestClient) -> dict[str, Any]:
    rows = ask(client, "items", session="night")["items"]
    return next(one for one in rows if one["state"] == "replaced")


def test_without_the_token_nothing_is_told(client: TestClient) -> None:
    for path in ("/", "/api/store", "/wrong/", f"/{TOKEN[:-1]}/api/store", f"/{TOKEN}x/"):
        response = client.get(path)
        assert response.status_code == 404
        assert "night" not in response.text and "<html" not in response.text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:7777", "localhost.evil", ""])
def test_a_foreign_name_for_this_machine_is_refused(client: TestClient, host: str) -> None:
    assert client.get(f"/{TOKEN}/api/store", headers={"host": host}).status_code == 421


def test_another_page_can_neither_read_nor_change_anything(client: TestClient) -> None:
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
        assert client.get(f"/{TOKEN}/api/store", headers=headers).status_code == 403
        assert client.post(f"/{TOKEN}/api/undo", json={"session": "night"}, headers=headers).status_code == 403
    form = {"content-type": "text/plain"}
    assert client.post(f"/{TOKEN}/api/undo", content='{"session": "night"}', headers=form).status_code == 415
    assert client.get(f"/{TOKEN}/api/undo", params={"session": "night"}).status_code == 405
    assert ask(client, "session", session="night")["passes"][0]["state"] == "stands"


def test_every_answer_forbids_everything_but_the_pages_own_script_and_style(client: TestClient) -> None:
    for path in (f"/{TOKEN}/", f"/{TOKEN}/api/store", "/wrong/"):
        headers = client.get(path).headers
        said = headers["content-security-policy"]
        assert "default-src 'none'" in said and "unsafe" not in said and "frame-ancestors 'none'" in said
        assert not re.search(r"https?:|\*", said)
        assert headers["cache-control"] == "no-store" and headers["referrer-policy"] == "no-referrer"


def test_the_page_loads_nothing_and_writes_texts_as_texts() -> None:
    html = page()
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:,)""", html)
    assert "http://" not in html.replace("http://www.w3.org/2000/svg", "") and "https://" not in html
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc"):
        assert way not in html
    assert len(re.findall("<script", html)) == 2 and policy().count("sha256-") == 2


def test_secrets_are_masked_in_every_answer(client: TestClient) -> None:
    item = first_replaced(client)
    answers = [
        ask(client, "store"),
        ask(client, "session", session="night"),
        ask(client, "items", session="night"),
        ask(client, "item", session="night", item=item["item_id"]),
        ask(client, "search", q="checksum"),
    ]
    assert SECRET not in json.dumps(answers)
    assert "[redacted:" in answers[3]["original"]


def test_a_restored_original_is_exact_and_is_noted(client: TestClient) -> None:
    item = first_replaced(client)
    done = send(client, "restore", session="night", batch=item["batch_id"], item=item["item_id"])
    text = base64.b64decode(done["base64"]).decode("utf-8", "surrogatepass")
    number = item["item_id"].removeprefix("toolu_")
    assert text.startswith(f"job {number}\nkey={SECRET}\n{HOSTILE}\n") and done["size_bytes"] == len(
        base64.b64decode(done["base64"])
    )
    told = ask(client, "session", session="night")
    assert [one["kind"] for one in told["moments"]] == ["restored"]
    assert told["passes"][0]["restored_results"] == 1


def test_an_undone_pass_stands_no_longer_and_the_pulse_changes(client: TestClient) -> None:
    before = ask(client, "pulse", session="night")["pulse"]
    done = send(client, "undo", session="night", number=1)
    told = ask(client, "session", session="night")
    assert told["passes"][0]["state"] == "taken back" and told["pulse"] != before
    assert told["fill"][-1][1] == told["usage"]["used"]["value"] and done["tokens"] > 0
    assert {one["state"] for one in ask(client, "items", session="night")["items"]} == {"live"}


def test_a_batch_is_put_back_and_an_item_pinned(client: TestClient) -> None:
    item = first_replaced(client)
    done = send(client, "reinstate", session="night", batch=item["batch_id"])
    assert item["item_id"] in done["item_ids"]
    assert send(client, "pin", session="night", item=item["item_id"])["pinned"]
    row = next(one for one in ask(client, "items", session="night")["items"] if one["item_id"] == item["item_id"])
    assert row["pinned"] and row["state"] == "live"
    assert not send(client, "pin", session="night", item=item["item_id"], off="yes")["pinned"]


def test_a_wrong_question_gets_the_error_of_the_library(client: TestClient) -> None:
    response = client.get(f"/{TOKEN}/api/session", params={"session": "nobody"})
    assert response.status_code == 400 and response.json()["code"] == "session_unknown" and response.json()["next"]
    assert client.get(f"/{TOKEN}/api/items", params={"session": "night", "offset": "-1"}).status_code == 400
    assert client.get(f"/{TOKEN}/api/session").json()["code"] == "invalid_argument"
    assert client.get(f"/{TOKEN}/api/session", params={"session": f"nobody {SECRET}"}).text.count(SECRET) == 0
    long = {"session": "x" * 100_000}
    assert client.post(f"/{TOKEN}/api/undo", json=long).status_code == 413
    for body in ("[]", "{", '"x"', "[" * 2_000):
        sent = client.post(f"/{TOKEN}/api/undo", content=body, headers={"content-type": "application/json"})
        assert sent.status_code == 400


def test_a_file_to_share_holds_hostile_texts_as_data() -> None:
    html = shared_page({"store": {"home": HOSTILE, "sessions": []}})
    stored = re.search(r'<script type="application/json" id="stored">(.*?)</script>', html, re.DOTALL)
    assert stored is not None and json.loads(stored[1])["store"]["home"] == HOSTILE
    assert html.count("<script") == 2 and "<img" not in html
    assert policy() in html


def test_an_item_whose_id_holds_a_secret_is_found_by_the_name_that_is_shown(client: TestClient) -> None:
    rows = ask(client, "items", session="night")["items"]
    shown = next(one["item_id"] for one in rows if "[redacted:" in one["item_id"])
    assert ask(client, "item", session="night", item=shown)["item_id"] == shown
    unknown = client.get(f"/{TOKEN}/api/item", params={"session": "night", "item": "x", "batch": "offload_0001"})
    assert unknown.status_code == 400 and unknown.json()["code"] == "item_unknown"
