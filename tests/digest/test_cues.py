"""What is marked in a reading: how it went, what went wrong, what does not hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.cues import mark
from palimpsest_mcp.digest.records import Kind, Reading, Record
from palimpsest_mcp.digest.source import Source


def reading(text: str, kind: Kind = "line") -> Reading:
    lines = text.split("\n")
    return Reading([Record(line.strip(), kind, at=number) for number, line in enumerate(lines) if line.strip()])


def told(text: str, *, verb: str = "Bash make", is_error: bool = False) -> list[str]:
    given = reading(text)
    return [given.records[number].text for number in mark(given, is_error=is_error, verb=verb)]


def claims(text: str, kind: Kind = "line") -> dict[str, float]:
    given = reading(text, kind)
    mark(given)
    return {one.text: one.worth for one in given.records if one.kind == "claim" or (kind != "line" and one.worth > 1)}


PASSED = "\n".join(f"PASSED tests/test_a.py::test_{n}[error-{n} failed]" for n in range(30))
COMPILED = "\n".join(f"   Compiling part-{n} v1.{n}.0" for n in range(30))


@pytest.mark.parametrize(
    ("text", "best"),
    [
        (f"===== test session starts =====\n{PASSED}\n===== 2 failed, 28 passed in 1.2s =====", -1),
        ("F\nFAIL: test_a (app.tests.A)\nAssertionError: 1 != 2\nRan 9 tests in 0.1s\nFAILED (failures=1)", -1),
        ("Running 43 tests\n.....\nFinished in 0.7 seconds\n43 tests, 2 failures\nRandomized with seed 1", -2),
        (f"{COMPILED}\nerror[E0308]: mismatched types\n --> src/lib.rs:4\nerror: could not compile `x` (lib)", -1),
        ("> tsc --noEmit\nsrc/a.ts(3,1): error TS2304: Cannot find name 'x'.\nnpm error code 2\nnpm error path /a", 1),
        ('Traceback (most recent call last):\n  File "a.py", line 3, in test\n    f()\nValueError: no {x} in it', -1),
        ("Collecting rich\n  Downloading rich-13.0.whl\nSuccessfully installed rich-13.0", -1),
        ("bash: frob: command not found", 0),
        ("On branch main\nnothing to commit, working tree clean", -1),
        ("[main 5f1e2c4] Count the brackets\n 1 file changed, 1 insertion(+)", -1),
        ("The file /a/b.py has been edited. Here is the result:\n1\tx = 1\n2\ty = 2\n3\tz = 3\n4\tw = 4\n5\tv = 5", 0),
        ("No matches found", 0),
        ('{"error": "", "response": "{\'success\': False, \'message\': \'Parcel not known\'}"}', 0),
        ("total 3\ndrwx a\n-rw- b\n-rw- c\n-rw- d\n[The command completed with exit code 0.]", -1),
        ("Looking around\nHost a1 answers\nHost a2 answers\nHost a3 answers\nWrote the report to /tmp/r.html", -1),
    ],
)
def test_the_line_that_says_how_it_went_comes_first(text: str, best: int) -> None:
    lines = [line.strip() for line in text.split("\n")]
    assert told(text)[0] == lines[best]


def test_the_verdict_of_a_failed_edit_comes_first_and_is_an_outcome() -> None:
    verdict = "[Your proposed edit has introduced new syntax error(s). Please retry your edit command.]"
    body = "\n".join(f'{n}|  <div className="x{n}">' for n in range(1, 40))
    edit = reading(f"{verdict}\n/workspace/src/App.tsx:12\n{body}\nDO NOT re-run the same failed edit command.")
    assert mark(edit, verb="edit") == [0, 41]
    assert [(one.kind, one.worth) for one in (edit.records[0], edit.records[41])] == [("outcome", 4)] * 2
    assert {one.kind for one in edit.records[1:41]} == {"line"}


def test_the_verdict_of_an_edit_stands_beside_the_code_that_it_shows() -> None:
    shown = "The file /a/b.py has been edited. Here it is:\n10\tdef run():\n11\t    fail('x')\n12\t    return 1"
    edit = reading(f"{shown}\n13\tdef stop():\n14\t    raise ValueError('denied')\n15\t    # never reached")
    for number in (1, 4):
        edit.records[number].kind = "definition"
    assert mark(edit, verb="edit /a/b.py") == [0]


def test_what_the_host_calls_a_failure_is_told_by_the_line_that_says_why() -> None:
    assert told("Exit code 128\nfatal: The current branch has no upstream branch.", is_error=True)[0].startswith(
        "fatal"
    )
    assert told("Exit code 1\nThe moon is in the wrong house", is_error=True, verb="") == [
        "Exit code 1",
        "The moon is in the wrong house",
    ]


def test_an_exit_code_of_nothing_stands_with_the_last_line() -> None:
    assert told("Exit code 0\nThe answer is known") == ["Exit code 0", "The answer is known"]


@pytest.mark.parametrize("verb", ["Read src/a.py", "Bash cd /a && cat src/a.py | head -50"])
def test_a_file_that_was_read_did_not_fail_because_its_code_speaks_of_errors(verb: str) -> None:
    code = "def run():\n    try:\n        go()\n    except OSError as error:\n        log.error('failed: denied')"
    source = reading(f"import os\n\n{code}\n    # Errors are told to nobody\n    status = 'failed'\n    return None")
    assert [source.records[number].text for number in mark(source, verb=verb)] == ["log.error('failed: denied')"]
    assert {one.kind for one in source.records} <= {"line", "claim"}
    assert source.records[5].worth > source.records[3].worth, "a message is asked for more than its neighbours"


@pytest.mark.parametrize(
    ("code", "failing"),
    [
        ("catch (error) {\nthrow new Error(`Theme not found: ${name}`);\nisError: true,", 1),
        ('setTimeout(() => {\n? "Operation aborted"\n// Ignore errors here\nx = 1;', 1),
        ('x = 1;\n<div class="c">Subagent not found</div>\nisError: boolean;\ny = f(x);', 1),
        ("const a = 1;\nisError: message.isError,\nconst b = 2;\nconst c = 3;", 1),
    ],
)
def test_of_code_the_line_that_says_in_words_how_it_fails_is_told(code: str, failing: int) -> None:
    source = reading(f"export class A {{\nimport a from b;\n{code}")
    source.records[0].kind = "definition"
    assert mark(source, verb="read a.ts")[0] == failing + 2
    assert source.records[failing + 2].kind == "line", "nothing failed"


def test_a_remark_beside_code_is_worth_less_than_its_definitions() -> None:
    source = reading("def run():\n# We must never call it twice\nreturn f(x)\nx = g(y)")
    source.records[0].kind, source.records[0].worth = "definition", 2.0
    mark(source, verb="read a.py")
    assert source.records[1].kind == "claim"
    assert source.records[1].worth < source.records[0].worth


def test_a_line_that_a_text_repeats_is_worth_little_again() -> None:
    warned = "warning: using single-quoted strings is deprecated here"
    build = reading(f"{warned}\na.ex:1\n{warned}\nb.ex:2\n{warned}")
    mark(build)
    first, *again = [one.worth for one in build.records if one.text == warned]
    assert all(10 * worth <= first for worth in again)


def test_a_log_that_was_read_still_tells_its_totals() -> None:
    log = "1→Compiling\n2→Compiling more\n3→Running\n4→....\n5→Finished\n506→15 tests, 0 failures"
    assert told(log, verb="Read") == ["506→15 tests, 0 failures"]


def test_rows_and_listings_are_no_outcomes() -> None:
    assert mark(reading("a failed\nb failed\nc failed", "row"), verb="Bash x") == []
    assert told("\n".join(f"/srv/error/{n}.py" for n in "abcdefgh"), verb="Bash find /srv") == []


def test_a_conclusion_is_worth_most_and_names_the_outcome() -> None:
    tried = "Attempt 1: raised pool size to 50 -> still ETIMEDOUT after 30s"
    cause = "Conclusion: pool size is NOT the cause. Root cause is likely expired certs on edge-11, edge-12."
    log = reading(f"{tried}\n{cause}\n" + "\n".join(f"debug: probe host edge-{n} ok rtt={n}ms" for n in range(11, 111)))
    assert [log.records[number].text for number in mark(log)] == [cause, tried]
    assert {one.kind for one in log.records[2:]} == {"line"}


def test_what_stands_under_a_heading_of_conclusions_is_one() -> None:
    notes = "Notes\nof a day\nat the pool\n# Conclusion\nThe pool is large enough.\nGood bye\nand good luck"
    assert claims(notes)["The pool is large enough."] == 4


def test_of_sentences_that_a_text_repeats_the_first_is_a_claim() -> None:
    runbook = [f"Restart with `svcctl restart s{n}`. Never run it on replica r{n}." for n in range(100, 130)]
    assert claims("\n".join(runbook)) == {runbook[0]: 3}


def test_where_everything_is_denied_a_plain_negation_is_no_claim() -> None:
    towns = "\n".join(
        f"{name} was not found in the old register" for name in ["Ulm", "Bonn", "Kiel", "Trier", "Hof", "Jena"] * 3
    )
    assert claims(towns + "\nIt is never Bremen that is missing") == {"It is never Bremen that is missing": 3}


@pytest.mark.parametrize(
    ("sentence", "worth"),
    [
        ("対策として、最大接続数を600に引き上げる。ただし、レプリカ db-tokyo-03 には適用しない。", 3),
        ("该端口禁止对外开放", 3),
        ("데이터베이스는 재시작하지 않는다", 2),
        ("Перезапуск разрешён везде, кроме узла db-3", 3),
        ("Der Dienst startet nicht auf diesem Rechner", 2),
        ("Tout est migré sauf la table des clients", 3),
        ("Se reinicia todo, salvo el nodo db-3", 3),
        ("Reinicie tudo, exceto o nó db-3", 3),
        ("Si riavvia tutto tranne il nodo db-3", 3),
        ("Herstart alles behalve de node db-3", 3),
        ("Uruchom ponownie wszystko oprócz węzła db-3", 3),
        ("Bu sunucu asla yeniden başlatılmaz", 3),
        ("أعد التشغيل باستثناء الخادم db-3", 3),
        ("इसे कभी नहीं चलाना है", 3),
        ("We agreed to keep the small pool", 4),
    ],
)
def test_clauses_are_found_in_many_languages(sentence: str, worth: float) -> None:
    assert claims(f"{sentence}\nHallo hallo hallo") == {sentence: worth}


def test_in_code_only_comments_make_claims() -> None:
    code = "if not ready:\nreturn x is not None\nassert a not in b, 'never'\nconst never = not(this);"
    assert claims(f"{code}\n# Never call it twice") == {"# Never call it twice": 3}
    assert claims("-    if not ready:\n+    # never before the lock is held", "change") == {
        "+    # never before the lock is held": 3
    }
    assert claims("a|not|never been here", "row") == {}


def test_errors_are_marked_and_the_first_of_a_kind_is_worth_more() -> None:
    failed = [f"ERROR: disk {n} denied" for n in range(20)]
    log = reading("\n".join(["INFO all is well here", *failed, "INFO bye now"]))
    mark(log)
    errors = [one.worth for one in log.records if one.kind == "error"]
    assert errors == [3, *[2] * 18], "the first of all is the outcome"


@given(
    st.lists(
        st.one_of(
            st.text(max_size=60),
            st.sampled_from(
                ["error: not found", "3 passed", "Exit code 0", "# Conclusion", "ない", "{}", "never ever again"]
            ),
        ),
        max_size=30,
    ),
    st.sampled_from(["", "Bash", "Read a", "grep b | c"]),
    st.booleans(),
)
def test_marks_never_change_a_text_and_are_the_same_twice(texts: list[str], verb: str, is_error: bool) -> None:
    given = Reading([Record(text) for text in texts])
    expected = mark(Reading([Record(text) for text in texts]), is_error=is_error, verb=verb)
    assert mark(given, is_error=is_error, verb=verb) == expected
    assert [one.text for one in given.records] == texts
    assert len(set(expected)) == len(expected) <= 3
    assert all(given.records[number].kind == "outcome" for number in expected)


@pytest.mark.parametrize(
    "note",
    [
        "[481 more lines in file. Use offset=1060 to continue]",
        "... (241 more lines not shown. Use offset=28 to continue reading)",
        "< truncated lines 469-563 >",
        "[Output truncated: 30000 characters]",
    ],
)
def test_a_tools_word_that_it_does_not_show_everything_is_an_outcome(note: str) -> None:
    lines = [f"The part {n} of the plan is with the team of shop {n * 7}" for n in range(30)]
    reading = Source("\n".join([*lines[:15], note, *lines[15:]])).reading
    marked = mark(reading, verb="read plan.md")
    assert note in [reading.records[n].text for n in marked[:2]]


def test_who_asked_for_some_lines_need_not_be_told_that_there_are_more() -> None:
    """Of 246 characters for a part of a test file the pager's last word took 66."""
    lines = [f"The part {n} of the plan is with the team of shop {n * 7}" for n in range(30)]
    more, hole = "... (241 more lines not shown. Use offset=28 to continue reading)", "< truncated lines 9-13 >"
    for part in (False, True):
        reading = Source("\n".join([*lines[:15], hole, *lines[15:], more])).reading
        assert hole in [reading.records[n].text for n in mark(reading, verb="read plan.md", part=part)]
        reading = Source("\n".join([*lines, more])).reading
        marked = [reading.records[n].text for n in mark(reading, verb="read plan.md", part=part)]
        assert (more in marked) is not part


