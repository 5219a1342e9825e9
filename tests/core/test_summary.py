"""The anchored summary through the library: passes bring it up to date, agents add to it, people may edit it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import InvalidArgument, SessionUnknown, WriteFailed
from palimpsest_mcp.memory import absent
from palimpsest_mcp.memory.summary.sections import to_markdown
from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.models.summaries import AnchoredSummary, Blocker
from palimpsest_mcp.ports.store import StoredSummary
from palimpsest_mcp.store import MemoryStore

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]
SECRET = "ghp_" + "9fK2xQ7mZr4TbW8s" + "Ld1vYc5hNj3PgE6uAo0i"


def kept(home: Path) -> Path:
    return home / "home" / "session" / "s" / "summary.md"


def with_edit(messages: Messages, path: str = "/srv/load.py", new: str = "def load():\n    pass\n") -> Messages:
    use = {
        "type": "tool_use",
        "id": f"toolu_edit_{len(messages)}",
        "name": "Edit",
        "input": {"file_path": path, "old_string": "x = 1\n", "new_string": new},
    }
    result = {"type": "tool_result", "tool_use_id": use["id"], "content": "The file has been updated."}
    return [*messages, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


async def compact(p: Palimpsest, messages: Messages) -> tuple[str, ...]:
    done = await p.compact_messages(messages, session_id="s", target=0.3, force=True)
    assert done.report.batches
    return done.report.notes


async def test_a_committed_pass_keeps_a_summary_and_raises_its_count(
    p: Palimpsest, tmp_path: Path, session: Callable[..., Messages]
) -> None:
    await compact(p, with_edit(session()))
    summary = await p.summary("s")
    assert summary.compression_count == 1 and summary.session_intent.startswith("Find out why the import")
    assert summary.tokens_before and summary.tokens_after and summary.tokens_after < summary.tokens_before
    assert 1 <= summary.first_message < summary.last_message
    assert summary.file("/srv/load.py") is not None and summary.commands_run == 16
    assert kept(tmp_path).read_text("utf-8") == await p.summary_markdown("s")


async def test_the_summary_and_the_report_give_the_same_numbers(
    p: Palimpsest, session: Callable[..., Messages]
) -> None:
    done = await p.compact_messages(session(), session_id="s", target=0.4, force=True)
    kept = await p.summary("s")
    assert (kept.tokens_before, kept.tokens_after) == (done.report.before.used.value, done.report.after.used.value)
    assert kept.probes_total == done.report.probes.total


async def test_what_was_said_last_is_told_of_what_is_there_after_a_rewind(p: Palimpsest) -> None:
    """The messages of the branch that was given up stay in the ledger; where the work stands they do not say."""
    first = [
        {"role": "user", "content": "Load part 7 of the import."},
        {"role": "assistant", "content": "It is loaded."},
    ]
    wrong = [{"role": "user", "content": "Now drop the old table."}, {"role": "assistant", "content": "It is dropped."}]
    await p.compact_messages([*first, *wrong], session_id="s", window_tokens=100_000)
    assert (await p.summary("s")).last_said == "It is dropped."
    await p.compact_messages(first, session_id="s", window_tokens=100_000)
    kept = await p.summary("s")
    assert kept.last_said == "It is loaded." and "drop" not in kept.last_asked


async def test_nothing_but_a_committed_pass_raises_the_count(p: Palimpsest, session: Callable[..., Messages]) -> None:
    messages = session()
    await p.compact_messages(messages, session_id="s", target=0.3, force=True, dry_run=True)
    assert (await p.store.summaries.get(SessionKey("s"))).summary is None
    await compact(p, messages)
    again = await p.compact_messages(messages, session_id="s", target=0.3, force=True)
    assert not again.report.batches
    await p.update_summary("s", {"current_state": "Half done"})
    assert (await p.summary("s")).compression_count == 1


async def test_what_came_after_the_pass_is_in_the_summary_when_it_is_read(
    p: Palimpsest, session: Callable[..., Messages]
) -> None:
    messages = session()
    await compact(p, messages)
    await p.compact_messages(with_edit(messages), session_id="s", window_tokens=10**7)
    assert (await p.summary("s")).file("/srv/load.py") is not None


@pytest.mark.long
async def test_after_three_compressions_the_report_warns_and_after_ten_it_says_to_start_fresh(
    p: Palimpsest, session: Callable[..., Messages]
) -> None:
    notes = [await compact(p, session(16 + 4 * n)) for n in range(10)]
    assert not any("compression" in note and "of the session" in note for one in notes[:2] for note in one)
    assert all(any("check that the summary" in note for note in one) for one in notes[2:9])
    assert any("start fresh" in note for note in notes[9])


async def test_an_update_is_merged_and_kept(p: Palimpsest, tmp_path: Path, session: Callable[..., Messages]) -> None:
    await compact(p, with_edit(session()))
    first = await p.update_summary(
        "s",
        {
            "Session Intent": "Make the nightly import survive duplicate rows",
            "files": {"/srv/load.py": "skips known ids"},
            "decisions": [{"decision": "Keep the first row", "rationale": "sources repeat them"}],
            "blockers": ["May old rows be deleted?"],
            "next_steps": ["Test two files"],
        },
    )
    assert first.notes == () and first.markdown == kept(tmp_path).read_text("utf-8")
    second = await p.update_summary(
        first.handle,
        {"files": {"/srv/load.py": "reads in pieces"}, "intent": "Drop the import from Mars", "decisions": "Use SQL"},
        close_blockers=["old rows"],
        supersede=["1"],
    )
    summary = second.summary
    file = summary.file("/srv/load.py")
    assert file is not None and file.changes == ("skips known ids", "reads in pieces") and file.steps
    assert summary.session_intent == "Make the nightly import survive duplicate rows"
    assert any("intent_changed" in note for note in second.notes)
    assert [one.superseded_by for one in summary.decisions_made] == ["Use SQL", ""]
    assert summary.blockers == (Blocker(text="May old rows be deleted?", closed=True),)
    assert summary.next_steps == ("Test two files",) and summary.compression_count == 1


async def test_an_agent_may_start_a_session_with_its_summary(p: Palimpsest) -> None:
    made = await p.update_summary("new", {"intent": "Make the nightly import survive duplicate rows"})
    assert (await p.summary(made.handle)).session_intent == "Make the nightly import survive duplicate rows"


@pytest.mark.parametrize(
    ("sections", "more"),
    [
        ({}, {}),
        ({"intent": "fix stuff"}, {}),
        ({"state": "[TBD]"}, {}),
        ({"mood": "good"}, {}),
        ({"state": "Half done"}, {"close_blockers": ["nothing of the kind"]}),
        ({"state": "Half done"}, {"intent_changed": True}),
    ],
)
async def test_a_refused_update_writes_nothing(
    p: Palimpsest, tmp_path: Path, sections: dict[str, Any], more: dict[str, Any]
) -> None:
    await p.update_summary("s", {"state": "One of three done"})
    before = kept(tmp_path).read_bytes()
    with pytest.raises(InvalidArgument):
        await p.update_summary("s", sections, **more)
    assert kept(tmp_path).read_bytes() == before


async def test_no_secret_gets_into_the_summary(p: Palimpsest, tmp_path: Path, session: Callable[..., Messages]) -> None:
    messages = with_edit(session(), path=f"/srv/{SECRET}.py")
    messages[0] = {"role": "user", "content": f"Fix the import, the token is {SECRET} and stays secret."}
    await compact(p, messages)
    await p.update_summary("s", {"state": f"Logged in with {SECRET}", "files": {"a.py": f"uses {SECRET}"}})
    text = kept(tmp_path).read_text("utf-8")
    assert SECRET not in text and text.count("[redacted:") >= 4
    kept(tmp_path).write_text(text.replace("Logged in", f"Logged in as root with {SECRET}"), "utf-8")
    assert SECRET not in await p.summary_markdown("s")
    await p.update_summary("s", {"next_steps": ["Log out again"]})
    assert SECRET not in kept(tmp_path).read_text("utf-8")


async def test_what_a_person_writes_into_the_file_stays(
    p: Palimpsest, tmp_path: Path, session: Callable[..., Messages]
) -> None:
    messages = session()
    await compact(p, messages)
    text = kept(tmp_path).read_text("utf-8")
    text = text.replace("## Metadata", "## For Ana\nAsk about the port.\n\n## Metadata")
    text = text.replace(absent.NEXT.now, "- Call the harbour master")
    kept(tmp_path).write_text(text, "utf-8")
    await compact(p, with_edit(session(24)))
    summary = await p.summary("s")
    assert summary.next_steps == ("Call the harbour master",) and summary.notes[0].text == "Ask about the port."
    assert summary.compression_count == 2 and summary.file("/srv/load.py") is not None


@pytest.mark.parametrize("garbage", [b"\xff\xfe\x00", b"", b"lorem ipsum\n", b"\x00" * 300])
async def test_a_garbled_file_is_kept_aside_reported_and_made_anew(
    p: Palimpsest, tmp_path: Path, session: Callable[..., Messages], garbage: bytes
) -> None:
    await compact(p, with_edit(session()))
    kept(tmp_path).write_bytes(garbage)
    assert (await p.summary("s")).file("/srv/load.py") is not None, "the ledger has it all the same"
    assert kept(tmp_path).read_bytes() == garbage, "reading writes nothing"
    notes = await compact(p, with_edit(session(24)))
    assert any("kept aside" in note for note in notes)
    (aside,) = kept(tmp_path).parent.glob("summary-*.unreadable.md")
    assert aside.read_bytes() == garbage and (await p.summary("s")).compression_count == 1


async def test_a_newer_file_is_left_alone_and_the_pass_stands(
    p: Palimpsest, tmp_path: Path, session: Callable[..., Messages]
) -> None:
    await compact(p, session())
    newer = kept(tmp_path).read_text("utf-8").replace("format 1;", "format 9;")
    kept(tmp_path).write_text(newer, "utf-8")
    notes = await compact(p, session(24))
    assert any("not brought up to date (store_newer)" in note for note in notes)
    assert kept(tmp_path).read_text("utf-8") == newer


class Refusing:
    """Keeps nothing."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def get(self, key: SessionKey) -> StoredSummary:
        return StoredSummary(summary=None, version="")

    async def put(self, key: SessionKey, summary: AnchoredSummary, *, after: str) -> str:
        raise self._error

    async def list(self, principal: str = "") -> tuple[str, ...]:
        return ()


