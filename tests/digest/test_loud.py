"""One loud line among many that are not is told first, whatever the text is."""

from __future__ import annotations

from palimpsest_mcp.digest.loud import raise_loud
from palimpsest_mcp.digest.survey import survey
from palimpsest_mcp.digest.units import Unit

from .conftest import Bench

_LISTING = [f"ii  package-{n:03d}  {n}.2.{n % 7}-1  amd64  part {n} of the whole" for n in range(90)]


def _gists(bench: Bench, lines: list[str]) -> dict[str, float]:
    return {unit.text: unit.gist for unit in survey(bench.source("\n".join(lines)), bench.registry).reduced.units}


def test_an_error_in_a_listing_tells_more_than_its_neighbours(bench: Bench) -> None:
    loud = "2026-11-18 07:59:30 ERROR request failed ref=ERR_LOCK_6054"
    gists = _gists(bench, [*_LISTING[:40], loud, *_LISTING[40:]])
    assert gists[loud] > max(gist for text, gist in gists.items() if text.startswith("package-0"))


def test_where_every_line_is_loud_none_stands_out() -> None:
    units = [Unit(f"part {n}: ERROR while it was moved", "quote", (), gist=0.3) for n in range(40)]
    raise_loud(units)
    assert {unit.gist for unit in units} == {0.3}
    raise_loud(units[:2])
    assert [unit.gist > 0.3 for unit in units[:3]] == [True, True, False]
