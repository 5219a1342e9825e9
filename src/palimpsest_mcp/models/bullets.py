"""Bullets of a markdown section read back, in summaries and handoffs alike, also where a person edited them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def without_left_out(lines: Iterable[str], left_out: re.Pattern[str]) -> tuple[list[str], int]:
    """The lines without those that count what did not fit, and the sum of their counts.

    Args:
        left_out: matches such a line behind its dash; its first group is the count.
    """
    kept: list[str] = []
    number = 0
    for line in lines:
        found = left_out.match(line[2:]) if line.startswith("- ") else None
        if found:
            number += int(found[1])
        else:
            kept.append(line)
    return kept, number


def bullets(lines: Sequence[str], none: str) -> list[str]:
    """Bullets without their dash. A person's indented lines belong to the bullet above, other lines are bullets.

    Args:
        none: the sentence that says there is nothing; it is no bullet.
    """
    found: list[str] = []
    for line in lines:
        if line.startswith("- "):
            found.append(line[2:])
        elif not line.strip() or line == none:
            continue
        elif line[0] in " \t" and found:
            found[-1] += "\\⏎" + line.strip()
        else:
            found.append(line[2:] if line.startswith(("* ", "+ ")) else line)
    return found
