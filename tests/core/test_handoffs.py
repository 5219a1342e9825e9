"""Handoffs through the library: written from a session, loaded by the next, refused where nobody could continue."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import HandoffIncomplete, HandoffSecret, HandoffUnknown, InvalidArgument, SessionUnknown
from palimpsest_mcp.memory.handoff.markdown import from_markdown
from palimpsest_mcp.models.handoffs import PHASES, Choice, ImplementationProgress, TaskSummary
from palimpsest_mcp.ports.seams import Redacted
from palimpsest_mcp.settings.settings import Settings
from palimpsest_mcp.store import DiskStore

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
SECRET = "ghp_" + "9fK2xQ7mZr4TbW8s" + "Ld1vYc5hNj3PgE6uAo0i"
TASK = "Make the nightly import survive duplicate rows"
Open = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: inside a repository."""
    inner = tmp_path / "work" / "shop" / "src"
    inner.mkdir(parents=True)
    (tmp_path / "work" / "shop" / ".git").mkdir()
    monkeypatch.chdir(inner)
    return inner.parent


@pytest.fixture
async def p(home: Path, folder: Path, tmp_path: Path) -> AsyncGenerator[Palimpsest]:
    settings = Settings.load(home=home)
    store = DiskStore(home, clock=lambda: NOW, temp=tmp_path)
    async with Palimpsest.open(settings=settings, clock=lambda: NOW, store=store) as opened:
        yield opened
    await store.aclose()


def call(number: int, name: str, args: dict[str, Any], result: str) -> list[dict[str, Any]]:
    use = {"role": "assistant", "kind": "tool_call", "tool_name": name, "tool_use_id": f"c{number}", "args": args}
    return [use, {"role": "tool", "tool_name": name, "tool_use_id": f"c{number}", "content": result}]


def read(path: str) -> str:
    return Path(path).read_bytes().decode()


def stands(path: str) -> bool:
    return Path(path).exists()


def files_in(home: Path) -> list[Path]:
    """Everything below `memory/` but its lock."""
    return [path for path in home.rglob("memory/**/*") if path.is_file() and path.suffix != ".lock"]


LOAD = "/srv/shop/etl/load.py"
PYTEST = {"command": "pytest tests/test_load.py"}


def worked() -> list[dict[str, Any]]:
    """A short coding session: a request, a read, an edit, a failing and a passing run, a commit, a last word."""
    body = "\n".join(f"line {n}" for n in range(1, 60))
    edit = {"file_path": LOAD, "old_string": "line 40\nline 41", "new_string": "a\nb\nc"}
    said = "Rows with a known id are skipped now. " * 8 + "May the old duplicates be deleted as well?"
    asked = "The nightly import in etl/load.py breaks on duplicate rows. Please never drop the log table."
    return [
        {"role": "user", "content": asked},
        *call(1, "Read", {"file_path": LOAD}, body),
        *call(2, "Edit", edit, "The file has been updated."),
        *call(3, "Bash", PYTEST, "E   AssertionError: 2 != 1\n1 failed, 11 passed in 0.3s"),
        *call(4, "Bash", PYTEST, "12 passed in 0.3s"),
        *call(
            5, "Bash", {"command": "git commit -am 'Skip known ids'"}, "[main 1a2b3c4] Skip known ids\n 1 file changed"
        ),
        {"role": "assistant", "content": said},
    ]


async def test_code_alone_fills_what_a_colleague_needs(p: Palimpsest) -> None:
    await p.record_items("s", worked())
    written = await p.write_handoff("s", TASK)
    handoff = from_markdown(written.text)
    assert isinstance(handoff, TaskSummary)
    assert handoff.task.startswith(TASK) and "breaks on duplicate rows" in handoff.task
    (load,) = [one for one in handoff.artifacts if one.path.endswith("load.py")]
    assert load.lines == "40-42" and load.note.startswith("edited")
    assert "Committed: [main 1a2b3c4] Skip known ids" in handoff.complete
    assert any("`pytest tests/test_load.py` went well" in row and "12 passed" in row for row in handoff.complete)
    assert any("Rows with a known id are skipped now." in fact for fact in handoff.facts)
    assert any("May the old duplicates be deleted" in row for row in handoff.questions)
    assert "never drop the log table" in (await p.load_handoff()).text
    assert any("restore" in row or "show" in row for row in handoff.pointers)
    assert written.tokens < 2_000 and (await p.session("s")).handle == handoff.session


