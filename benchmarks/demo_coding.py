"""A coding session: bookings of one berth overlap in the night the clocks change."""

from __future__ import annotations

import json
from typing import Any

import demo_outputs as outputs
from demo_messages import ROOT, Session, numbered, source

TASK = (
    "Two vessels were given berth B12 at the same time in the night of 24 to 25 October, and the harbour master had to "
    "move one by hand (ticket HL-1204). The nightly export also reported 1440 minutes for a stay that had 1500. Find "
    "out why, fix it, and keep a note of exact ticket numbers, error codes and commits. Do not change the format of "
    "the export: schema pcs-occupancy/3.2 is frozen until January."
)


def coding_session() -> list[dict[str, Any]]:
    """About fifty calls: orientation, evidence, fix, a second failure, the fix of that, checks."""
    session = Session("c")
    session.user(TASK)
    _orientation(session)
    _evidence(session)
    _first_fix(session)
    session.user(
        "Good find. Before you go on: are there other places that subtract harbour times? And what did the export send "
        "to the port community system for those nights?"
    )
    _second_look(session)
    _second_fix(session)
    session.user(
        "Please also say which bookings of this autumn are affected, so that the harbour master can call them."
    )
    _affected(session)
    session.user(
        "Write the note for ticket HL-1204: cause, commits, error codes, affected bookings, what is left to do."
    )
    return session.messages


def _read(session: Session, say: str, path: str, name: str, first: int = 1, last: int = 10_000) -> None:
    arguments: dict[str, Any] = {"file_path": f"{ROOT}/{path}"}
    if (first, last) != (1, 10_000):
        arguments |= {"offset": first, "limit": last - first + 1}
    session.call(say, "Read", arguments, numbered(source(name), first, last))


def _bash(session: Session, say: str, command: str, output: str, *, is_error: bool = False) -> None:
    session.call(say, "Bash", {"command": command}, output, is_error=is_error)


def _grep(session: Session, say: str, pattern: str, output: str) -> None:
    session.call(say, "Grep", {"pattern": pattern, "path": ROOT, "output_mode": "content"}, output)


def _edit(session: Session, say: str, path: str, old: str, new: str) -> None:
    arguments = {"file_path": f"{ROOT}/{path}", "old_string": old, "new_string": new}
    session.call(say, "Edit", arguments, f"The file {ROOT}/{path} has been updated.")


def _orientation(session: Session) -> None:
    _bash(session, "I start with the layout of the project.", "git ls-files | head -80", outputs.listing())
    _read(session, "The README should name the rules.", "README.md", "readme.md")
    _grep(session, "Where are bookings compared?", r"overlap|conflicts_of|harbour_time", outputs.grep_hits())
    _read(session, "", "harbourline/booking/conflicts.py", "conflicts.py")
    _read(session, "It compares in harbour time. What is that?", "harbourline/tides/clock.py", "clock.py")
    _bash(
        session,
        "When did this change?",
        "git log --oneline -18 -- harbourline/booking harbourline/tides",
        outputs.git_log(),
    )
    _bash(session, "HL-1187 looks like it.", "git show 5e1c07a", source("diff"))
    _read(session, "Which cases do the tests cover?", "tests/booking/test_conflicts.py", "test_conflicts.py")


