"""Where the budget is small: values before our own lines, an honest count, and every part still marked as shortened."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palimpsest_mcp.digest.manifest import SHORTENED, is_note
from palimpsest_mcp.errors import DigestRefused

from .conftest import Bench

_FLIGHTS = [
    {
        "flight_number": f"HAT{n:03d}",
        "origin": "DEN",
        "date": f"2024-05-{n % 28 + 1:02d}",
        "payment_id": f"credit_card_44{n:05d}",
        "prices": {"economy": 100 + n, "business": 300 + n},
    }
    for n in range(12, 20)
]


def test_a_tight_budget_holds_values_and_says_how_many_it_does_not(bench: Bench) -> None:
    digest = bench.digest(json.dumps(_FLIGHTS), share=0.16)
    first, *rest = digest.parts[0].text.split("\n")
    counts = digest.specifics
    assert digest.mode == "digest" and is_note(first)
    assert f"[left out {counts.left_out} of {counts.total} specifics · restore_batch " in first
    assert first.endswith(" · restore_batch s7f3k offload_0007]")
    assert len(rest) == 1 and "HAT012" in rest[0] and "=" not in rest[0] and ":" not in rest[0]


def test_every_part_of_a_brief_batch_says_that_it_is_shortened(bench: Bench) -> None:
    digest = bench.digest(*(json.dumps(_FLIGHTS).replace("HAT", f"H{n}T") for n in range(3)), share=0.16)
    assert "left out " in digest.parts[0].text.split("\n")[0]
    assert [part.text.split("\n")[0] for part in digest.parts[1:]] == [SHORTENED] * 2


def test_a_value_that_stands_inside_a_longer_one_yields_to_others(bench: Bench) -> None:
    wheels = "\n".join(
        f"using pack{n}age-{n}.{n + 1}.{n + 2}-py3-none-any.whl of {n}.{n + 1}.{n + 2}" for n in range(60)
    )
    found = bench.digest(wheels, share=0.3)
    ledger = "\n".join(line.text for line in found.parts[0].lines if line.kind == "entry").replace("\n", " ").split(" ")
    shown = {n for n in range(60) if f"pack{n}age-{n}.{n + 1}.{n + 2}-py3-none-any.whl" in ledger}
    assert shown and not [n for n in shown if f"{n}.{n + 1}.{n + 2}" in ledger]


def test_where_the_budget_may_not_grow_a_dense_item_gives_what_fits(bench: Bench) -> None:
    dense = "\n".join(f"{n} ERR_POOL_{n} at https://example.org/v{n}/runs/{n * 7919}" for n in range(1000, 1100))
    digest = bench.digest(dense, share=0.1)
    assert digest.mode == "digest" and 0 < digest.specifics.shown < 0.5 * digest.specifics.total


def test_a_key_in_the_ledger_shows_the_name_that_it_is(bench: Bench) -> None:
    digest = bench.digest(json.dumps(_FLIGHTS), share=0.45)
    text = digest.parts[0].text
    assert "flight_number=" in text or "flight_number |" in text
    assert "name: flight_number" not in text and " flight_number " not in text.replace("flight_number |", "")


_CELL = st.one_of(
    st.integers(0, 10**9),
    st.sampled_from(
        ["HAT069", "1.2.3", "2026-11-20", "a b c", "exit 2", "x=1", "[…]", "EUR 12", "12 ms", "os.path.join"]
    ),
    st.text(max_size=12),
)
_RECORD = st.dictionaries(
    st.sampled_from(["id", "name", "title", "version", "note", "status", "user_id"]), _CELL, min_size=1
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    records=st.lists(st.lists(_RECORD, min_size=1, max_size=12), min_size=1, max_size=3),
    share=st.sampled_from([0.1, 0.2, 0.4, 0.7]),
)
def test_records_keep_every_promise_at_every_budget(records: list[list[dict[str, object]]], share: float) -> None:
    bench = Bench()
    request = bench.request(*(json.dumps(one) for one in records), share=share)
    try:
        digest = bench.digester.compute(request)
    except DigestRefused:
        return
    assert digest.verification.passed, digest.verification.violations
    assert digest.tokens == sum(bench.counter.count(part.text) for part in digest.parts)
    assert digest.mode == "pointer" or digest.tokens <= 1.05 * request.budget_tokens
    for counts in digest.specifics.by_class.values():
        assert counts.shown + counts.elsewhere + counts.left_out == counts.total
    for part, shown in zip(digest.parts, digest.shown, strict=True):
        lines = "\n".join(line.text for line in part.lines if line.kind != "note")
        found = {(span.cls, span.text) for span in bench.registry.spans(lines)}
        assert {(spec.cls, spec.text) for spec in shown} == found
        assert is_note(part.text.split("\n")[0])


def test_where_nothing_can_stand_beside_values_those_that_say_nothing_alone_go_first(bench: Bench) -> None:
    text = json.dumps({f"field_{n}": {"price": 1000 + n, "order": f"W{n}A77B{n}"} for n in range(9)})
    digest = bench.digest(text, text.replace("A77B", "C88D"), text.replace("A77B", "E99F"), share=0.15)
    shown = [spec for part in digest.shown for spec in part]
    assert "W0A77B0" in digest.parts[0].text and "integer" not in {spec.cls for spec in shown}


def test_what_two_results_hold_under_two_keys_is_said_once_where_no_key_can_stand(bench: Bench) -> None:
    one = json.dumps({"reservations": [f"NM{n}VX{n}" for n in range(12)], "note": "as before and after it " * 12})
    two = json.dumps({"reservation_id": "NM1VX1", "note": "as before and after it, again " * 12})
    digest = bench.digest(one, two, share=0.1)
    assert sum(part.text.count("NM1VX1") for part in digest.parts) == 1


def test_the_line_that_says_how_it_ended_stands_though_it_is_long(bench: Bench) -> None:
    frames = "\n".join(
        f'  File "/srv/app/part_{n}/mod_{n}.py", line {n + 10}, in call_{n}\n    return call_{n + 1}(thing_{n})'
        for n in range(10)
    )
    end = "ImportError: cannot import name 'resolver_of_graphs' from 'package.part'"
    digest = bench.digest(f"Traceback (most recent call last):\n{frames}\n{end}\n", share=0.25)
    assert end in digest.parts[0].text.split("\n")


def test_a_small_batch_of_one_item_has_its_header_and_no_note_of_the_item(bench: Bench) -> None:
    text = "\n".join(f"note {n}: part {n}a{n} of the whole was moved on" for n in range(120))
    first, second = bench.digest(text, share=0.12).parts[0].lines[:2]
    assert first.text.startswith("[left out ")
    assert not second.text.startswith("[item 1")


def test_a_value_that_is_a_task_word_comes_first_where_few_fit(bench: Bench) -> None:
    flights = json.dumps(_FLIGHTS)
    without = bench.digest(flights, share=0.1).parts[0].text
    assert "credit_card_4400015" not in without
    assert "credit_card_4400015" in bench.digest(flights, share=0.1, focus=("credit_card_4400015",)).parts[0].text