@pytest.mark.parametrize("error", [WriteFailed("The disk is full.", next="Free some space."), RuntimeError("a defect")])
async def test_a_summary_that_cannot_be_kept_never_undoes_the_pass(
    session: Callable[..., Messages], error: Exception
) -> None:
    store = MemoryStore()
    store.summaries = Refusing(error)  # pyright: ignore[reportAttributeAccessIssue]  # another keeper of the same port
    async with Palimpsest.open(store=store) as p:
        done = await p.compact_messages(session(), session_id="s", target=0.3, force=True)
        assert any("not brought up to date" in note for note in done.report.notes)
        assert len(await p.list_offloaded("s")) == len(done.report.batches) > 0
        assert await p.expand_messages(done.messages, session_id="s") == session()


async def test_many_updates_at_once_are_all_in_the_summary(p: Palimpsest) -> None:
    await p.update_summary("s", {"state": "At the start"})
    await asyncio.gather(*(p.update_summary("s", {"blockers": [f"Question number {n}?"]}) for n in range(6)))
    assert len((await p.summary("s")).open_blockers) == 6


async def test_a_fork_begins_with_its_parents_summary(p: Palimpsest, session: Callable[..., Messages]) -> None:
    await compact(p, session())
    await p.update_summary("s", {"decisions": ["Keep the first row"]})
    await p.compact_messages(session(20), session_id="fork", parent="s", target=0.3, force=True)
    fork = await p.summary("fork")
    assert [one.decision for one in fork.decisions_made] == ["Keep the first row"]
    assert fork.session == (await p.session("fork")).handle


