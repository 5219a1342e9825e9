"""The examples on the page of handoffs are what the program prints, and its table is the policy's."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from palimpsest_mcp.context.policies import PHASED
from palimpsest_mcp.memory.handoff.templates import TEMPLATES

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "handoffs.md"


@pytest.mark.slow
def test_the_examples_on_the_page_are_what_the_program_prints() -> None:
    done = subprocess.run([sys.executable, HERE / "readme_commands.py", PAGE], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok ") == 4


def test_the_table_of_actions_is_that_of_the_phased_policy() -> None:
    table = PAGE.read_text("utf-8").split("## When to write one")[1].split("##")[0]
    assert re.findall(r"^\| .* % .*?\| (.*) \|$", table, re.MULTILINE) == [zone.action for zone in PHASED.zones]


def test_the_page_names_every_section_of_every_template() -> None:
    rows = (PAGE.parent / "format.md").read_text("utf-8").split("## Handoffs")[1].split("## purged")[0]
    for template in TEMPLATES.values():
        for section in template.sections:
            assert section.heading.split(",")[0] in rows.replace("has pointers", "Pointers"), section.heading
