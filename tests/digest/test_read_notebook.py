"""Notebooks: sections, code and outputs in the order of the cells."""

from __future__ import annotations

import json

import pytest

from palimpsest_mcp.digest.readers import notebook

BOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Sales\n", "Only shops that are open.\n", "## Load"]},
        {
            "cell_type": "code",
            "source": "import pandas as pd\n\ndef load(path):\n    return pd.read_csv(path)\n",
            "outputs": [{"output_type": "stream", "text": ["read shops.csv\n", "kept 41 of 70 rows – naïve\n"]}],
        },
        {
            "cell_type": "code",
            "source": ["load('none.csv')"],
            "outputs": [
                {
                    "output_type": "error",
                    "ename": "FileNotFoundError",
                    "evalue": "none.csv",
                    "traceback": ["\u001b[31mx\u001b[0m"],
                }
            ],
        },
    ],
    "nbformat": 4,
}


@pytest.mark.parametrize("ascii_only", [True, False])
def test_cells_are_read_in_order_under_their_section(ascii_only: bool) -> None:
    lines = json.dumps(BOOK, indent=1, ensure_ascii=ascii_only).split("\n")
    assert notebook.claims(lines, 0) == len(lines)
    records = notebook.read(lines).records
    told = [(r.text, r.kind, records[r.under].text if r.under >= 0 else "") for r in records]
    assert told == [
        ("# Sales", "heading", ""),
        ("Only shops that are open.", "line", "# Sales"),
        ("## Load", "heading", "# Sales"),
        ("import pandas as pd", "line", "## Load"),
        ("def load(path):", "definition", "## Load"),
        ("return pd.read_csv(path)", "line", "def load(path):"),
        ("read shops.csv", "line", "import pandas as pd"),
        ("kept 41 of 70 rows – naïve", "line", "import pandas as pd"),
        ("load('none.csv')", "line", "## Load"),
        ("FileNotFoundError", "error", "load('none.csv')"),
        ("none.csv", "error", "load('none.csv')"),
    ]
    assert "def load" in lines[records[4].at]
    assert [r.at for r in records] == sorted(r.at for r in records)


@pytest.mark.parametrize(
    "text", ['{"cells": []}', '{"nbformat": 4, "cells": 7}', '{"nbformat": 4', '[{"nbformat": 4}]', "nbformat", ""]
)
def test_other_json_is_refused(text: str) -> None:
    assert notebook.claims(text.split("\n"), 0) == 0


def test_a_broken_cell_is_passed_over() -> None:
    cells: list[object] = [
        3,
        {"cell_type": "code", "source": None, "outputs": [None, {"data": []}]},
        {"source": ["fine"]},
    ]
    assert [r.text for r in notebook.read([json.dumps({"nbformat": 4, "cells": cells})]).records] == ["fine"]