async def test_the_agents_fields_come_first_and_the_found_ones_stay(p: Palimpsest) -> None:
    await p.record_items("s", worked())
    fields = {
        "decisions": {"Keep the first of two": "the source repeats them"},
        "current_state": {"in_progress": ["two files in one night"], "complete": "load.py skips known ids"},
        "Key Context for Continuation": {"facts": ["ids repeat after a restart"], "open questions": ["Which ids?"]},
    }
    handoff = from_markdown((await p.write_handoff("s", TASK, fields=fields)).text)
    assert isinstance(handoff, TaskSummary)
    assert handoff.decisions == (Choice(decision="Keep the first of two", rationale="the source repeats them"),)
    assert handoff.facts[0] == "ids repeat after a restart" and len(handoff.facts) > 1
    assert handoff.in_progress[0] == "two files in one night" and handoff.complete[0] == "load.py skips known ids"
    assert handoff.questions[0] == "Which ids?" and len(handoff.questions) == 2


@pytest.mark.parametrize("phase", PHASES)
async def test_every_phase_can_be_filled_from_any_session_with_items(p: Palimpsest, phase: str, tmp_path: Path) -> None:
    await p.record_items("s", [{"role": "tool", "tool_name": "Bash", "content": "3 passed"}])
    written = await p.write_handoff("s", TASK, phase=phase)
    end = "" if phase == "task" else f"-{phase}"
    assert written.name == f"2026-11-22-make-the-nightly-import-survive-duplicate-rows{end}"
    assert read(written.path) == written.text
    temp = Path(written.path).is_relative_to(tmp_path / "home")
    assert temp == (phase not in ("fork", "fork_back"))


async def test_a_session_without_items_is_refused_with_what_is_missing(p: Palimpsest, home: Path) -> None:
    await p.record_items("s", [])
    with pytest.raises(HandoffIncomplete) as refused:
        await p.write_handoff("s", TASK)
    assert refused.value.missing == ("current_state", "key_context")
    assert "current_state, key_context" in refused.value.message and "key_context" in refused.value.next
    assert not files_in(home)
    with pytest.raises(SessionUnknown):
        await p.write_handoff("nobody", TASK, fields={"facts": ["x y z"]})
    with pytest.raises(InvalidArgument):
        await p.write_handoff("s", "  ")
    with pytest.raises(InvalidArgument, match="1 to 4000"):
        await p.write_handoff("s", "x" * 5_000)


async def test_what_the_agent_states_is_enough_where_nothing_was_recorded(p: Palimpsest) -> None:
    fields = {"in_progress": ["etl/load.py, line 40"], "key_context": ["ids repeat after a restart"]}
    written = await p.write_handoff("new", TASK, fields=fields)
    assert (await p.load_handoff()).name == written.name


async def test_a_second_one_on_the_same_day_never_overwrites(p: Palimpsest, home: Path) -> None:
    await p.record_items("s", worked())
    paths = [Path((await p.write_handoff("s", TASK)).path) for _ in range(3)]
    first = paths[0].read_bytes()
    assert [path.stem[-5:] for path in paths] == ["-rows", "ows-2", "ows-3"] and len(set(paths)) == 3
    assert hashlib.sha256(first).digest() == hashlib.sha256(paths[0].read_bytes()).digest()
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o600}
    assert (home / "memory").stat().st_mode & 0o777 == 0o700


