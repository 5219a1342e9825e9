"""A summary keeps to its budget by leaving out what the ledger gives again, and says how much and where."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_mcp.memory.summary.errors_met import GONE
from palimpsest_mcp.memory.summary.fit import BUDGET_TOKENS, fit
from palimpsest_mcp.memory.summary.sections import from_markdown, to_markdown
from palimpsest_mcp.models.summaries import AnchoredSummary, ChangedFile, Decision, ErrorMet, Step, Todo


def count(text: str) -> int:
    """About what o200k counts."""
    return len(text) // 3


def found(files: int, *, shell: int = 0, errors: int = 0) -> AnchoredSummary:
    names = ("load", "save", "connect")
    return AnchoredSummary(
        session="sabcd",
        session_intent="Move the importer to Postgres",
        files_modified=(
            *(
                ChangedFile(path=f"/srv/app/module_{n}.py", steps=(Step(verb="edited", times=n + 1, names=names),))
                for n in range(files)
            ),
            *(ChangedFile(path=f"s{n}.py", folder="/srv/app", steps=(Step(verb="moved"),)) for n in range(shell)),
        ),
        errors_encountered=tuple(
            ErrorMet(error=f"E{n}: no", where="make", resolution="" if n % 2 else GONE["run"]) for n in range(errors)
        ),
        todos=tuple(Todo(text=f"Step number {n} of the plan") for n in range(60)),
        key_artifacts=tuple(f"[main {n:07x}] Change number {n} of the importer" for n in range(60)),
    )


def test_a_small_summary_is_left_whole() -> None:
    small = msgspec.structs.replace(found(2), todos=(), key_artifacts=())
    assert fit(AnchoredSummary(session="sabcd"), small, count) == small


def test_files_stay_longest_and_every_other_cut_is_counted() -> None:
    whole = found(20, errors=30)
    fitted = fit(AnchoredSummary(session="sabcd"), whole, count)
    assert count(to_markdown(fitted)) < BUDGET_TOKENS
    assert [one.path for one in fitted.files_modified] == [one.path for one in whole.files_modified]
    assert fitted.left_out["next_steps"] == 60 - len(fitted.todos)
    assert fitted.left_out["key_artifacts"] == 60 - len(fitted.key_artifacts)
    assert fitted.left_out["errors_encountered"] == 30 - len(fitted.errors_encountered)
    assert fitted.key_artifacts[-1] == whole.key_artifacts[-1]


def test_more_files_than_fit_are_counted_with_where_they_are() -> None:
    whole = found(200, shell=100)
    fitted = fit(AnchoredSummary(session="sabcd"), whole, count)
    text = to_markdown(fitted)
    assert count(text) < BUDGET_TOKENS
    assert fitted.left_out["files_modified"] == 300 - len(fitted.files_modified) > 0
    assert f"… and {fitted.left_out['files_modified']} more: `palimpsest-mcp summary sabcd --full`" in text
    assert not any(one.folder for one in fitted.files_modified), "files that only a shell named leave first"
    assert fitted.files_modified[-1].path == "/srv/app/module_199.py"


def test_what_somebody_stated_is_never_cut() -> None:
    stated = AnchoredSummary(
        session="sabcd",
        decisions_made=tuple(Decision(decision=f"Decision number {n} about the schema") for n in range(90)),
        next_steps=tuple(f"Do thing number {n} on the list" for n in range(90)),
        files_modified=(ChangedFile(path="/srv/app/module_0.py", changes=("reads in pieces",)),),
    )
    fitted = fit(stated, found(200), count)
    assert fitted.decisions_made == stated.decisions_made and fitted.next_steps == stated.next_steps
    kept = fitted.file("/srv/app/module_0.py")
    assert kept is not None and kept.changes == ("reads in pieces",)


def test_fitting_again_from_what_was_kept_changes_nothing() -> None:
    for whole in (found(20, errors=30), found(200, shell=100)):
        once = fit(AnchoredSummary(session="sabcd"), whole, count)
        assert fit(from_markdown(to_markdown(once)), whole, count) == once


@settings(max_examples=min(25, settings().max_examples), deadline=None)
@given(st.integers(0, 120), st.integers(0, 120), st.integers(0, 40), st.integers(700, 3_000))
def test_any_session_fits_and_loses_no_count(files: int, shell: int, errors: int, limit: int) -> None:
    fitted = fit(AnchoredSummary(session="sabcd"), found(files, shell=shell, errors=errors), count, limit)
    assert count(to_markdown(fitted)) < limit
    assert len(fitted.files_modified) + fitted.left_out.get("files_modified", 0) == files + shell
    assert from_markdown(to_markdown(fitted)) == fitted
