"""What a part may say, told by its printed text and the source alone."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_mcp.digest.notation import Heads
from palimpsest_mcp.digest.proof import PartCheck, check_part, facts_of, prose_violation
from palimpsest_mcp.digest.source_facts import Facts
from palimpsest_mcp.digest.verdict import counted, recount, settle, shared, shown_in, violations
from palimpsest_mcp.models.items import Specific
from palimpsest_mcp.models.records import DigestLine, DigestPart, DigestSource, SpecificCounts
from palimpsest_mcp.text.specifics.registry import DefaultRegistry

from ..conftest import LONG as WHOLE
from ..conftest import first_of

REGISTRY = DefaultRegistry()


def source(text: str) -> DigestSource:
    return DigestSource(item_id="a", kind="tool_result", text=text, tokens=90)


def facts(text: str) -> Facts:
    return facts_of(source(text), REGISTRY)


def checked(text: str, part: str, others: tuple[str, ...] = ()) -> PartCheck:
    lines = [DigestLine("quote", line) for line in part.split("\n")]
    return check_part(facts(text), lines, [one.split("\n") for one in others])


def rules(text: str, part: str, others: tuple[str, ...] = ()) -> set[str]:
    """What the part breaks, by the first word of each rule."""
    return {rule.split(":")[0] for rule in checked(text, part, others).bad_lines.values()}


JSON = json.dumps(
    [
        {"name": "edge-011", "host": {"ip": "10.0.3.11"}, "cost": 300, "state": "up"},
        {"name": "edge-012", "host": {"ip": "10.0.3.12"}, "cost": 310, "state": "up"},
        {"name": "edge-013", "host": {"ip": "10.0.3.13"}, "cost": 320, "state": "up"},
    ]
)
CSV = "item,qty,price\nbolt-100,10,900.20\nbolt-101,10,901.21\nbolt-102,12,902.22"
MARKDOWN = (
    "## GPU A\n\n| model | ms |\n|---|---|\n| net10 | 71 |\n| net11 | 72 |\n\n##"
    " GPU B\n\n| model | ms |\n|---|---|\n| net12 | 73 |"
)
FIXED = "NAME       READY   IP\nedge-011   1/1     10.0.3.11\nedge-012   0/1     10.0.3.12"
TUPLES = str([("TownA", "AX", "Municipal"), ("TownB", "BX", "Municipal")])
HTML = (
    "<table><tr><th>name</th><th>ip</th></tr><tr><td>edge-1</td><td>10.0.3.1</td"
    "></tr><tr><td>edge-2</td><td>10.0.3.2</td></tr></table>"
)
LOG = "\n".join(f"debug: probe host edge-{n} ok rtt={n * 3}ms" for n in range(11, 40))
SECTIONS = "\n\n".join(f"## edge-{n}\n\nIt runs at 10.0.0.{n}.\nBuilt in {n}77 ms." for n in range(11, 15))
LISTING = "\n\n".join(
    f"/srv/d{n}:\ntotal 8\n-rw-r--r-- 1 app {n}11 a-{n}.dat\n-rw-r--r-- 1 app {n}22 b-{n}.dat" for n in range(4)
)
PATHS = "\n".join(f"src/lib/{name}" for name in ("a.py", "b.py", *(f"{n:02}" for n in range(8, 15)), "c/d.py"))
CODE = "def a():\n    left_of(b.mid)\n    x = 1\n\ndef b():\n    right_of(a.mid_point)\n    x = 2\n\ndef c():\n    pass"
PROSE = (
    "The pool had 4711 clients in May. Restart it with `svcctl restart s100`. Never run it on replica r100, since "
    "it drops 512 writes. See also docs/pool.md for more of it, and for the other 77 pools of the region."
)

GOOD = [
    (f"{SECTIONS}\n[702 more lines in file.]", "## edge-11\n[702 more lines in file.]"),
    (
        JSON,
        "[2 of 3 rows] name|host.ip|cost\n edge-011|10.0.3.11|300\n edge-013|10.0.3.13|320\n[columns left out: state]",
    ),
    (JSON, "[1 of 3 rows] name|host.ip|cost\n[all 3 rows] state=up\n edge-012|10.0.3.12|310"),
    (CSV, "[2 of 3 rows] item|qty|price\n bolt-100|10|900.20\n bolt-102|12|902.22"),
    (MARKDOWN, "## GPU A\n[1 of 2 rows] model|ms\n net11|72\n## GPU B\n[1 of 1 rows] model|ms\n net12|73"),
    (MARKDOWN, "[2 of 3 rows] model|ms\n ## GPU A\n net11|72\n ## GPU B\n net12|73"),
    (FIXED, "[2 of 2 rows] NAME|READY|IP\n edge-011|1/1|10.0.3.11\n edge-012|0/1|10.0.3.12"),
    (TUPLES, "[2 of 2 rows]\n TownA|AX|Municipal\n TownB|BX|Municipal"),
    (HTML, "[1 of 2 rows] name|ip\n edge-2|10.0.3.2"),
    (LOG, "[2 of 29 like] debug: probe host edge-<1> ok rtt=<2>\n 11|33ms\n 12|36ms"),
    (SECTIONS, "[2 of 4 like] ## edge-<1> ⏎ It runs at <2>. ⏎ Built in <1>77 ms.\n 11|10.0.0.11\n 13|10.0.0.13"),
    (PATHS, "[8 of 10 like] src/lib/<1>\n a.py 08–13 c/d.py"),
    (LISTING, "[2 of 8 like] -rw-r--r-- 1 app <1> <2>.dat\n /srv/d1:\n 111|a-1\n /srv/d3:\n 322|b-3"),
    ('{"address": {"street": "742 Elm", "zip": "80201"}, "n": 1.10}', "address: street=742 Elm|zip=80201\nn=1.10"),
    (PROSE, "Restart it with `svcctl restart s100`.\n… had 4711 clients …"),
    (LOG, "[names] debug probe\ndebug: probe host edge-11 ok rtt=33ms"),
    (CODE, "def a(): … [left_of b.mid]\ndef c():"),
    (CODE, "def a(): … [left_of right_of]\ndef c():"),
    (CODE, "def b(): … [right_of a.mid_point]"),
    ("see … [a_b c_d]\nnext", "see … [a_b c_d]\nnext"),
    ("[12 of 70 rows] a|b\n  indented", "» [12 of 70 rows] a|b\n» indented"),
    ("x\ny 4711", "[= item 1]"),
    ("x\ny 4712", "[like item 1, but:]\ny 4712"),
]
OTHERS = ("x\ny 4711",)


@pytest.mark.parametrize(("text", "part"), GOOD)
def test_what_the_source_says_may_stand(text: str, part: str) -> None:
    assert checked(text, part, OTHERS).bad_lines == {}


BAD = [
    # a wrong value, a wrong owner
    (JSON, "[1 of 3 rows] name|host.ip|cost\n[columns left out: state]\n edge-011|10.0.3.11|301", "rows"),
    (JSON, "[1 of 3 rows] name|host.ip|cost\n[columns left out: state]\n edge-011|10.0.3.12|300", "rows"),
    (JSON, "[1 of 3 rows] name|cost|host.ip\n[columns left out: state]\n edge-011|10.0.3.11|300", "rows"),
    (JSON, "[1 of 3 rows] name|host.ip|cost\n edge-011|10.0.3.11|300", "columns"),
    (JSON, "[1 of 3 rows] name|host.ip|cost\n[all 3 rows] state=down\n edge-011|10.0.3.11|300", "rows"),
    (
        JSON.replace("up", "down", 1),
        "[1 of 3 rows] name|host.ip|cost\n[all 3 rows] state=up\n edge-012|10.0.3.12|310",
        "rows",
    ),
    (CSV, "[1 of 3 rows] item|qty|price\n bolt-100|10|901.21", "rows"),
    (CSV, "[1 of 3 rows] item|qty|price\n bolt-100|900.20|10", "rows"),
    (MARKDOWN, "[1 of 2 rows] model|ms\n net10|72", "rows"),
    (FIXED, "[1 of 2 rows] NAME|READY|IP\n edge-011|0/1|10.0.3.11", "rows"),
    (TUPLES, "[1 of 2 rows]\n TownA|BX|Municipal", "rows"),
    (HTML, "[1 of 2 rows] name|ip\n edge-2|10.0.3.1", "rows"),
    (LOG, "[1 of 29 like] debug: probe host edge-<1> ok rtt=<2>\n 11|36ms", "rows"),
    (SECTIONS, "[1 of 4 like] ## edge-<1> ⏎ It runs at <2>.\n 11|10.0.0.12", "rows"),
    (PATHS, "[8 of 10 like] src/lib/<1>\n a.py 08–15", "rows"),
    ('{"a": {"x": 1}, "b": {"x": 2}}', "a: x=2", "invented"),
    ('[{"k": 1, "v": 2}, {"k": 3, "v": 4}]', "0: k=1|v=4", "invented"),
    ('{"error": "", "n": 7}', "eror=|n=7", "invented"),
    # counts
    (CSV, "[2 of 3 rows] item|qty|price\n bolt-100|10|900.20", "count"),
    (CSV, "[1 of 9 rows] item|qty|price\n bolt-100|10|900.20", "count"),
    (CSV, "[2 of 3 rows] item|qty|price\n bolt-100|10|900.20\n bolt-100|10|900.20", "rows"),
    (JSON, "[1 of 3 rows] name|host.ip|cost\n[all 2 rows] state=up\n edge-012|10.0.3.12|310", "count"),
    (LOG, "[2 of 29 like] debug: probe host edge-<1> ok rtt=<2>\n 11|33ms", "count"),
    (LOG, "[1 of 90 like] debug: probe host edge-<1> ok rtt=<2>\n 11|33ms", "count"),
    # headings
    (MARKDOWN, "## GPU A\n[1 of 1 rows] model|ms\n net12|73", "heading"),
    (MARKDOWN, "[2 of 3 rows] model|ms\n ## GPU B\n net11|72\n ## GPU A\n net12|73", "heading"),
    (SECTIONS, "## edge-11\nIt runs at 10.0.0.12.", "heading"),
    (f"{SECTIONS}\n[more of edge-14](./14.md)", "## edge-11\n[more of edge-14](./14.md)", "heading"),
    (LISTING, "[1 of 8 like] -rw-r--r-- 1 app <1> <2>.dat\n /srv/d1:\n 322|b-3", "heading"),
    ("Error A\nat f (1)\nError B\nat g (2)", "[2 of 2 like] at <1> (<2>)\n Error B\n f|1\n Error A\n g|2", "heading"),
    # pieces
    (PROSE, "… on replica r100 …", "clause"),
    (PROSE, "… since it drops 512 writes …", "clause"),
    (PROSE, "run it on replica r100, since it drops 512 writes.", "invented"),
    (PROSE, "… had 471 …", "invented"),
    (PROSE, "… had 47 …", "invented"),
    (PROSE, "… lients in May", "invented"),
    ("It took 958.18 ms in all of them", "… took 958.18 …", "invented"),
    ("It cost 10,958.18 in all, and more than that for us", "… It cost 10, …", "invented"),
    ("le budget est de 1 250 000 € et 3 412 dossiers", "… est de 1 250 …", "invented"),
    ("le budget est de 1 250 000 € et 3 412 dossiers", "[1 of 1 rows]\n le|budget|est|de|1", "invented"),
    # names, equal results, escapes
    (LOG, "[names] edge", "invented"),
    (PROSE, "[names] 4711", "names"),
    ("built 6f1e2c4a and 2026-11-20", "[names] 6f1e2c4a", "names"),
    ("built 6f1e2c4a and 2026-11-20", "[names] 2026-11-20", "names"),
    (LOG, "[names] debug\n[names] probe", "names"),
    (CODE, "def a(): … [left_of right_of]\ndef b():", "names"),
    (CODE, "def b(): … [left_of]\ndef c():", "names"),
    (CODE, "def b(): … [a.mid]", "invented"),
    (CODE, "def b(): … [right]", "invented"),
    (CODE, "def d(): … [right_of]", "invented"),
    ("x\ny 4712", "[= item 1]", "equal"),
    ("x\ny 4712", "[like item 1, but:]\nx", "equal"),
    ("x", "[like item 1, but:]", "equal"),
    ("x", "[item 1 but:]", "equal"),
    ("x", "[= item 7]", "equal"),
    ("[12 of 70 rows] a|b", "[12 of 70 rows] a|b", "count"),
    ("x", "[all 3 rows] state=up", "note"),
    ("x", "[item 9: all is well]", "note"),
]


@pytest.mark.parametrize(("text", "part", "rule"), BAD)
def test_what_the_source_does_not_say_is_found(text: str, part: str, rule: str) -> None:
    if rule == "note" and "item 9" in part:  # of ours in kind only where its kind says so
        line = DigestLine("quote", part)
        assert "note" in str(check_part(facts(text), [line]).bad_lines)
        return
    assert rule in rules(text, part, OTHERS)


def test_a_whole_clause_with_a_negation_may_stand() -> None:
    clause = "Never run it on replica r100, since it drops 512 writes."
    assert rules(PROSE, clause) == set()
    assert (
        rules("対策として、上限を600に上げる。ただし、db-03 には適用しない。", "対策として、上限を600に上げる。")
        == set()
    )
    assert rules("対策として、上限を600に上げる。ただし、db-03 には適用しない。", "… db-03 には …") == {"clause"}


def test_a_cut_cell_may_stand_unless_its_sentence_denies() -> None:
    text = json.dumps(
        [
            {"id": f"a{n}", "said": f"It went well on host edge-{n} today. Do not use edge-{n + 1} again"}
            for n in range(9)
        ]
    )
    assert rules(text, "[1 of 9 rows] id|said\n a1|It went well on host …") == set()
    assert rules(text, "[1 of 9 rows] id|said\n a1|It went well on host edge-1 today. Do …") == {"rows"}
    assert rules(text, "[1 of 9 rows] id|said\n a1|It went well on ho …") == {"rows"}


def test_what_is_shown_are_the_members_of_s_in_shown_cells_and_lines() -> None:
    one = facts(CSV)
    assert [spec.text for spec in one.specs] == [
        "bolt-100",
        "10",
        "900.20",
        "bolt-101",
        "901.21",
        "bolt-102",
        "12",
        "902.22",
    ]
    check = checked(CSV, "[1 of 3 rows] item|qty|price\n bolt-100|10|900.20")
    assert {one.specs[n].text for n in check.shown} == {"bolt-100", "10", "900.20"}
    assert check.rows == {"rows": 1} and check.total == 8


def test_rows_are_counted_whatever_is_in_them() -> None:
    check = checked(TUPLES, "[2 of 2 rows]\n TownA|AX|Municipal\n TownB|BX|Municipal")
    assert check.rows == {"rows": 2}
    assert checked(PATHS, "[8 of 10 like] src/lib/<1>\n a.py 08–13 c/d.py").rows == {"lines": 8}


def test_a_bad_line_shows_nothing() -> None:
    assert checked(CSV, "[1 of 3 rows] item|qty|price\n bolt-100|10|901.21").rows == {"rows": 0}
    assert not checked("order=48213 was paid", "order=48213").shown
    line = DigestLine("prose", "It was order 48213.")
    assert not check_part(facts("order=48213 was paid"), [line]).shown


VALUE = st.text(alphabet="abcdefgh", min_size=2, max_size=6)
NUMBER = st.one_of(st.integers(10, 10**7).map(str), st.decimals(1, 10**5, places=2).map(str))
ROWS = st.lists(st.tuples(VALUE, NUMBER, NUMBER), min_size=2, max_size=9, unique_by=lambda row: row[0])
COLUMNS = ("key", "size", "cost")
Row = tuple[str, ...]
FORMS: dict[str, Callable[[list[Row]], str]] = {
    "json": lambda rows: json.dumps([dict(zip(COLUMNS, row, strict=True)) for row in rows], indent=1),
    "ndjson": lambda rows: "\n".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) for row in rows),
    "python": lambda rows: "Rows found: " + str([dict(zip(COLUMNS, row, strict=True)) for row in rows]),
    "numbered": lambda rows: "\n".join(
        f"{n:>6}\t{line}"
        for n, line in enumerate(
            json.dumps([dict(zip(COLUMNS, row, strict=True)) for row in rows], indent=1).split("\n")
        )
    ),
    "fenced": lambda rows: f"It said\n```\n{json.dumps([dict(zip(COLUMNS, row, strict=True)) for row in rows])}\n```",
    "string": lambda rows: json.dumps(
        {"error": "", "response": str([dict(zip(COLUMNS, row, strict=True)) for row in rows])}
    ),
    "map": lambda rows: json.dumps({row[0]: dict(zip(COLUMNS, row, strict=True)) for row in rows}),
    "cut": lambda rows: json.dumps([dict(zip(COLUMNS, row, strict=True)) for row in rows])[:-2] + ', "more": [1, {"a',
    "csv": lambda rows: "\n".join(map(",".join, [COLUMNS, *rows])),
    "tsv": lambda rows: "\n".join(map("\t".join, [COLUMNS, *rows])),
    "markdown": lambda rows: "\n".join(
        f"| {' | '.join(row)} |" for row in [("key", "size", "cost"), ("---",) * 3, *rows]
    ),
    "psql": lambda rows: "\n".join(" | ".join(f"{one:>10}" for one in row) for row in [COLUMNS, *rows]),
    "fixed": lambda rows: "\n".join("  ".join(f"{one:<10}" for one in row) for row in [COLUMNS, *rows]),
}


@settings(max_examples=min(60, 2 * settings().max_examples), deadline=None)
@given(rows=ROWS, form=st.sampled_from(sorted(FORMS)), data=st.data())
def test_true_rows_pass_and_one_changed_character_is_caught(rows: list[Row], form: str, data: st.DataObject) -> None:
    text = FORMS[form](rows)
    picked = data.draw(st.lists(st.sampled_from(rows), min_size=1, unique=True))
    head = f"[{len(picked)} of {len(rows)} rows] key|size|cost"
    part = "\n".join([head, *(" " + "|".join(row) for row in picked)])
    check = checked(text, part)
    assert check.bad_lines == {} and check.rows == {"rows": len(picked)}
    row = list(data.draw(st.sampled_from(picked)))
    place = data.draw(st.integers(0, 2))
    at = data.draw(st.integers(0, len(row[place]) - 1))
    other = data.draw(st.sampled_from([c for c in "0123456789abcdefgh" if c != row[place][at]]))
    row[place] = row[place][:at] + other + row[place][at + 1 :]
    if tuple(row) not in rows:
        assert checked(text, f"[1 of {len(rows)} rows] key|size|cost\n {'|'.join(row)}").bad_lines


@settings(max_examples=min(60, 2 * settings().max_examples), deadline=None)
@given(rows=ROWS, form=st.sampled_from(sorted(FORMS)), data=st.data())
def test_a_source_that_was_read_before_judges_a_part_as_one_read_anew(
    rows: list[Row], form: str, data: st.DataObject
) -> None:
    text = FORMS[form](rows)
    used = facts(text)
    for _ in range(4):
        names = data.draw(st.permutations(COLUMNS))
        lines = [f"[{len(rows)} of {len(rows)} rows] {'|'.join(names)}", *(" " + "|".join(row) for row in rows)]
        lines += data.draw(st.lists(st.sampled_from([*text.split("\n"), f"size={rows[0][1]}|cost={rows[0][2]}"])))
        part = [DigestLine("quote", line) for line in data.draw(st.permutations(lines))]
        assert check_part(used, part) == check_part(facts(text), part)


TREES = ("json", "ndjson", "python", "numbered", "fenced", "string", "map", "cut")


@settings(max_examples=min(80, 2 * settings().max_examples), deadline=None)
@given(rows=ROWS, form=st.sampled_from(TREES), data=st.data())
def test_a_value_under_another_key_row_or_record_is_refused(rows: list[Row], form: str, data: st.DataObject) -> None:
    text = FORMS[form](rows)
    row, other = data.draw(st.sampled_from(rows)), data.draw(st.sampled_from(rows))
    path = {"python": "Rows found: ", "string": "response: "}.get(form, "")
    for pairs in (
        [("key", row[0]), ("size", other[1]), ("cost", row[2])],
        [("key", row[0]), ("size", row[2]), ("cost", row[1])],
        [("size", other[1]), ("cost", row[2])],
    ):
        values: dict[str, str] = dict(pairs)
        true = any(values.items() <= dict[str, str](zip(COLUMNS, one, strict=True)).items() for one in rows)
        said = path + "|".join(f"{name}={value}" for name, value in pairs)
        assert true or rules(text, said) == {"invented"}
        if len(pairs) > 2:
            said = f"[1 of {len(rows)} rows] key|size|cost\n " + "|".join(value for _, value in pairs)
            assert (rules(text, said) == set()) == true


LINES = st.lists(st.tuples(VALUE, NUMBER), min_size=3, max_size=9, unique=True)


@settings(max_examples=min(60, 2 * settings().max_examples), deadline=None)
@given(rows=LINES, data=st.data())
def test_a_template_expands_to_lines_and_to_nothing_else(rows: list[tuple[str, str]], data: st.DataObject) -> None:
    text = "\n".join(f"worker {name} took {size} ms" for name, size in rows)
    picked = data.draw(st.lists(st.sampled_from(rows), min_size=1, unique=True))
    head = f"[{len(picked)} of {len(rows)} like] worker <1> took <2> ms"
    assert checked(text, "\n".join([head, *(f" {name}|{size}" for name, size in picked)])).bad_lines == {}
    (name, _), (_, size) = data.draw(st.sampled_from(rows)), data.draw(st.sampled_from(rows))
    right = (name, size) in rows
    assert (rules(text, f"[1 of {len(rows)} like] worker <1> took <2> ms\n {name}|{size}") == set()) == right


@settings(max_examples=min(150, 2 * settings().max_examples), deadline=None)
@given(
    text=st.text(alphabet='ab1,|=[]{}"<>…» \n–⏎:#-.', max_size=120),
    part=st.text(alphabet="ab1,|=[]<>…» \n–⏎:of ra", max_size=80),
    note=st.booleans(),
)
def test_no_text_makes_it_raise(text: str, part: str, note: bool) -> None:
    heads = ("[2 of 3 rows] ", "[2 of 9 like] ", "[names] ", "[all 3 rows] ", "")
    lines = [DigestLine("note" if note else "row", head + line) for head in heads for line in part.split("\n")]
    check = check_part(facts(text), lines, [[text]])
    assert check.shown <= set(range(check.total))


MANY = 60_000 if WHOLE else 15_000


@pytest.mark.parametrize(
    "text",
    first_of(
        [
            "[\n" * MANY,
            '["a\n' * MANY,
            "<a <b " * MANY,
            "a. " * 2 * MANY,
            "| a " * 2 * MANY,
            "1 000 " * MANY,
            '{"a":' * MANY,
            "x,y\n" * MANY,
            "## h\n" * MANY,
            '"a,b\n' * MANY,
            "<!--" * MANY + "</",
        ],
        kept=4,
    ),
    ids=range(11),
)
def test_a_hostile_text_takes_no_longer_than_any_other(text: str) -> None:
    began = time.process_time()
    part = (
        "[2 of 3 rows] a|b\n x|y\n z|…\n[2 of 9 like] a <1> ⏎ b <2>\n 1|2\n … a. a …"
        "\nx=1|y=2\n## h\n[1 of 9 like] <1>\n 1–99999999999"
    )
    check_part(facts(text), [DigestLine("quote", line) for line in part.split("\n")])
    # A quarter of the text takes a sixteenth, if it is squared.
    assert time.process_time() - began < (10 if MANY == 60_000 else 2.5)


# What is counted, and prose.

ORDERS = (
    "order=48213 was paid with total=51007\nsee https://example.org/runs/77123 for HAT069\ninvoice 99120 at 10.0.0.7"
)


def test_shown_elsewhere_and_left_out_make_the_total_in_every_class() -> None:
    one = facts(ORDERS)
    check = check_part(one, [DigestLine("quote", "invoice 99120 at 10.0.0.7")])
    settle(shared([one], {Specific("number", "48213", "order"): "offload_0003"}), [check], "offload_0007")
    counts = counted([one], [check], 2)
    assert (counts.total, counts.shown, counts.elsewhere, counts.left_out, counts.redacted) == (6, 2, 1, 3, 2)
    assert counts.holders == {"offload_0003": 1}


def test_elsewhere_needs_the_same_key() -> None:
    one = facts(ORDERS)
    check = check_part(one, [])
    settle(shared([one], {Specific("number", "48213", "invoice"): "offload_0003"}), [check], "offload_0007")
    assert not check.elsewhere


def test_violations_name_the_rule_and_the_part() -> None:
    part = (DigestPart(item_id="a", lines=(DigestLine("quote", "x"),)),)
    check = checked(ORDERS, "order=48214")
    counts = counted([facts(ORDERS)], [check], 0)
    found = violations(part, [check], counts, tokens=106, ceiling=100, source_tokens=90, most=100)
    assert [one.split(":")[0] for one in found] == ["invented", "budget", "length", "smaller"]
    none = violations(part, [PartCheck()], SpecificCounts(), tokens=9, ceiling=100, source_tokens=90, most=100)
    assert none == ()


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("Order 48213 was paid.", ""),
        ("Order 48214 was paid.", "invented"),
        ("It was the 3rd of them.", "invented"),
        ("The order=51007 was paid.", "pairs"),
        ("The total=51007 was paid.", ""),
    ],
)
def test_prose_says_no_value_that_the_source_does_not(line: str, rule: str) -> None:
    assert prose_violation([facts(ORDERS)], [line], REGISTRY).split(":")[0] == rule


def test_a_stored_digest_counts_the_same_again_and_a_changed_one_does_not() -> None:
    part = "[item 1 Bash: 4 lines]\n[2 of 3 rows] item|qty|price\n bolt-100|10|900.20\n bolt-102|12|902.22"
    one = facts(CSV)
    check = checked(CSV, part.partition("\n")[2])
    counts = counted([one], [check], 0)
    assert recount([(source(CSV), part)], counts, REGISTRY) == ()
    assert "what its source does not" in recount([(source(CSV), part.replace("902.22", "901.21"))], counts, REGISTRY)[0]
    assert recount([(source(CSV), "anything")], counts, REGISTRY, digester="extractive/1") == ()


def test_somebody_elses_wording_shows_nothing() -> None:
    part = "[item 1 Bash: 4 lines]\n[summary by m, wording not verified: 1 line]\norder 99999\nsee order=48213"
    assert list(shown_in(part, REGISTRY)) == [Specific("number", "48213", "order")]


NESTED = json.dumps({"flights": [{"id": f"F{n}", "legs": [{"seat": f"{n}A", "gate": n * 11}]} for n in range(1, 4)]})


def test_a_nested_row_stands_with_the_key_of_the_row_that_it_belongs_to() -> None:
    assert rules(NESTED, "[2 of 3 legs] id|seat|gate\n F1|1A|11\n F3|3A|33") == set()
    assert rules(NESTED, "[1 of 3 legs] id|seat|gate\n F1|3A|33") == {"rows"}


def test_a_row_does_not_borrow_a_value_of_its_neighbour() -> None:
    text = json.dumps([{"id": "a1", "brand": "visa"}, {"id": "b2", "points": 512}])
    assert rules(text, "[2 of 2 rows] id|brand|points\n a1|visa|\n b2||512") == set()
    assert rules(text, "[1 of 2 rows] id|brand|points\n b2|visa|512") == {"rows"}
    text = json.dumps({"name": "top", "legs": [{"name": "first", "n": 11}, {"n": 12}]})
    assert rules(text, "[2 of 2 legs] name|n\n first|11\n |12") == set()
    assert rules(text, "[1 of 2 legs] name|n\n top|12") == {"rows"}


def test_what_is_left_of_a_tree_that_was_cut_is_read() -> None:
    rows = json.dumps([{"id": f"a{n}", "size": n * 1111, "said": f"text {n}"} for n in range(1, 60)])
    for text in (rows[: len(rows) // 2], json.dumps({"error": "", "response": rows})[: len(rows) // 2]):
        assert rules(text, "[1 of 9 rows] id|size|said\n a3|3333|text 3") == set()
        assert rules(text, "[1 of 9 rows] id|size|said\n a3|4444|text 3") == {"rows"}


LONG = "relay-31 took 41 ms on port 8443 and wrote 7,120 rows to /srv/out/a.json before it stopped for the night"


def test_several_pieces_of_one_line_may_stand_in_its_order() -> None:
    check = checked(f"{LONG}\nother", "… port 8443 … to /srv/out/a.json …")
    assert not check.bad_lines
    assert len(check.shown) == 2


@pytest.mark.parametrize(
    "part",
    [
        "… to /srv/out/a.json … port 8443 …",
        "… port 8443 … rows from relay-40 …",
        "… port 844 … to /srv/out/a.json …",
        "… port 8443 … port 8443 …",
        "relay-31 took 41 ms … wrote 7,12",
    ],
    ids=["order turned", "of two lines", "cut inside a number", "said twice", "cut at the end"],
)
def test_pieces_that_do_not_stand_so_in_one_line_are_refused(part: str) -> None:
    assert rules(f"{LONG}\nrows from relay-40 went to /srv/out/b.json", part) == {"invented"}


def test_a_piece_of_a_line_that_denies_is_refused_beside_another() -> None:
    text = f"{LONG}. It must not write to /srv/out/b.json while relay-40 is down."
    assert rules(text, "… port 8443 … write to /srv/out/b.json …") == {"clause"}


def test_cells_of_a_row_may_stand_with_its_key_and_only_with_its_own() -> None:
    assert rules(JSON, "name=edge-012|cost=310") == set()
    assert rules(CSV, "item=bolt-101|price=901.21") == set()
    assert rules(CSV, "item=bolt-101|price=902.22") == {"invented"}
    assert rules(JSON, "name=edge-012|cost=320") == {"invented"}
    assert rules(JSON, "name=edge-012|price=310") == {"invented"}


def of_batch(texts: list[str], parts: list[str]) -> list[set[str]]:
    heads: Heads = {}
    return [
        {
            rule.split(":")[0]
            for rule in check_part(
                facts(text), [DigestLine("quote", line) for line in part.split("\n")], (), heads, n
            ).bad_lines.values()
        }
        for n, (text, part) in enumerate(zip(texts, parts, strict=True))
    ]


OTHER = json.dumps([{"name": f"core-{n}", "cost": n * 7, "state": "up"} for n in range(70, 75)])


def test_columns_may_be_said_by_an_earlier_item() -> None:
    rows = [{"name": f"core-{n}", "host": {"ip": f"10.9.9.{n}"}, "cost": n * 7, "state": "up"} for n in range(70, 75)]
    with_host = json.dumps(rows)
    parts = [
        "[1 of 3 rows] name|host.ip|cost|state\n edge-011|10.0.3.11|300|up",
        "[1 of 5 rows as item 1]\n core-72|10.9.9.72|504|up",
    ]
    assert of_batch([JSON, with_host], parts) == [set(), set()]


def test_rows_without_columns_of_an_earlier_item_are_refused_even_where_they_need_none() -> None:
    first = "[1 of 3 rows] name|host.ip|cost|state\n edge-011|10.0.3.11|300|up"
    assert of_batch([JSON, CSV], [first, "[1 of 4 rows as item 9]\n bolt-100|10|900.20"])[1] == {"columns"}


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("[1 of 5 rows as item 2]", " core-72|504|up"),
        ("[1 of 5 rows as item 9]", " core-72|504|up"),
        ("[1 of 5 lines as item 1]", " core-72|504|up"),
        ("[1 of 5 rows as item 1] name|cost|state", " core-72|504|up"),
        ("[1 of 5 rows as item 1]", " core-72|504|up"),
    ],
    ids=["itself", "no such item", "another noun", "and names of its own", "other columns"],
)
def test_columns_that_no_earlier_item_says_are_refused(head: str, row: str) -> None:
    first = "[1 of 3 rows] name|host.ip|cost|state\n edge-011|10.0.3.11|300|up"
    found = of_batch([JSON, OTHER], [first, f"{head}\n{row}"])
    assert found[0] == set() and found[1]


TODO = "Updated todo list to " + str([{"content": f"step {n}", "status": "pending"} for n in range(1, 5)])
MAP = json.dumps({"pay": {"c_11": {"sum": 311, "id": "c_11"}, "c_12": {"sum": 312, "id": "c_12"}}})
TOPICS = json.dumps({"name": "deer", "topics": ["agents", "search", "python"], "langs": ["html", "css"]})
TUPLES_OF_TWO = str([("Decca", 2004.0), ("Kultur", 2002.0), ("Naxos", 2006.0)])
COMMITS = json.dumps(
    [{"sha": f"a1b2{n}", "commit": {"message": f"text {n} " * 60, "by": f"u{n}"}} for n in range(1, 4)]
)
PANDAS = (
    "Columns: ['Id', 'Name', 'Fare']\n\nFirst rows:\n   Id                     Name   Fare\n"
    "0   1  Cumings, Mrs. John (Th...  71.28\n1   2        Braund, Mr. Owen H.   7.25"
)
TITLES = "# Guide\n\n## Setup\n\nRun it once.\n\n```\n\n# not a title\n\nmake\n```\n\n# Annex\n\n## Notes\n\nKeep it."
NOT_FOLDERS = "Current:\n@lib/pi:\n  @lib/ai: 0.7\n\nDone at last."


@pytest.mark.parametrize(
    ("text", "part", "lie"),
    [
        (TODO, "[1 of 4 Updated todo list to] content|status\n step 3|pending", ("step 3", "step 9")),
        (TODO, "Updated todo list to: content=step 3|status=pending", ("step 3", "step 9")),
        (MAP, "pay: sum=311|id=c_11", ("311", "312")),
        (MAP, "pay.c_11: sum=311", ("311", "312")),
        (MAP, "pay: sum=311|id=c_11", ("|id=c_11", "")),
        (TOPICS, "[2 of 3 topics] topics\n agents\n python", ("python", "css")),
        (TOPICS, "[2 of 3 topics] topics\n agents\n python", ("of 3", "of 9")),
        (TUPLES_OF_TWO, "[2 of 3 rows]\n[columns left out: column 2]\n Decca\n Naxos", ("of 3", "of 9")),
        (TUPLES_OF_TWO, "[1 of 3 rows]\n Naxos|2006.0", ("2006.0", "2004.0")),
        (TUPLES_OF_TWO, "[1 of 3 rows]\n Naxos|2006.0", ("Naxos|2006.0", "2006.0|Naxos")),
        (COMMITS, "commit.message: sha=a1b23", ("message", "massage")),
        (COMMITS, "[2 of 3 like] commit.message: sha=<1>\n a1b21 a1b23", ("a1b23", "a1b29")),
        (PANDAS, "[1 of 2 rows] |Id|Name|Fare\n 1|2|Braund, Mr. Owen H.|7.25", ("7.25", "71.28")),
        (TITLES, "## Setup\n# Annex\nKeep it.", ("# Annex\n", "")),
        (TITLES, "# Annex\n## Notes\nKeep it.", ("Keep it.", "Run it once.")),
        (TITLES, "## Setup\n# not a title\nmake", ("## Setup", "## Notes")),
        (NOT_FOLDERS, "@lib/pi:\nDone at last.", ("Done at last.", "Done.")),
        (LISTING, "/srv/d1:\n-rw-r--r-- 1 app 111 a-1.dat", ("a-1.dat", "a-2.dat")),
        (TUPLES_OF_TWO + "\nsrc = ['../lib/a.js', 'b/']", "[names] ../lib/a.js", ("../lib/a.js", "lib/a")),
    ],
)
def test_what_stands_in_a_tree_or_under_a_title_may_stand_and_its_neighbour_may_not(
    text: str, part: str, lie: tuple[str, str]
) -> None:
    assert rules(text, part) == set()
    assert rules(text, part.replace(*lie)) != set()
