"""Where values come first and not all fit: which of them stand, in which form, and that no room is left."""

from __future__ import annotations

import pytest

from palimpsest_mcp.digest.coverage import Candidate, choose
from palimpsest_mcp.digest.manifest import is_note
from palimpsest_mcp.digest.plan import batch_of, tells_much
from palimpsest_mcp.digest.surroundings import add_words, name_again
from palimpsest_mcp.digest.survey import survey
from palimpsest_mcp.digest.verify import shared
from palimpsest_mcp.digest.worth import muted
from palimpsest_mcp.models.items import Specific

from .conftest import Bench

_SETTINGS = "\n".join(
    f"In this place {kind}_pool_size = {n}41{n}07 keeps the rows of the {kind} apart, so that none waits for others."
    for n, kind in enumerate(("reader", "writer", "mailer", "parser", "loader", "keeper", "sender", "linker"))
)


def _shown(bench: Bench, text: str, share: float) -> list[str]:
    return [line.text for line in bench.digest(text, share=share).parts[0].lines if not is_note(line.text)]


def test_a_name_that_is_shown_anyway_is_the_key_of_its_value(bench: Bench) -> None:
    lines = _shown(bench, _SETTINGS, 0.27)
    text = "\n".join(lines)
    assert "reader_pool_size=041007" in text and text.count("reader_pool_size") == 1


def test_a_round_number_alone_yields_to_a_name(bench: Bench) -> None:
    text = "\n".join(f"about {n}K of them went to fetch_part_{n}_{'xyz'[n % 3]} and {n} % came back" for n in range(30))
    lines = "\n".join(_shown(bench, text, 0.22))
    assert lines.count("fetch_part_") > 12 and "17K" not in lines


def test_exact_measures_say_more_than_round_ones() -> None:
    exact, round_one = Specific("score", "25.7%", ""), Specific("score", "20%", "")
    assert 0 < muted(round_one) < muted(exact) < muted(Specific("name", "fetch_part", "")) == 1.0


def test_a_key_says_what_many_values_are_only_where_it_is_a_word() -> None:
    assert tells_much("line", 3) and not tells_much("line", 2) and not tells_much("c0", 9)


def test_what_stands_inside_a_longer_value_adds_to_its_worth() -> None:
    short = Candidate(0, (0,), (0,), 1.0, 1.0, 4, each=(1.0, 0.0))
    longer = Candidate(0, (1,), (1,), 3.0, 1.0, 6, each=(2.0, 1.0, 0.0), within=(0,))
    other = Candidate(0, (2,), (2,), 1.8, 1.0, 5, each=(1.8, 0.0))
    items_of = {n: [(0, 1.0)] for n in range(3)}
    assert choose([short, longer, other], 11, [0.0], items_of) == [longer, other]
    assert choose([short, longer, other], 10, [0.0], items_of) == [longer]


def test_of_several_forms_of_a_value_one_is_taken() -> None:
    line = Candidate(0, (0, 1), (0, 1), 2.4, 2.0, 6, unit=3, each=(1.0, 1.0, 0.4))
    entries = [Candidate(0, (n,), (n,), 1.0, 1.0, 4, each=(1.0, 0.0)) for n in range(2)]
    assert choose([*entries, line], 20, [0.0], {0: [(0, 1.0)], 1: [(0, 1.0)]}) == [line]


def test_an_import_stands_whole_where_everything_else_is_a_list(bench: Bench) -> None:
    code = ["#include <vector>", '#include "pool/reader_pool.h"', '#include "pool/writer_pool.h"', "namespace pool {"]
    for n in range(40):
        code += [
            f"void step_{n:02d}_of_all(const rows_t& rows) {{",
            f"    auto kept_{n:02d} = 0.{n * 7919 + 10007}f;",
            "}",
        ]
    lines = _shown(bench, "\n".join([*code, "}"]), 0.3)
    assert '#include "pool/reader_pool.h"' in lines
    assert all(" pool/reader_pool.h" not in line for line in lines)


def test_an_error_among_many_values_has_a_line_of_its_own(bench: Bench) -> None:
    wheels = [
        f"Collecting pack{n}age=={n}.{n + 1}.{n + 2}\n  Using cached pack{n}age-{n}.{n + 1}.{n + 2}.whl"
        for n in range(20)
    ]
    error = "ERROR: No matching distribution found for cattrs"
    assert error in _shown(bench, "\n".join([*wheels, error, "Would install nothing"]), 0.25)


def test_a_list_is_in_the_order_of_its_source(bench: Bench) -> None:
    text = "\n".join(f"{n} of the rows of part_{n}_read stay near https://host{n}.example.org/p/{n}" for n in range(60))
    row = max(_shown(bench, text, 0.15), key=len)
    found = [word for word in row.split() if word.startswith(("part_", "https:"))]
    places = [text.index(word) for word in found]
    assert len(found) > 10 and places == sorted(places)


