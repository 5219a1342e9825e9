"""Diffs and commits: what changed, under its hunk, its file and its commit."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.readers import diff

from .conftest import Bench

DIFF = """diff --git a/f1.py b/f1.py
index aaa1b..bbb1c 100644
--- a/f1.py
+++ b/f1.py
@@ -1,4 +1,4 @@ def run(x):
-    limit = 11
+    limit = 19
-- a list in Markdown, taken out
+- a list in Markdown
     return x

diff --git a/old.py b/new.py
similarity index 100%
rename from old.py
rename to new.py
""".splitlines()

LOG = """commit 354c3c784fda156c1b1a2526f239704ed9bca400
Author: Ann <ann@example.org>
Date:   Mon Nov 23 01:14:57 2026 +0000

    Retry the upload

    It failed on Mondays.

 src/upload.py | 12 +++++++-----
 1 file changed, 7 insertions(+), 5 deletions(-)

""".splitlines()


def owned(lines: Sequence[str]) -> dict[str, tuple[str, float, str]]:
    records = diff.read(lines).records
    return {r.text: (r.kind, r.worth, records[r.under].text if r.under >= 0 else "") for r in records}


def test_changed_lines_stand_under_hunk_and_file_and_outrank_hashes() -> None:
    assert diff.claims(DIFF, 0) == len(DIFF)
    read = owned(DIFF)
    hunk = "@@ -1,4 +1,4 @@ def run(x):"
    assert read["-    limit = 11"] == ("change", 2.0, hunk)
    assert read["+    limit = 19"] == ("change", 2.0, hunk)
    assert read["-- a list in Markdown, taken out"] == ("change", 2.0, hunk)
    assert read[hunk] == ("heading", 1.0, "+++ b/f1.py")
    assert read["index aaa1b..bbb1c 100644"][:2] == ("noise", 0.0)
    assert read["rename to new.py"] == ("change", 1.0, "diff --git a/old.py b/new.py")


def test_a_commit_is_told_by_its_subject_and_its_totals() -> None:
    assert diff.claims(LOG, 0) == len(LOG) - 1
    read = owned(LOG)
    assert read["Retry the upload"] == ("line", 3.0, LOG[0])
    assert read["1 file changed, 7 insertions(+), 5 deletions(-)"] == ("outcome", 4.0, LOG[0])
    assert read["src/upload.py | 12 +++++++-----"] == ("entry", 1.0, LOG[0])
    assert read["Author: Ann <ann@example.org>"][1] < read["It failed on Mondays."][1]


def test_the_totals_of_many_commits_are_no_outcome_of_the_whole() -> None:
    assert owned([*LOG, *LOG])["1 file changed, 7 insertions(+), 5 deletions(-)"][:2] == ("line", 1.5)


def test_a_patch_without_line_numbers_has_files_and_changes() -> None:
    lines = [
        "*** Begin Patch",
        "*** Update File: a.py",
        "@@ def f():",
        "-    x = 1",
        "+    x = 2",
        "*** End Patch",
        "Done!",
    ]
    assert diff.claims(lines, 0) == 6
    read = owned(lines[:6])
    assert read["+    x = 2"] == ("change", 2.0, "@@ def f():")
    assert read["@@ def f():"] == ("heading", 1.0, "*** Update File: a.py")


def test_a_new_file_is_told_by_its_definitions() -> None:
    added = ["+def f(x):", *(f"+    y = x + {i}" for i in range(40))]
    read = owned(
        ["diff --git a/n.py b/n.py", "new file mode 100644", "--- /dev/null", "+++ b/n.py", "@@ -0,0 +1,41 @@", *added]
    )
    assert read["+def f(x):"][1] > read["+    y = x + 7"][1]


@pytest.mark.parametrize(
    ("text", "claimed"),
    [
        ("a1b2c3d Add retries\ne4f5a6b Fix the lock\nwhat else", 2),
        ("[main 45ffe0a] Release v0.8.0\n 48 files changed, 15 insertions(+)\n create mode 100644 a/b.ts\nDone", 3),
        (" a.py | 2 +-\n b.py | 4 ++--\n 2 files changed, 3 insertions(+), 3 deletions(-)", 3),
        ("- a point\n+ another\n- a third", 0),
        ("--- \ntitle: x\n---", 0),
        (" apples | 12\n pears | 13\n plums | 14", 0),
        ("1234567 apples\n2345678 pears", 0),
        ("commit to the plan\nAuthor: me", 0),
    ],
)
def test_only_what_git_writes_is_claimed(text: str, claimed: int) -> None:
    assert diff.claims(text.splitlines(), 0) == claimed


@given(
    st.lists(st.sampled_from([*DIFF, *LOG, "*** Update File: x", "From " + "a" * 40 + " x", "@@ -1,900 +1 @@", "what"]))
)
def test_every_record_is_a_whole_line_under_an_earlier_one(lines: list[str]) -> None:
    records = diff.read(lines).records
    assert [(r.at, r.text) for r in records] == [(i, line.strip()) for i, line in enumerate(lines) if line.strip()]
    assert all(r.under < i for i, r in enumerate(records))
    assert all(start <= diff.claims(lines, start) <= len(lines) for start in range(len(lines)))


def test_that_a_commit_took_a_file_away_is_told_before_the_numbers_of_lines(bench: Bench) -> None:
    """Of a removed document 1,865 lines seemed to be code."""
    made = "\n".join(f" create mode 100644 docs/part_{n}.md" for n in range(40))
    text = f"[main 109a30b] Tidy up\n 41 files changed, 64 insertions(+), 1865 deletions(-)\n{made}\n"
    said = bench.digest(f"{text} delete mode 100644 docs/refactor.md\n", share=0.2).parts[0].text
    assert "delete mode 100644 docs/refactor.md" in said