async def test_a_research_session_has_a_summary_with_its_evidence(p: Palimpsest) -> None:
    items: list[dict[str, Any]] = [{"role": "user", "content": "Which release cut latency most? Cite issues."}]
    for n in range(14):
        url = f"https://x.example/{n}"
        content = f"Release 2.{n}.0 cut latency by {n}.5 % (issue #{n}01). " * 60
        items.append(
            {"kind": "evidence", "title": f"Finding {n}", "url": url, "source_channel": "web", "content": content}
        )
    written = await p.record_items("new", items)
    report = await p.compact_session(written.session_id, window_tokens=written.tokens + 1, force=True)
    assert report.batches
    summary = await p.summary(written.handle, full=True)
    assert summary.session_intent.startswith("Which release cut latency most?")
    assert len(summary.key_artifacts) == 14 and summary.key_artifacts[3] == "Finding 3: https://x.example/3"
    assert summary.compression_count == 1


async def test_a_session_without_a_pass_has_a_summary_too(p: Palimpsest) -> None:
    await p.record_items("s", [{"role": "user", "content": "Move the importer to Postgres"}])
    assert (await p.summary("s")).session_intent == "Move the importer to Postgres"
    assert (await p.store.summaries.get(SessionKey("s"))).summary is None
    with pytest.raises(SessionUnknown):
        await p.summary("nobody")


async def test_json_has_every_section_by_the_seeds_names(p: Palimpsest, session: Callable[..., Messages]) -> None:
    await compact(p, with_edit(session()))
    await p.update_summary("s", {"decisions": {"Use SQL": "joins"}})
    data = msgspec.json.decode(msgspec.json.encode((await p.summary("s")).to_json()))
    assert data["files_modified"] == {"/srv/load.py": ["edited: load"]}
    assert data["decisions_made"][0]["rationale"] == "joins" and data["compression_count"] == 1
    names = ("session_intent", "technical_context", "current_state", "blockers", "errors_encountered", "next_steps")
    assert all(name in data for name in (*names, "key_artifacts"))


async def test_a_long_statement_is_never_cut_and_the_answer_says_that_it_is_long(p: Palimpsest) -> None:
    steps = [f"Check part number {n} of the import by hand and note its hash" for n in range(120)]
    updated = await p.update_summary("s", {"next_steps": steps})
    assert updated.summary.next_steps == tuple(steps) and to_markdown(updated.summary) == updated.markdown
    assert any("more than 1500" in note for note in updated.notes)


async def test_verify_names_a_summary_that_cannot_be_read(p: Palimpsest, tmp_path: Path) -> None:
    await p.update_summary("s", {"state": "One of three done"})
    assert (await p.verify()).findings == ()
    kept(tmp_path).write_bytes(b"\xff")
    findings = (await p.verify()).findings
    assert {one.severity for one in findings} == {"note"} and len(findings) == 2, "unreadable, and not what was written"
    assert all(one.where.endswith("summary.md") and one.next for one in findings)