async def test_loading_gives_key_context_and_pointers_and_the_rest_on_demand(p: Palimpsest) -> None:
    await p.record_items("s", worked())
    written = await p.write_handoff("s", TASK, fields={"decisions": {"Keep the first of two": "they repeat"}})
    loaded = await p.load_handoff()
    assert "## Key Context for Continuation" in loaded.text and "## Pointers" in loaded.text
    assert "## Decisions Made" in loaded.text and "Keep the first of two" in loaded.text
    assert "## Current State" in loaded.text and "## Artifacts" not in loaded.text
    assert "artifacts_produced" in loaded.text and loaded.name == written.name
    one = await p.load_handoff(TASK, section="decisions_made")
    assert "Keep the first of two" in one.text and "## Key Context" not in one.text
    whole = await p.load_handoff(TASK.upper(), section="all")
    assert written.text.rstrip() in whole.text
    with pytest.raises(InvalidArgument, match='no section "history"'):
        await p.load_handoff(section="history")


KEY = {
    "research": ("Standing Orders,Decisions Made,Key Findings,Open Errors,Open Questions", "Files Involved"),
    "plan": ("Standing Orders,Execution Order,Decisions Made,Status,Open Errors", "Changes,Test Strategy"),
    "implementation": ("Standing Orders,Decisions Made,In Progress,Remaining,Open Errors", "Completed,Test Results"),
}
"""What is given, and what is kept back."""


@pytest.mark.parametrize("phase", KEY)
async def test_each_phase_has_a_key_context_of_its_own(p: Palimpsest, phase: str) -> None:
    await p.record_items("s", worked())
    await p.write_handoff("s", TASK, phase=phase)
    text = (await p.load_handoff(TASK)).text
    given, kept = KEY[phase]
    assert all(f"## {heading}\n" in text for heading in given.split(","))
    assert not any(f"## {heading}\n" in text for heading in kept.split(","))