def test_the_folder_that_a_command_was_asked_for_is_an_outcome() -> None:
    listing = "\n".join(f"-rw-r--r-- 1 app 4{n}1 part-{n}.py" for n in range(20))
    assert told(f"/srv/harbour/berths\n{listing}", verb="bash pwd && ls -la") == ["/srv/harbour/berths"]
    assert told(f"/srv/harbour/berths\n{listing}", verb="bash ls -la") == []


def test_no_word_of_a_speech_says_how_anything_went() -> None:
    speech = "we had an exit and it failed and we went on " * 60
    assert told(f"# A talk\n\n143 comments\n{speech}", verb="web_get") != [speech.strip()]
    assert speech.strip() not in told(f"# A talk\n\n143 comments\nand more\nof it\nhere\n{speech}", verb="web_get")


def test_titles_and_questions_deny_nothing() -> None:
    text = "\n\n".join(
        [
            "# On growth",
            "Ten years ago an essay told founders how to begin, and most of them have read it since.",
            "### Real examples of things that don't scale",
            "Can you give examples of firms that never failed?",
            "The keeper never leaves the gate open after eight.",
        ]
    )
    assert list(claims(text)) == ["The keeper never leaves the gate open after eight."]


def test_of_many_errors_alike_and_one_of_another_kind_the_one_is_told() -> None:
    """The many are a table of a few tokens; the one would be left out."""
    many = "\n".join(f"a.ts({n},4): error TS2345: Argument 'undefined' is not assignable." for n in range(10, 90, 10))
    assert told(f"{many}\na.ts(208,5): error TS2322: Type 'string' is no style.\n{many}")[0].startswith("a.ts(208,5)")
