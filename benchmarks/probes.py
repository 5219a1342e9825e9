"""How the probes of whole passes end on the shared sessions: `P of N (E with the digests emptied)`, source by source.

python benchmarks/probes.py [--target 0.4] [--source pi-mono] [--each 10] [--failed]
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections import Counter

from measuring import table
from real_sessions import sessions

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import PalimpsestError
from palimpsest_mcp.models.probes import ProbeReport


async def asked(target: float, source: str, each: int) -> list[tuple[str, ProbeReport]]:
    """The probes of one pass over every session, or every so many."""
    found: list[tuple[str, ProbeReport]] = []
    for number, session in enumerate(sessions(source)):
        if number % each:
            continue
        with tempfile.TemporaryDirectory(prefix="palimpsest-probes-") as home:
            async with Palimpsest.open(home) as palimpsest:
                try:
                    done = await palimpsest.compact_messages(
                        session.messages, session_id="s", target=target, force=True
                    )
                except PalimpsestError as error:
                    print(f"{session.name}: {error}")
                    continue
        found.append((session.name, done.report.probes))
    return found


def rows(found: list[tuple[str, ProbeReport]]) -> list[list[str]]:
    """A row a source, and one for all."""
    made: list[list[str]] = []
    for source in (*dict.fromkeys(name.partition(":")[0] for name, _ in found), ""):
        own = [one for name, one in found if source in ("", name.partition(":")[0])]
        passed, total, emptied = (sum(getattr(one, part) for one in own) for part in ("passed", "total", "emptied"))
        states = Counter(one.state for one in own)
        shares = [f"{100 * part / total:.1f}" if total else "–" for part in (passed, emptied)]
        told = ", ".join(f"{count} {state}" for state, count in states.most_common())
        made.append([source or "all", str(len(own)), f"{passed} of {total}", str(emptied), *shares, told])
    return made


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=float, default=0.4)
    parser.add_argument("--source", default="")
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--failed", action="store_true", help="print the questions that failed")
    given = parser.parse_args()
    found = asyncio.run(asked(given.target, given.source, given.each))
    print(table(("source", "sessions", "P of N", "E", "P, %", "E, %", "verdicts"), rows(found)))
    for name, report in found if given.failed else ():
        for one in report.failed:
            print(f"{name}: {one.type}: {' and '.join(one.expected)}")


if __name__ == "__main__":
    main()