async def test_the_project_is_the_repository_and_another_one_is_loaded_only_when_asked(
    p: Palimpsest, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await p.record_items("s", worked())
    mine = await p.write_handoff("s", TASK)
    assert mine.project == str(folder)
    elsewhere = tmp_path / "other"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    with pytest.raises(HandoffUnknown) as unknown:
        await p.load_handoff()
    assert str(folder) in unknown.value.next
    with pytest.raises(HandoffUnknown):
        await p.load_handoff(TASK)
    for name in (str(folder), "shop", "work/shop", "*"):
        assert (await p.load_handoff(TASK, project=name)).name == mine.name
    hers = await p.write_handoff("s", "Something else entirely")
    assert hers.project == str(elsewhere) and (await p.load_handoff()).name == hers.name
    assert [one.name for one in await p.handoffs()] == [hers.name]
    assert {one.name for one in await p.handoffs(project="*")} == {mine.name, hers.name}


async def test_a_fork_is_given_whole_once_and_deleted_then(p: Palimpsest) -> None:
    await p.record_items("s", worked())
    kept = await p.write_handoff("s", TASK)
    fork = await p.write_handoff("s", TASK, phase="fork", fields={"scope": ["only etl/load.py"]})
    assert (await p.load_handoff(TASK)).name == kept.name, "a fork is taken by its name only while there is another"
    loaded = await p.load_handoff(fork.name)
    assert loaded.consumed and "only etl/load.py" in loaded.text and "Hand-Back Expected" in loaded.text
    assert not stands(fork.path)
    with pytest.raises(HandoffUnknown):
        await p.load_handoff(fork.name)
    assert stands(kept.path)


async def test_no_planted_secret_reaches_a_file_an_answer_or_a_name(p: Palimpsest, home: Path) -> None:
    items = [*worked(), {"role": "user", "content": f"please use the token {SECRET} and never print it"}]
    await p.record_items("s", items)
    half = len(SECRET) // 2
    fields = {"facts": [f"token {SECRET}", SECRET[:half], SECRET[half:]], "decisions": {SECRET: SECRET}}
    for phase in ("task", "research", "plan", "implementation"):
        known = fields if phase == "task" else {}
        written = await p.write_handoff("s", f"Rotate {SECRET} everywhere", phase=phase, fields=known)
        assert SECRET not in written.text and SECRET not in written.name and written.redacted
        assert SECRET not in (await p.load_handoff(written.name, section="all")).text
    assert len([one for one in files_in(home) if "witness" not in one.parts]) == 4
    assert not any(SECRET in path.name or SECRET in read(str(path)) for path in files_in(home))


async def test_secrets_in_fields_are_masked_by_themselves_and_counted(p: Palimpsest) -> None:
    """Before anything is cut: half a secret may not look like one."""
    fields = {"facts": [f"the token is {SECRET}"], "in_progress": ["the rotation of tokens"]}
    written = await p.write_handoff("new", "Rotate the tokens " * 4 + f"beginning with {SECRET}", fields=fields)
    assert written.redacted == {"gh-token": 2}, "in the task and in the fact; the title was cut behind the mask"
    assert not any(SECRET[at : at + 8] in written.text + written.name for at in range(len(SECRET) - 7))


async def test_a_secret_over_two_fields_is_masked_in_both(p: Palimpsest) -> None:
    half = len(SECRET) // 2
    fields = {"facts": [f"first {SECRET[:half]}", f"{SECRET[half:]} then"], "in_progress": ["the rotation of tokens"]}
    written = await p.write_handoff("new", TASK, fields=fields)
    assert SECRET[half:] not in written.text and SECRET[:half] not in written.text


async def test_a_text_that_still_matches_is_not_written_and_the_error_names_kind_and_place(
    p: Palimpsest, home: Path
) -> None:
    """A redactor that sees a secret only in a whole file stands for what no entry shows by itself."""

    class Late:
        """Finds, and cannot mask."""

        rules = ()

        def redact(self, text: str) -> Redacted:
            return Redacted(text=text, counts={"github-token": 1} if "## " in text and "open sesame" in text else {})

        def redact_all(self, texts: Any) -> tuple[Redacted, ...]:
            return tuple(map(self.redact, texts))

    await p.record_items("s", worked())
    object.__setattr__(p.deps, "redactor", Late())
    with pytest.raises(HandoffSecret) as refused:
        await p.write_handoff("s", TASK, fields={"questions": ["open sesame opens it, does it?"]})
    assert (refused.value.kinds, refused.value.where) == (("github-token",), ("Key Context for Continuation",))
    assert "sesame" not in str(refused.value.to_json()) and not files_in(home)


async def test_placeholders_and_unknown_fields_are_refused_with_an_example(p: Palimpsest) -> None:
    await p.record_items("s", worked())
    for fields in ({"facts": ["[TBD]"]}, {"colour": "red"}, {"decisions": [{"why": "x"}]}, {"facts": [True]}):
        with pytest.raises(InvalidArgument, match="fields|Fields"):
            await p.write_handoff("s", TASK, fields=fields)
    with pytest.raises(InvalidArgument, match="research, plan"):
        await p.write_handoff("s", TASK, phase="dreaming")


async def test_an_implementation_is_filled_and_stated_by_boxes(p: Palimpsest) -> None:
    await p.record_items("s", worked())
    fields = {"done": ["load.py"], "remaining": {"the note": "open", "its link": "in progress"}, "tests": "12 passed"}
    handoff = from_markdown((await p.write_handoff("s", TASK, phase="implementation", fields=fields)).text)
    assert isinstance(handoff, ImplementationProgress)
    assert [(one.text, one.state) for one in handoff.remaining] == [("the note", "open"), ("its link", "doing")]
    assert handoff.completed[0].text == "load.py" and handoff.completed[0].state == "done"
    assert handoff.tests[0] == "12 passed" and len(handoff.tests) == 2


@pytest.mark.parametrize(
    ("used", "action"),
    [
        (29_999, "no action"),
        (30_000, "prepare: identify summarization candidates"),
        (40_000, "write summary to memory/, start fresh context window"),
        (50_000, "summarize everything except current task"),
        (65_000, "full summary to memory/, start new conversation"),
    ],
)
async def test_under_the_phased_policy_the_meter_recommends_the_seeds_actions(
    p: Palimpsest, used: int, action: str
) -> None:
    await p.record_items("s", worked())
    usage = await p.check_context_ratio("s", used_tokens=used, window_tokens=100_000, policy="phased")
    assert usage.action == action


def long_session(results: int = 40) -> list[dict[str, Any]]:
    """Results that share their specifics, so that digests name each other."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find out why the import is slow, never restart it."}]
    for n in range(results):
        use = {
            "type": "tool_use",
            "id": f"c{n}",
            "name": "Bash",
            "input": {"command": f"./check.sh {n} > /srv/out-{n}"},
        }
        rows = "\n".join(
            f"worker-{row:03d} imported {1000 + row} rows from /data/part-{row:04d}.csv" for row in range(60)
        )
        messages += [
            {
                "role": "assistant",
                "content": [{"type": "text", "text": f"Step {n}. " + "It is slow here too. " * 20}, use],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": f"c{n}", "content": f"run {n}\n{rows}"}],
            },
            {"role": "user", "content": f"please look at step {n} of the import as well, and say why"},
        ]
    return messages


async def test_pointers_count_every_elsewhere_as_left_out(p: Palimpsest) -> None:
    """D9: the next reader does not have the digests that would show them."""
    await p.compact_messages(long_session(), session_id="s", target=0.3, force=True)
    batches = await p.list_offloaded("s")
    total, shown = (sum(getattr(one.specifics, name) for one in batches) for name in ("total", "shown"))
    assert sum(one.specifics.elsewhere for one in batches) > 0
    handoff = from_markdown((await p.write_handoff("s", TASK)).text)
    (row,) = [one for one in handoff.pointers if one.startswith("Archive:")]
    assert f"{total - shown:,} are left out" in row and "restore_batch" in row and batches[-1].batch_id in row


async def test_what_code_finds_fits_into_the_budget(p: Palimpsest) -> None:
    await p.compact_messages(long_session(45), session_id="s", target=0.3, force=True)
    for phase in PHASES:
        written = await p.write_handoff("s", TASK, phase=phase)
        assert written.tokens < 2_000 and not written.notes, phase
    assert sum(from_markdown((await p.write_handoff("s", TASK)).text).left_out.values()) > 50


async def test_what_is_stated_is_never_cut_and_says_so_when_it_is_too_much(p: Palimpsest) -> None:
    await p.record_items("s", worked())
    facts = [
        f"fact number {n} about the importer that must not be cut, whatever else there is to say" for n in range(100)
    ]
    written = await p.write_handoff("s", TASK, fields={"facts": facts})
    assert all(fact in written.text for fact in facts) and "more than 2000" in written.notes[0]


@pytest.mark.shared
@pytest.mark.long
async def test_the_longest_shared_session_fits_and_a_stranger_can_go_on(p: Palimpsest, shared: Path) -> None:
    """943 messages, 403,000 tokens: goal, last exchange, newest commits, where the work was, how to get more."""
    session = shared / "data" / "converted" / "pi-mono.jsonl.gz"
    done = await p.compact_file(session, line=1, session_id="pi", target=0.3, force=True)
    written = await p.write_handoff("pi", "Untangle the run modes of the coding agent")
    assert written.tokens < 2_000
    loaded = (await p.load_handoff()).text
    for needed in (
        "i feel like this is one big mess",
        "no, we want to put it in pendingMessageContainer",
        "`_flushPendingBashMessages()` adds to context",
        "[refactor 803d4b6] Show pending bash executions",
        "modes/interactive/interactive-mode.ts` (",
        "core/agent-session.ts` (",
        f"restore_batch {done.report.handle}",
    ):
        assert needed in loaded, needed