def _evidence(session: Session) -> None:
    _read(session, "Which states count as an obstacle?", "harbourline/booking/states.py", "states.py")
    _bash(session, "", "psql -X -c '\\d bookings'", outputs.schema())
    _bash(
        session,
        "Now the log of that night.",
        "sed -n '/T2[12]:/,/T03:/p' /var/log/harbourline/web-2026-10-24.log",
        outputs.log(),
    )
    _bash(
        session,
        "What does the database hold for B12?",
        "psql -X -c \"select ref, mmsi, arrives, leaves, state, created_by from bookings where berth = 'B12' "
        "and arrives >= '2026-10-20' order by arrives\"",
        outputs.table(),
    )
    _bash(
        session,
        "How often is that query run, and does it use the index?",
        "psql -X -c \"explain (analyze, buffers) select * from bookings where berth = 'B12' and leaves > now()\"",
        outputs.query_plan(),
    )
    _bash(session, "", "cat .env.staging", outputs.environment())
    _bash(
        session,
        "The tide table has a gap there, says the log.",
        "cat data/tides/IJMH-2026-10-24.hwlw",
        outputs.tide_table(),
    )
    _bash(session, "", "tail -n 30 /var/log/harbourline/errors.log", outputs.traceback())
    _bash(
        session,
        "The API shows what the counter saw.",
        'curl -s -H "Authorization: Bearer demo.fake.token.000000000000" '
        "'https://staging.harbourline.example:8443/api/v2/bookings?from=2026-10-17&to=2026-10-28'",
        outputs.bookings_json(),
    )
    _bash(
        session,
        "The two tests that I would add; first the whole suite.",
        ".venv/bin/pytest",
        source("test_output_1"),
        is_error=True,
    )


def _first_fix(session: Session) -> None:
    session.assistant(
        "The cause is commit 5e1c07a (HL-1187): it compares naive wall-clock times. In the night of 25 October the hour "
        "from 02:00 to 03:00 exists twice, so a stay that ends at 03:30 CEST and one that starts at 02:30 CET look like "
        "no overlap. In March the jump makes a gap of 40 minutes look like 100."
    )
    _edit(
        session,
        "Durations must be computed in UTC.",
        "harbourline/booking/conflicts.py",
        "    start = max(harbour_time(a.arrives, zone), harbour_time(b.arrives, zone))\n"
        "    end = min(harbour_time(a.leaves, zone), harbour_time(b.leaves, zone))\n",
        "    start = max(to_utc(a.arrives, zone), to_utc(b.arrives, zone))\n"
        "    end = min(to_utc(a.leaves, zone), to_utc(b.leaves, zone))\n",
    )
    _edit(
        session,
        "",
        "harbourline/tides/clock.py",
        "    return moment.astimezone(zone_of(zone)).replace(tzinfo=None)\n",
        "    return moment.astimezone(zone_of(zone))\n",
    )
    _bash(session, "", ".venv/bin/pytest", source("test_output_2"), is_error=True)
    session.assistant(
        "The conflicts are right now, but `harbour_time` is used by the roster and by the export too, and both subtract. "
        "I should not have changed its result; I look at every caller."
    )


def _second_look(session: Session) -> None:
    _grep(
        session,
        "Every caller that does arithmetic.",
        r"harbour_time\(.*\) *[-<>]|- *harbour_time",
        outputs.grep_arithmetic(),
    )
    _read(session, "", "harbourline/export/export.py", "export.py")
    _bash(
        session,
        "What did the export send?",
        "journalctl -u harbourline-export --since 2026-10-20 -o short-iso",
        outputs.export_log(),
    )
    _bash(
        session,
        "The files that were sent carry a hash each.",
        "cd /var/spool/harbourline/export && sha256sum -c *.sha256; wc -l occupancy-2026-10-2*.csv",
        outputs.hashes(),
    )
    _bash(session, "", "cat /var/spool/harbourline/export/occupancy-2026-10-24.csv", outputs.csv())
    _bash(session, "Which versions run in production?", ".venv/bin/pip list --format=columns", outputs.pip_list())
    _read(session, "What may the export contain?", "docs/pcs-occupancy.md", "pcs.md")
    _read(session, "The roster subtracts on purpose?", "harbourline/pilots/roster.py", "roster.py")
    _bash(session, "", "git blame -L 44,48 harbourline/pilots/roster.py", outputs.blame())
    _read(
        session,
        "I read the two functions again before I edit.",
        "harbourline/booking/conflicts.py",
        "conflicts.py",
        51,
        78,
    )


