"""What a reader is told: what the text was, in its order, each line below the one that says where it stands."""

from __future__ import annotations

import json

from palimpsest_mcp.digest.lines import Unit
from palimpsest_mcp.digest.manifest import is_note
from palimpsest_mcp.digest.plan import batch_of
from palimpsest_mcp.digest.reducers.code import unnumbered
from palimpsest_mcp.digest.survey import survey
from palimpsest_mcp.digest.verify import shared

from .conftest import Bench


def _units(bench: Bench, text: str) -> list[Unit]:
    return survey(bench.source(text), bench.registry).reduced.units


def _above(units: list[Unit], text: str) -> list[str]:
    """The lines that are shown with the line that holds `text`, the nearest first."""
    found: list[str] = []
    at = next(n for n, unit in enumerate(units) if text in unit.text)
    while (at := units[at].under) >= 0:
        found.append(units[at].text)
    return found


def _best(units: list[Unit], count: int) -> list[str]:
    """The lines that tell most, in the order they stand."""
    ranked = sorted(range(len(units)), key=lambda n: (-units[n].gist, n))[:count]
    return [units[n].text for n in sorted(ranked)]


def _shown(bench: Bench, text: str, share: float) -> list[str]:
    return [line for line in bench.digest(text, share=share).parts[0].text.split("\n") if not is_note(line)]


_README = """<!-- badge: build -->
# Tidewatch

Tidewatch reads the tide gauges of a harbour and warns before a berth runs dry.

## Install

Install it with the package manager of your system:

```json
{"gauge": "north"}
```

## Limits

It knows 14 harbours, all of them in the north.

- codex:
- gauges without a clock are skipped
"""


def test_prose_is_told_by_its_title_and_the_sentences_that_open_its_sections(bench: Bench) -> None:
    assert _best(_units(bench, _README), 3) == [
        "# Tidewatch",
        "Tidewatch reads the tide gauges of a harbour and warns before a berth runs dry.",
        "It knows 14 harbours, all of them in the north.",
    ]


def test_a_sentence_takes_the_heading_of_its_section_along(bench: Bench) -> None:
    units = _units(bench, _README)
    assert _above(units, "14 harbours") == ["## Limits"]
    assert _above(units, "without a clock") == ["## Limits"]


def test_a_fence_a_bare_comment_and_a_bare_name_tell_nothing(bench: Bench) -> None:
    units = _units(bench, _README)
    told = {unit.text: unit.gist for unit in units}
    assert told["```json"] == told["<!-- badge: build -->"] == 0.0
    assert told["- codex:"] < told["It knows 14 harbours, all of them in the north."]


def test_a_hash_in_a_block_of_code_is_no_heading(bench: Bench) -> None:
    text = "# Title\n\nSome words that say what this is about.\n\n```sh\n# a comment here\nfetch --depth 41\n```\n"
    assert _above(_units(bench, text), "--depth 41") == ["# Title"]


def test_a_wrapped_sentence_takes_its_beginning_along(bench: Bench) -> None:
    text = (
        "# Moorings\n\nThe harbour master assigns a berth to every vessel that has announced itself and\n"
        "waits for the tide to turn before it may enter. Others wait outside.\n\nMore words follow here.\n"
    )
    assert _above(_units(bench, text), "tide to turn") == [
        "The harbour master assigns a berth to every vessel that has announced itself and",
        "# Moorings",
    ]


def test_what_somebody_says_before_the_title_is_not_what_the_report_is_about(bench: Bench) -> None:
    said = "Perfect! Now I have everything. Let me write the report."
    text = f"{said}\n\n# Report on berth B12\n\nTwo vessels were shown at once.\n"
    best = _best(_units(bench, text), 2)
    assert best == ["# Report on berth B12", "Two vessels were shown at once."]


_CODE = '''# Copyright 2024 The Harbour Authors
# Licensed under the Apache License, Version 2.0
"""Assigns berths to vessels that have announced themselves."""

import json

LIMIT = 48

class Berths:
    """All berths of one harbour."""

    def assign(self, vessel: str) -> int:
        width = 0.25
        if vessel in self.known:
            raise ValueError("assigned twice")
        return self.next_free(width)

def load(path: str) -> Berths:
    with open(path) as file:
        return Berths(json.load(file))
'''


def test_code_is_told_by_what_it_is_for_and_its_outline_in_order(bench: Bench) -> None:
    assert _best(_units(bench, _CODE), 4) == [
        '"""Assigns berths to vessels that have announced themselves."""',
        "class Berths:",
        "    def assign(self, vessel: str) -> int:",
        "def load(path: str) -> Berths:",
    ]


def test_a_line_of_code_takes_its_function_and_class_along(bench: Bench) -> None:
    assert _above(_units(bench, _CODE), "width = 0.25") == [
        "    def assign(self, vessel: str) -> int:",
        "class Berths:",
    ]


