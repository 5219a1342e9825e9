"""Whether a call got the part of a file that it asked for: only then it knows that there is more."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_mcp.core.compaction.digests import is_a_part


@pytest.mark.parametrize(
    ("args", "lines", "part"),
    [
        ({"path": "a.py", "offset": 65, "limit": 40}, 42, True),
        ({"path": "a.py", "limit": 40}, 40, True),
        ({"path": "a.py", "limit": 2_000}, 700, False),
        ({"path": "a.py", "limit": "40"}, 42, False),
        ({"path": "a.py"}, 42, False),
        (None, 42, False),
    ],
)
def test_who_got_fewer_lines_than_were_asked_for_is_told_that_there_are_more(
    args: dict[str, Any] | None, lines: int, part: bool
) -> None:
    assert is_a_part(args, "\n".join(map(str, range(lines)))) is part