@pytest.mark.parametrize("share", [0.06, 0.08, 0.1, 0.12, 0.15, 0.2])
def test_no_room_is_left_while_values_are_left_out(bench: Bench, share: float) -> None:
    rows = [(n * 7919 % 100_003, "abcdefgh"[n % 8]) for n in range(200)]
    text = "\n".join(f"then {c}_row_{n} was moved by {c}{c} to /data/{c}/{n}.csv again" for n, c in rows)
    request = bench.request(text, share=share)
    digest = bench.digester.compute(request)
    assert digest.mode == "digest" and digest.specifics.left_out
    assert request.budget_tokens - 8 <= digest.tokens <= request.budget_tokens  # a value takes nine and more


def test_the_last_values_fit_in_the_place_of_lines_that_say_what_it_was(bench: Bench) -> None:
    trees = ("alder", "birch", "cedar", "dogwood", "elder", "fir", "gum", "hazel", "iris", "juniper")
    steps = [f"step {n}: {tree}_gate failed: it could not be opened in {tree}" for n, tree in enumerate(trees)]
    place = "see /srv/deployments/of/the/northern/region/with/a/very/long/name/and/more/words/in/it/state.json"
    digest = bench.digest("\n".join([*steps, place, "ERROR: nothing was done"]), share=0.46)
    assert digest.specifics.left_out == 0
    assert "ERROR: nothing was done" in digest.parts[0].text and steps[0] in digest.parts[0].text


def test_imports_that_hold_no_specific_stand_where_there_is_room(bench: Bench) -> None:
    code = ["#pragma once", "#include <vector>", "namespace pool {"]
    for n in range(20):
        code += [f"void step_{n:02d}_of_all(const rows_t& rows) {{", f"    kept_{n:02d} = 0.{n * 7919 + 10007}f;", "}"]
    lines = _shown(bench, "\n".join([*code, "}"]), 0.75)
    assert {"#pragma once", "#include <vector>"} <= set(lines)


def test_a_name_beside_a_value_has_its_own_place_again_where_a_line_shows_that_value(bench: Bench) -> None:
    source = bench.source("else_if(rows >= 0.75f)\nand 0.75f of the rows were kept, as they should be")
    one = survey(source, bench.registry)
    batch = batch_of(
        [(one, source.tokens)],
        [[1.0] * len(one.specs)],
        [[1.0] * len(one.specs)],
        shared([one], {}),
        bench.counter.count,
    )
    (plan,) = batch.plans
    name, value = (next(n for n, spec in enumerate(one.specs) if spec.text == text) for text in ("else_if", "0.75f"))
    for spec in (name, value):
        batch.add_entry(plan, spec)
    names = add_words(batch, 1_000)
    assert plan.labels == {0: "else_if"} and plan.entries == {value}
    batch.show(plan, 1)
    name_again(batch, names)
    assert plan.entries == {name}


def test_above_a_list_of_values_that_say_nothing_alone_stands_a_line_that_says_what_they_are(bench: Bench) -> None:
    log = [
        f"2026-11-2{n % 10}T08:{n:02d}:17Z ERROR pool-{n}: request {n * 7919 + 4_111_111:x} failed after {n * 77} ms"
        for n in range(50)
    ]
    assert any("failed after" in line for line in _shown(bench, "\n".join(log), 0.18))
    titled = ["Harbour dredging resumes", ""]
    titled += [
        f"The {n}th basin was {n}.{n} metres deep in {2000 + n}, and {n * 7919 % 97},{n * 613 % 900 + 100} went."
        for n in range(40)
    ]
    end = "Officials concluded that the harbour needs a survey, and that 38.5 million euros will not do."
    shown = _shown(bench, "\n".join([*titled, "", end]), 0.18)
    assert shown[0] == titled[0] and any(len(line.split()) > 8 and line.endswith(".") for line in shown[1:])


def test_above_a_list_of_names_no_line_stands_for_their_sake(bench: Bench) -> None:
    text = "\n".join(
        f"then {kind}_row_{n} and part_{n}_{kind} met each other" for n in range(90) for kind in ("a", "b")
    )
    assert not any("met each other" in line for line in _shown(bench, text, 0.15))


def test_a_title_does_not_yield_to_the_last_values(bench: Bench) -> None:
    packages = [
        f"- packages/{name}/README.md" for name in ("alder", "birch", "cedar", "dogwood", "elder", "fir", "gum")
    ]
    rules = ["# Rules of the house", "", "Read these before anything else, in this order:", *packages, ""]
    rules += [f"Then run check_{n}_of_all in the folder of part_{n}_here and wait for it to end." for n in range(9)]
    for share in (0.4, 0.44, 0.46, 0.48, 0.5, 0.52):
        assert "# Rules of the house" in _shown(bench, "\n".join(rules), share)