def test_a_licence_tells_less_than_nothing(bench: Bench) -> None:
    told = {unit.text: unit.gist for unit in _units(bench, _CODE)}
    assert told["# Copyright 2024 The Harbour Authors"] < 0
    assert told["# Licensed under the Apache License, Version 2.0"] < 0


_CPP = """#include <map>
namespace harbour {
static bool assign(const Vessel& vessel, int berth) {
  int width = 240;
  notify(vessel);
  return true;
}
void Berths::clear()
{
  known_.clear();
}
}
"""


def test_functions_are_found_in_languages_without_a_word_for_them(bench: Bench) -> None:
    units = _units(bench, _CPP)
    assert _above(units, "width = 240") == ["static bool assign(const Vessel& vessel, int berth) {"]
    told = {unit.text: unit.gist for unit in units}
    assert told["void Berths::clear()"] > 1 and told["  notify(vessel);"] == 0


def test_numbers_before_lines_are_not_part_of_what_they_say(bench: Bench) -> None:
    numbered = "\n".join(f"{n:6}\t{line}" for n, line in enumerate(_CODE.split("\n"), 1))
    assert _above(_units(bench, numbered), "width = 0.25") == [
        "    12\t    def assign(self, vessel: str) -> int:",
        "     9\tclass Berths:",
    ]


def test_numbers_that_do_not_follow_each_other_are_data() -> None:
    rows = ["4\tnorth", "9\tsouth", "2\teast", "7\twest"]
    assert unnumbered(rows) is rows


_DIFF = """diff --git a/src/berth.py b/src/berth.py
index 3e1dca0..e33074b 100644
--- a/src/berth.py
+++ b/src/berth.py
@@ -10,4 +10,4 @@ def assign(vessel):
     berth = free(vessel)
-    limit = 48
+    limit = 64
     return berth
"""


def test_a_changed_line_takes_its_file_and_place_along(bench: Bench) -> None:
    assert _above(_units(bench, _DIFF), "limit = 64") == [
        "@@ -10,4 +10,4 @@ def assign(vessel):",
        "diff --git a/src/berth.py b/src/berth.py",
    ]


def test_a_row_takes_the_names_of_its_columns_along(bench: Bench) -> None:
    rows = "\n".join(f"V{n:03d},north,{n * 7 + 100},{n}.5" for n in range(30))
    text = f"vessel,berth,length,draft\n{rows}\n"
    assert _above(_units(bench, text), "V012") == ["vessel\tberth\tlength\tdraft"]
    assert _shown(bench, text * 4, 0.3)[0] == "vessel\tberth\tlength\tdraft"


_YAML = """kind: Deployment
metadata:
  name: berths
spec:
  replicas: 4
  template:
    image: berths:2.14.3
    port: 8080
"""
_TOML = """[project]
name = "berths"
version = "2.14.3"

[tool.lint]
line-length = 120
select = ["E"]
quiet = true
"""


def test_a_setting_takes_the_names_that_lead_to_it_along(bench: Bench) -> None:
    assert _above(_units(bench, _YAML), "2.14.3") == ["  template:", "spec:"]
    assert _above(_units(bench, _TOML), "line-length") == ["[tool.lint]"]


def test_names_of_elements_stay_where_the_markup_is_data(bench: Bench) -> None:
    xml = """<?xml version="1.0"?>
<fleet>
  <vessel>
    <id>V-2041</id>
    <draft>7.5</draft>
  </vessel>
</fleet>
"""
    assert _above(_units(bench, xml), "V-2041") == ["  <vessel>", "<fleet>"]


def test_a_line_is_never_shown_without_what_it_stands_under_and_both_are_paid_for(bench: Bench) -> None:
    known = survey(bench.source(_CODE), bench.registry)
    rated = [1.0] * len(known.specs)
    batch = batch_of([(known, 200)], [rated], [rated], shared([known], {}), bench.counter.count)
    plan = batch.plans[0]
    units = known.reduced.units
    width = next(n for n, unit in enumerate(units) if "width = 0.25" in unit.text)
    cost = batch.cost(plan, units[width])
    batch.take(plan, width)
    assert [units[n].text.strip() for n in sorted(plan.picked)] == [
        "class Berths:",
        "def assign(self, vessel: str) -> int:",
        "width = 0.25",
    ]
    assert batch.spent == cost == sum(bench.counter.count(units[n].text) + 1 for n in plan.picked)


def test_a_long_text_of_a_record_stands_below_what_tells_which_record_it_is(bench: Bench) -> None:
    found = [
        {"title": f"Tides of {place}", "snippet": f"The gauge of {place} stood at {n}.25 m.\n\nIt is read hourly. " * 9}
        for n, place in enumerate(["Norhaven", "Westing", "Oster"], 4)
    ]
    units = _units(bench, json.dumps(found))
    assert _above(units, "Westing stood at") == ["Tides of Westing"]
    titles = [unit.text for unit in units if unit.text.startswith("Tides of")]
    assert titles == ["Tides of Norhaven", "Tides of Westing", "Tides of Oster"]
    best = _best(units, 3)
    assert best == titles
