"""Whatever a command prints, a planted secret is in none of it but the original that was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Program = Callable[..., Any]

CORE = "7Qz9XvB2mWc8"
SECRETS = tuple(f"ghp_{c}{CORE}RtY4nHp6LdJ3sGf5TbN1aV" + c for c in "abcdefghij")
FILE, TOOL, CALL, BODY, SESSION, QUERY, ARGUMENT, TASK, POLICY, PATH = SECRETS


def planted() -> list[dict[str, Any]]:
    """A conversation with a secret in every name, id and result."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Why does the job of {TASK} fail?"}]
    for number in range(12):
        rows = "\n".join(f"row {row} of part-{number}-{row}.bin took {row}.{number} ms" for row in range(80))
        use = {"type": "tool_use", "id": f"{CALL}_{number}", "name": TOOL, "input": {"path": f"/{number}/{PATH}"}}
        result = {"type": "tool_result", "tool_use_id": f"{CALL}_{number}", "content": f"{BODY} zebra\n{rows}"}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return messages


def test_no_output_of_a_command_holds_a_planted_secret_and_restore_is_exact(tmp_path: Path, program: Program) -> None:
    file = tmp_path / f"night-{FILE}.json"
    file.write_text(json.dumps(planted()), encoding="utf-8")
    compact = ("compact", file, "--force", "--target", "0.2", "--keep-last", "1", "--session", f"task-{SESSION}")
    said: list[str] = []

    def ask(*arguments: str | Path) -> str:
        ran = program(*arguments)
        said.append(f"{ran.text}\n{ran.err}")
        assert CORE not in said[-1], (arguments[0], said[-1][:600])
        return ran.text

    ask(*compact, "--dry-run")
    done = json.loads(ask(*compact, "--json"))
    handle, batch = done["handle"], done["batches"][0]["batch_id"]
    session = f"task-{SESSION}"
    for as_json in ((), ("--json",)):
        for command in (
            ("status",),
            ("sessions",),
            ("show", session),
            ("list", session),
            ("search", "zebra"),
            ("search", QUERY),
            ("search", "zebra", "--session", session),
            ("probe", session),
            ("summary", session),
            ("handoff", "write", session, "--task", f"Mend {TASK}"),
            ("handoff", "list"),
            ("handoff", "load", "--task", TASK),
            ("verify",),
            ("repair",),
            ("purge", session),
            ("config", "show"),
            ("doctor",),
            ("specifics", file),
            ("experience", "status"),
            ("experience", "show", ARGUMENT),
            ("export", session, "--out", tmp_path / f"{ARGUMENT}.export"),
            ("import", tmp_path / f"{ARGUMENT}.export"),
            ("rewrite", ARGUMENT),
            ("show", ARGUMENT),
            ("list", ARGUMENT),
            ("restore", session, ARGUMENT),
            ("restore", session, batch, "--item", ARGUMENT),
            ("pin", session, ARGUMENT),
            ("compact", tmp_path / ARGUMENT),
            ("compact", file, "--policy", POLICY),
            ("show", session, f"--{ARGUMENT}"),
            ("show", session, "--top", ARGUMENT),
            (ARGUMENT,),
        ):
            ask(*command, *as_json)
    ask("list", session, "--full")

    restored = program("restore", handle, batch)
    assert BODY in restored.text and CALL not in restored.text
    shown = json.loads(ask("list", session, "--json"))["batches"][0]["item_ids"]
    assert all("[redacted:" in item for item in shown)
    assert BODY.encode() in program("restore", handle, batch, "--item", shown[0], "--raw").out
    assert ask("pin", json.loads(ask("show", handle, "--json"))["session_id"], shown[0])