def _second_fix(session: Session) -> None:
    _edit(
        session,
        "`harbour_time` keeps its contract (no zone); the export computes in UTC.",
        "harbourline/export/export.py",
        "    start = harbour_time(booking.arrives, zone)\n    end = harbour_time(booking.leaves, zone)\n"
        "    opens = datetime.combine(day, datetime.min.time()) + timedelta(hours=6)\n"
        "    closes = opens + timedelta(days=1)\n",
        "    start, end = to_utc(booking.arrives, zone), to_utc(booking.leaves, zone)\n"
        "    opens = to_utc(datetime.combine(day, time(6)), zone)\n"
        "    closes = to_utc(datetime.combine(day + timedelta(days=1), time(6)), zone)\n",
    )
    _edit(
        session,
        "",
        "harbourline/tides/clock.py",
        "    return moment.astimezone(zone_of(zone))\n\n\ndef to_utc",
        "    return moment.astimezone(zone_of(zone)).replace(tzinfo=None)\n\n\ndef to_utc",
    )
    _bash(session, "", ".venv/bin/pytest -n 4", outputs.green_run())
    _bash(
        session,
        "",
        ".venv/bin/ruff check . && .venv/bin/mypy harbourline",
        "All checks passed!\nSuccess: no issues found in 61 source files",
    )
    _bash(
        session,
        "A slow machine must not feel it.",
        ".venv/bin/python bench/conflicts.py --rows 20000",
        outputs.benchmark(),
    )
    _bash(
        session,
        "",
        "git add -A && git commit -q -m 'Compute overlaps and occupancy in UTC (HL-1204)' && git log --stat -1",
        "commit c03d9e81f7a4462b0e5c1d94aa7f2b8836e1d05f\nAuthor: Ines Vroom <ines@harbourline.example>\n"
        "Date:   Thu Oct 29 11:26:47 2026 +0100\n\n    Compute overlaps and occupancy in UTC (HL-1204)\n\n"
        " harbourline/booking/conflicts.py | 6 +++---\n harbourline/export/export.py     | 10 ++++------\n"
        " tests/booking/test_conflicts.py  | 18 ++++++++++++++++++\n 3 files changed, 24 insertions(+), 10 deletions(-)",
    )
    _bash(session, "What did CI say?", "gh run view 18844120931 --log | tail -40", outputs.ci_log())


def _affected(session: Session) -> None:
    _bash(session, "", "gh issue list --label clock --state all --limit 20", outputs.tickets())
    _bash(session, "", ".venv/bin/python tools/recheck_conflicts.py --help", outputs.recheck_help())
    _bash(
        session,
        "Every pair of one berth whose true overlap is above zero.",
        ".venv/bin/python tools/recheck_conflicts.py --from 2026-09-22 --to 2026-11-30",
        outputs.affected_pairs(),
    )
    for index, (ref, vessel) in enumerate(
        (("R-7744", "Norne"), ("R-7802", "Zeemeeuw"), ("R-7816", "Halcyon")), start=1
    ):
        _bash(
            session,
            "" if index > 1 else "The contacts of the vessels that must move.",
            f"curl -s https://staging.harbourline.example:8443/api/v2/bookings/{ref}",
            json.dumps(
                {
                    "ref": ref,
                    "vessel": vessel,
                    "mmsi": 258_014_770 + 331 * index,
                    "agent": f"agent{index}@shipping.example",
                    "phone": f"+31 20 555 01{60 + index}",
                    "deposit_eur": 180.0 + 45.5 * index,
                    "moved_to": f"B{13 + index}",
                },
                indent=2,
            ),
        )
    _bash(
        session,
        "The corrections can be prepared, not sent: after 07:00 parts are refused.",
        ".venv/bin/python tools/backfill_export.py --days 2026-10-24,2026-10-25 --dry-run",
        outputs.backfill(),
    )
    _bash(session, "", "ls -l /var/spool/harbourline/corrections", outputs.spool())
    _bash(session, "", "systemctl list-timers 'harbourline-*' --no-pager", outputs.timers())
    _bash(
        session,
        "",
        "git status --short && git log --oneline -2",
        "c03d9e8 Compute overlaps and occupancy in UTC (HL-1204)\n5f7720b Berth survey of February (HL-1171)",
    )
