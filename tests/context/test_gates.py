"""The gates of seed 004: which one an item goes through, and what is named as evidence."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.context.gates import UNSURE, gates
from palimpsest_mcp.context.judge import judge
from palimpsest_mcp.context.plan import plan
from palimpsest_mcp.context.policies import ANCHORED, PHASED, RESEARCH
from palimpsest_mcp.models.items import Action, Item, Verb, content_sha256
from palimpsest_mcp.models.plans import ContextItem, Gate

CODE = "\n".join(f"def step_{n}(row): return row * {n}" for n in range(40))
LOOSE = msgspec.structs.replace(ANCHORED, keep_last_messages=0)
"""Without the newest messages, so that a short session shows every rule."""


class Session:
    """A session that is written down line by line; every call and every message is a row."""

    def __init__(self) -> None:
        self.entries: list[ContextItem] = []
        self._row = -1

    def says(self, role: str, text: str, kind: str = "message") -> str:
        self._row += 1
        name = f"{role[0]}{self._row}"
        self._add(Item(id=name, kind=kind, role=role, position=(self._row, 0), content=text, sha256=""), 50)
        return name

    def calls(self, tool: str, verb: Verb, target: str, text: str, *, is_error: bool = False, **args: Any) -> str:
        self._row += 1
        call, unit = f"c{self._row}", f"call:c{self._row}"
        shared: dict[str, Any] = {
            "unit": unit, "tool_name": tool, "call_id": call, "args": {"target": target, **args},
            "action": Action(verb=verb, target=target),
        }  # fmt: skip
        self._add(
            Item(id=unit, kind="tool_call", role="assistant", position=(self._row, 0), content={}, sha256="", **shared),
            30,
        )
        result = Item(
            id=call, kind="tool_result", role="tool", position=(self._row, 1), content=text,
            sha256=content_sha256(text), size_bytes=len(text), is_error=is_error, **shared,
        )  # fmt: skip
        self._add(result, 1000)
        return call

    def reads(self, path: str, text: str = CODE, **args: Any) -> str:
        return self.calls("Read", "read", path, text, **args)

    def edits(self, path: str) -> str:
        return self.calls("Edit", "edit", path, "updated")

    def runs(self, command: str, text: str, *, is_error: bool = False) -> str:
        return self.calls("Bash", "run", command, text, is_error=is_error)

    def idles(self, rows: int = 25) -> None:
        """Time goes by: what was touched before is no longer being worked on."""
        for _ in range(rows):
            self.says("assistant", "Going on.")

    def gates(self) -> dict[str, Gate]:
        return gates(self.entries, LOOSE)

    def _add(self, item: Item, tokens: int) -> None:
        self.entries.append(ContextItem(item=item, tokens=tokens))


def test_a_read_whose_lines_a_later_read_shows_again_may_be_forgotten() -> None:
    s = Session()
    first, second = s.reads("src/a.py"), s.reads("src/a.py", CODE + "\n# one line more than before")
    found = s.gates()
    assert found[first] == Gate("forget", f"src/a.py was read again: {second}")
    assert found[second].name == "preserve"


def test_line_numbers_before_the_lines_make_no_other_text() -> None:
    s = Session()
    first = s.reads("src/a.py", "\n".join(f"{n:6}\t{line}" for n, line in enumerate(CODE.split("\n"), 1)))
    s.reads("src/a.py", "\n".join(f"{n:6}\t{line}" for n, line in enumerate(["# a line on top", *CODE.split("\n")], 1)))
    assert s.gates()[first].name == "forget"


def test_a_later_read_of_another_part_supersedes_nothing() -> None:
    s = Session()
    first = s.reads("src/a.py", CODE, offset=1)
    s.reads("src/a.py", "\n".join(f"class Part{n}: pass" for n in range(40)), offset=400)
    assert s.gates()[first] == Gate("preserve", UNSURE)


def test_a_read_of_a_file_that_was_changed_since_may_be_forgotten() -> None:
    s = Session()
    read, edit = s.reads("src/a.py"), s.edits("src/a.py")
    s.idles()
    assert s.gates()[read] == Gate("forget", f"src/a.py was changed since: {edit}")


def test_a_change_that_failed_supersedes_nothing() -> None:
    s = Session()
    read = s.reads("src/a.py")
    s.calls("Edit", "edit", "src/a.py", "old text not found", is_error=True)
    s.idles()
    assert s.gates()[read].name == "preserve"


def test_the_newest_read_of_a_file_that_is_being_edited_stays_word_for_word() -> None:
    s = Session()
    read, edit = s.reads("src/a.py"), s.edits("src/a.py")
    assert s.gates()[read] == Gate("verbatim", f"src/a.py is being edited: {edit}")


def test_the_forget_gate_comes_before_the_verbatim_gate() -> None:
    s = Session()
    read = s.reads("src/a.py")
    s.edits("src/b.py")
    s.edits("src/a.py")
    shown = s.runs("git show HEAD:src/a.py", CODE)
    assert s.gates()[read] == Gate("forget", f"the same bytes stand in {shown}")


def test_what_speaks_of_a_file_in_work_is_preserved_for_that() -> None:
    s = Session()
    found = s.calls("Grep", "search", "step_3", "src/a.py:4:def step_3\nsrc/b.py:9:step_3(row)")
    s.edits("src/a.py")
    assert s.gates()[found] == Gate("preserve", "names src/a.py, which is being worked on")


def test_an_error_that_a_later_run_of_the_same_command_resolved_may_be_forgotten() -> None:
    s = Session()
    bad = s.runs("npm test", "FAILED: 3 tests failed\nCommand exited with code 1", is_error=True)
    good = s.runs("npm test", "12 passed, 0 failed")
    assert s.gates()[bad] == Gate("forget", f"the same call went well later: {good}")


@pytest.mark.parametrize("later", ["npm test -- --only ui", "npm test 2>&1 | tail -1"])
def test_neither_another_command_nor_a_filtered_one_resolves_an_error(later: str) -> None:
    s = Session()
    bad = s.runs("npm test", "3 tests failed", is_error=True)
    s.runs(later, "2 passed, 0 failed")
    s.idles()
    assert s.gates()[bad].name == "preserve"


def test_silence_resolves_only_what_the_host_had_marked_as_an_error() -> None:
    s = Session()
    marked, said = s.runs("make", "boom", is_error=True), s.runs("tsc", "a.ts(1,2): error TS2304: no name")
    good = s.runs("make", "done")
    s.runs("tsc", "Debugger attached.")
    s.idles()
    found = s.gates()
    assert found[marked] == Gate("forget", f"the same call went well later: {good}")
    assert found[said].name == "preserve"


def test_an_error_that_is_being_debugged_stays_word_for_word_until_it_is_old() -> None:
    s = Session()
    bad = s.runs("npm test", "Error: no such port", is_error=True)
    assert s.gates()[bad] == Gate("verbatim", "an error that is not resolved: npm test")
    s.idles()
    assert s.gates()[bad] == Gate("preserve", UNSURE)


def test_of_exact_repeats_the_newest_stays() -> None:
    s = Session()
    first, second = s.runs("list ports", CODE), s.runs("list all ports", CODE)
    found = s.gates()
    assert found[first] == Gate("forget", f"the same bytes stand in {second}")
    assert found[second].name == "preserve"


def test_near_repeats_count_for_the_same_call_only() -> None:
    s = Session()
    first, other = s.runs("list ports", CODE), s.runs("list hosts", CODE + "\nand a last line of another kind")
    again = s.runs("list ports", CODE + "\nand a last line")
    found = s.gates()
    assert found[first] == Gate("forget", f"the same call gave nearly the same again: {again}")
    assert found[other].name == "preserve"


def test_output_whose_conclusion_an_answer_gives_may_be_forgotten() -> None:
    s = Session()
    run = s.runs("mix test", "Compiling 4 files\n........\n84 tests, 0 failures")
    answer = s.says("assistant", "All 84 tests pass. On to the next part.")
    assert s.gates()[run] == Gate("forget", f"its conclusion stands in {answer}")


@pytest.mark.parametrize("answer", ["All tests pass.", "I changed 84 lines.", "All 8 tests pass."])
def test_an_answer_without_the_very_counts_concludes_nothing(answer: str) -> None:
    s = Session()
    run = s.runs("mix test", "84 tests, 0 failures")
    s.says("assistant", answer)
    assert s.gates()[run].name == "preserve"


def test_what_somebody_calls_a_dead_end_by_name_may_be_forgotten() -> None:
    s = Session()
    read, other = s.reads("src/pool.py"), s.reads("src/cache.py", CODE + "\nLIMIT_OF_CACHE = 3")
    words = s.says("user", "pool.py is a dead end, look at the cache.")
    found = s.gates()
    assert found[read] == Gate("forget", f"{words} calls src/pool.py a dead end")
    assert found[other].name == "preserve"


def test_a_dead_end_that_was_touched_again_was_none() -> None:
    s = Session()
    read = s.reads("src/pool.py", CODE, offset=1)
    s.says("user", "pool.py is a dead end.")
    s.reads("src/pool.py", "\n".join(f"class Part{n}: pass" for n in range(40)), offset=100)
    assert s.gates()[read].name == "preserve"


def test_a_decision_that_a_later_message_drops_by_name_is_superseded() -> None:
    s = Session()
    s.says("user", "Make the queue durable.")
    early = s.says("assistant", "I'll use `redis` for the queue.")
    late = s.says("user", "Let's use postgres instead of redis.")
    found = s.gates()
    assert found[early] == Gate("forget", f"{late} supersedes the decision for redis")
    assert found[late] == Gate("preserve", "the user's decision")


@pytest.mark.parametrize(
    ("role", "words", "evidence"),
    [
        ("user", "It must answer within 5 ms.", "the user's criterion"),
        ("user", "I prefer tabs.", "the user's preference"),
        ("assistant", "Which region is it for?", "the agent's open question"),
        ("user", "That looks good.", "the user's feedback"),
        ("assistant", "We settled on sqlite.", "the agent's decision"),
    ],
)
def test_messages_are_preserved_for_what_they_say(role: str, words: str, evidence: str) -> None:
    s = Session()
    s.says("user", "Make the queue durable.")
    name = s.says(role, words)
    assert s.gates()[name] == Gate("preserve", evidence)


def test_the_task_the_persona_and_loaded_guidelines_are_told_apart() -> None:
    s = Session()
    task = s.says("user", "Fix the import.", kind="original_query")
    persona = s.says("system", "You are careful.", kind="system_prompt")
    old, skill = s.reads(".claude/skills/sql/SKILL.md"), s.calls("Skill", "other", "sql", "Use joins." * 30)
    new = s.reads(".claude/skills/sql/SKILL.md", CODE + "\nnever select *")
    found = s.gates()
    assert found[task] == Gate("preserve", "the task as it was given")
    assert found[persona].name == found[skill].name == found[new].name == "verbatim"
    assert found[old].name == "forget"


def test_the_newest_messages_stay_word_for_word_whatever_else_fits() -> None:
    s = Session()
    first = s.reads("src/a.py")
    s.reads("src/a.py")
    assert gates(s.entries, PHASED)[first] == Gate("verbatim", "one of the newest 10 messages")


def forgettable_session() -> tuple[Session, str, str]:
    """An old result that stays useful, one that was superseded, and enough behind them."""
    s = Session()
    useful = s.runs("list ports", "\n".join(f"port {n} is open" for n in range(99)))
    stale = s.reads("src/a.py")
    for n in range(14):
        s.reads("src/a.py" if n == 2 else f"src/m{n}.py", CODE + f"\nNUMBER_{n} = {n}")
    return s, useful, stale


def test_what_may_be_forgotten_leaves_first_and_as_a_pointer() -> None:
    s, _, stale = forgettable_session()
    found = plan(s.entries, LOOSE, force=True, target=0.9)
    assert found.slots[0].item_ids == (stale,) and found.slots[0].pointer
    assert not any(slot.pointer for slot in found.slots[1:])
    # Without gates, too, what a later call says again leaves first.
    assert plan(s.entries, RESEARCH, force=True, target=0.9).slots[0].item_ids == (stale,)
    assert all(one.gate is None for one in judge(s.entries, RESEARCH))


def test_what_stays_word_for_word_gives_way_to_a_forced_keep_last_only() -> None:
    s, _, _ = forgettable_session()
    s.edits("src/m0.py")
    read = next(
        one.item.id for one in s.entries if one.item.role == "tool" and one.item.args == {"target": "src/m0.py"}
    )

    def verdict(**how: Any) -> tuple[str, str]:
        return next((one.verdict, one.reason) for one in judge(s.entries, LOOSE, **how) if one.item_id == read)

    assert verdict() == verdict(force=True) == verdict(keep_last=3) == ("protected", "verbatim")
    assert verdict(keep_last=3, force=True)[0] == "free"


@given(
    st.lists(st.tuples(st.sampled_from(["read", "edit", "run", "say"]), st.integers(0, 3), st.booleans()), max_size=30)
)
def test_whatever_happened_every_item_has_one_gate_and_the_newest_of_a_kind_is_never_forgotten(
    steps: list[tuple[str, int, bool]],
) -> None:
    s = Session()
    newest: dict[str, str] = {}
    for verb, n, flag in steps:
        if verb == "read":
            newest[f"read {n}"] = s.reads(f"src/{n}.py", CODE + f"\nNUMBER_OF_FILE = {n}")
        elif verb == "edit":
            s.edits(f"src/{n}.py")
        elif verb == "run":
            newest[f"run {n}"] = s.runs(f"make {n}", f"target {n} of the make file says {flag} to it", is_error=flag)
        else:
            s.says("assistant", f"Step {n} is through.")
    found = s.gates()
    assert found.keys() == {one.item.id for one in s.entries}
    assert all(one.evidence for one in found.values())
    assert not any(found[name].name == "forget" for key, name in newest.items() if key.startswith("run"))
