"""What a digest is asked for: the newest request, open todos, and what was typed after the result it stands for."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_mcp.core.compaction.focus import MOST, Focus, wanted_in
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.items import Item
from palimpsest_mcp.models.plans import ContextItem
from palimpsest_mcp.models.reports import in_lines
from palimpsest_mcp.ports.seams import Redacted
from palimpsest_mcp.text.redaction.redactor import open_redactor

Messages = list[dict[str, Any]]


def item(row: int, kind: str, content: Any = None, **more: Any) -> ContextItem:
    role = more.pop("role", "assistant")
    made = Item(id=f"i{row}", kind=kind, role=role, position=(row, 0), content=content, sha256=f"{row}", **more)
    return ContextItem(item=made, tokens=10)


def asked_of(items: list[ContextItem], text: str, row: int) -> tuple[tuple[str, ...], frozenset[str]]:
    focus = Focus(open_redactor(b"k" * 32))
    focus.look_around(items)
    found = focus.of([item(row, "tool_result", text, role="tool").item], [Redacted(text=text, counts={})])
    return found.words[0], found.said


def call(row: int, **args: Any) -> ContextItem:
    return item(row, "tool_call", {"input": args}, args=args, tool_name=args.pop("tool", "Bash"))


def test_what_was_typed_after_a_result_is_asked_of_it_and_what_was_typed_before_is_not() -> None:
    calls = [call(1, command="cat src/old.py"), call(5, command="vi src/new.py")]
    words, said = asked_of(calls, "src/old.py src/new.py src/other.py", row=3)
    assert words == ("src/new.py",)
    assert said == {"src/old.py", "src/new.py"}


def test_what_was_typed_last_comes_first() -> None:
    calls = [call(5, command="vi a_first.py"), call(7, command="vi b_then.py")]
    assert asked_of(calls, "a_first.py b_then.py", row=3)[0] == ("b_then.py", "a_first.py")


def test_the_newest_request_and_what_is_still_to_do_are_asked_of_every_result() -> None:
    items = [
        item(0, "message", "Look at the exporter.", role="user"),
        call(
            1,
            tool="TodoWrite",
            todos=[
                {"content": "Repair the scheduler", "status": "completed"},
                {"content": "Migrate invoices", "status": "pending"},
            ],
        ),
        item(2, "message", "Now the importer drops umlauts.", role="user"),
    ]
    words, _ = asked_of(items, "nothing of it", row=1)
    assert words == ("exporter", "importer", "drops", "umlauts", "migrate", "invoices")


def test_a_result_is_asked_for_what_was_the_request_when_it_was_called_for() -> None:
    """`continue` asks for nothing, and what was found for the first request is still wanted."""
    items = [
        item(0, "message", "Begin with spotter-dov.", role="user"),
        item(2, "message", "Find the setters of AgentSession.", role="user"),
        item(6, "message", "continue", role="user"),
    ]
    words, _ = asked_of(items, "nothing of it", row=4)
    assert words == ("setters", "agentsession", "continue")


def test_a_long_argument_may_give_way_so_its_names_are_not_taken_for_seen() -> None:
    long = "x = load_rates()\n" * 200
    words, said = asked_of([call(5, content=long)], "def load_rates(): ...", row=3)
    assert words == ("load_rates",) and not said


def test_a_secret_that_was_typed_is_never_asked_for() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    masked = open_redactor(b"k" * 32).redact(f"token {token} of src/deploy.py").text
    assert token not in masked
    words, said = asked_of([call(5, command=f"GH_TOKEN={token} run src/deploy.py")], masked, row=3)
    assert words == ("src/deploy.py",) and said == {"src/deploy.py"}


def test_however_much_is_asked_a_result_gets_a_few_words() -> None:
    names = " ".join(f"part_{n}.py" for n in range(500))
    assert len(asked_of([call(5, command=names)], names, row=3)[0]) <= MOST


@pytest.mark.anyio
async def test_a_line_with_what_the_agent_went_on_with_is_shown(p: Palimpsest) -> None:
    lines = "\n".join(
        f"queue{n * 7919 % 1000:03d} has {n * 31 % 977} jobs since {n * 17 % 60} minutes" for n in range(300)
    )
    messages: Messages = [{"role": "user", "content": "Which one is stuck?"}]
    commands = ["list queues", "drain queue850", "uptime", "uptime", "uptime"]
    for n, command in enumerate(commands):
        made = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": command}}
        messages.append({"role": "assistant", "content": [made]})
        text = lines if n == 0 else "ok"
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": text}]})
    done = await p.compact_messages(messages, session_id="s", target=0.1, keep_last=3, force=True)
    digest = done.messages[2]["content"][0]["content"]
    assert "queue850|" in str(digest) and len(str(digest)) < 0.3 * len(lines)


@pytest.mark.parametrize(
    ("instructions", "words"),
    [
        ("keep every deadlock line", ("deadlock",)),
        ("Focus on the importer. Keep all lines with 'lock wait' and drop the rest.", ("lock wait",)),
        ("keep lines about deadlocks and timeouts; never drop any ERROR line", ("deadlock", "timeout", "ERROR")),
        ("Please preserve each row that mentions E-4711, E-4712", ("E-4711", "E-4712")),
        ("don't lose all the errors", ("error",)),
        ("keep every deadlock error", ("deadlock",)),
        ("keep every line", ()),
        ("Say less about every deadlock line", ()),
        ("keep the plan in mind and fix the importer", ()),
        ("Drop every log line and keep the errors", ()),
        ("behalte jede Deadlock-Zeile", ("Deadlock",)),
        ("Bitte alle Zeilen mit 'lock wait' behalten", ("lock wait",)),
        ("Behalte alle Zeilen mit deadlock und timeout, aber verwirf den Rest", ("deadlock", "timeout")),
        ("garde toutes les lignes avec deadlock", ("deadlock",)),
        ("ne supprime aucune ligne qui contient E1205", ("E1205",)),
        ("conserva todas las líneas de deadlock y timeout", ("deadlock", "timeout")),
        ("mantieni tutte le righe con deadlock", ("deadlock",)),
        ("mantenha todas as linhas com deadlock", ("deadlock",)),
        ("bewaar elke deadlock-regel", ("deadlock",)),
        ("сохрани все строки с deadlock", ("deadlock",)),
        ("「ロック待ち」を含む行は全部残す", ("ロック待ち",)),
        ("保留所有死锁日志", ("死锁",)),
        ("Fasse dich kurz", ()),
    ],
)
def test_instructions_name_words_whose_every_line_is_to_be_kept(instructions: str, words: tuple[str, ...]) -> None:
    assert wanted_in(instructions) == words


def db_session(results: int = 16) -> Messages:
    """Logs of a database, each with three deadlocks among lines that say more."""
    messages: Messages = [{"role": "user", "content": "Why does the nightly import hang?"}]
    for n in range(results):
        made = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"tail db{n}.log"}}
        messages.append({"role": "assistant", "content": [made]})
        lines = [
            f"ERROR job_{n}_{i}.py: disk quota of /srv/data/part-{n * 97 + i}.csv exceeded by {i * 7919 % 997} MB"
            for i in range(60)
        ]
        for i in (13, 31, 47):
            lines[i] = f"a Deadlock between session {n}{i} and the other one was seen for a while"
        text = "\n".join(lines)
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": text}]})
    messages.append({"role": "user", "content": "Look at the replica, too."})
    return messages


@pytest.mark.anyio
async def test_every_line_that_the_instructions_want_kept_is_kept_and_counted(p: Palimpsest) -> None:
    asked: dict[str, Any] = {"target": 0.2, "force": True}
    plain = await p.compact_messages(db_session(), session_id="plain", **asked)
    kept = await p.compact_messages(db_session(), session_id="kept", focus="keep every deadlock line", **asked)
    count = kept.report.specifics.wanted["deadlock"]
    assert (count.shown, count.total) == (39, 39)
    shown = sum(str(message).count(" and the other one") for message in kept.messages[:26])
    assert shown > sum(str(message).count(" and the other one") for message in plain.messages[:26])
    assert not plain.report.specifics.wanted


@pytest.mark.anyio
async def test_wanted_lines_that_find_no_room_are_counted_as_left_out(p: Palimpsest) -> None:
    done = await p.compact_messages(
        db_session(), session_id="s", target=0.2, force=True, focus="keep every line that says quota"
    )
    count = done.report.specifics.wanted["quota"]
    assert count.total == 13 * 57 and 0 < count.shown < count.total
    assert in_lines(done.report.specifics) == (
        f'{count.shown:,} of {count.total:,} with "quota", {count.total - count.shown:,} left out'
    )
    assert all(batch.digest_tokens <= 6_000 for batch in done.report.batches)


@pytest.mark.anyio
@pytest.mark.parametrize("dry_run", [True, False])
async def test_a_report_names_what_was_asked_for_without_its_secrets(p: Palimpsest, dry_run: bool) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    done = await p.compact_messages(
        db_session(), session_id="s", target=0.3, force=True, focus=f"the exporter with {token}", dry_run=dry_run
    )
    asked = done.report.asked_for
    assert asked.instructions.startswith("the exporter with ") and token not in asked.instructions
    assert asked.request == "Look at the replica, too."


@pytest.mark.anyio
async def test_a_result_of_a_tool_of_no_known_kind_is_called_by_what_it_was_asked_for(p: Palimpsest) -> None:
    """Of forty results of `get_case` the argument says which case each was; a key among the arguments is masked."""
    key = "AKIA" + "Q3EGRTY7XM2PLS4K"
    messages: Messages = [{"role": "user", "content": "Compare the cases."}]
    for n in range(8):
        case = {"case_id": f"C-{4711 + n}", "court": "Kiel", "parties": [f"Party {k} of {n}" for k in range(90)]}
        fields = {"case_id": f"C-{4711 + n}", "token": key}
        use = {"type": "tool_use", "id": f"t{n}", "name": "mcp__court__get_case", "input": fields}
        back = {"type": "tool_result", "tool_use_id": f"t{n}", "content": str(case)}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [back]}]
    done = await p.compact_messages([*messages, {"role": "user", "content": "Go on."}], session_id="s", force=True)
    said = str([one["content"][0]["content"] for one in done.messages[2:12:2]])
    assert "get_case C-4712" in said and key[:12] not in said, said
