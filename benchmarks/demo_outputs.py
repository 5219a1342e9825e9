"""What the tools print in the coding session: invented, and seeded where it is long."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

from demo_messages import ROOT


def query_plan() -> str:
    return (
        " Index Scan using ix_bookings_berth_arrives on bookings  (cost=0.29..41.07 rows=18 width=71) (actual time=0.021..0.188 rows=22 loops=1)\n"
        "   Index Cond: ((berth)::text = 'B12'::text)\n   Filter: (leaves > now())\n   Rows Removed by Filter: 1296\n"
        "   Buffers: shared hit=63 read=4\n Planning Time: 0.164 ms\n Execution Time: 0.231 ms\n"
    )


def tide_table() -> str:
    """Six days of high and low water, with the gap that the log names."""
    rng = random.Random(46)
    at = datetime(2026, 10, 23, 1, 12, tzinfo=UTC)
    rows = ["# HW/LW 2.4  station IJMH  datum NAP  unit cm  source 2026-R3  crc 5b1e90aa"]
    for number in range(34):
        kind = "HW" if number % 2 == 0 else "LW"
        height = rng.randint(78, 131) if kind == "HW" else -rng.randint(52, 97)
        missing = number == 8
        rows.append(
            f"{at:%Y-%m-%dT%H:%MZ}  {kind}  {'----' if missing else f'{height:+04d}'}  q={9 if missing else rng.randint(0, 2)}"
        )
        at += timedelta(minutes=rng.randint(352, 392))
    return "\n".join(rows)


def traceback() -> str:
    return (
        "2026-10-25T05:20:09Z ERROR harbourline.export req=9f31c07b2e\nTraceback (most recent call last):\n"
        '  File "/srv/harbourline/harbourline/export/__main__.py", line 41, in <module>\n    main()\n'
        '  File "/srv/harbourline/harbourline/export/__main__.py", line 33, in main\n    taken = send(rows, settings)\n'
        '  File "/srv/harbourline/harbourline/export/export.py", line 86, in send\n    raise Refused(reply["refused"])\n'
        "harbourline.export.export.Refused: PCS-422-17 berth=B12 ref=R-7731 minutes=1440, 1500 expected from arrives and leaves\n\n"
        "During handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n"
        '  File "/srv/harbourline/harbourline/export/__main__.py", line 36, in main\n    notify(settings.on_call, error)\n'
        '  File "/srv/harbourline/harbourline/export/notify.py", line 22, in notify\n    raise NoRoute(number) from None\n'
        "harbourline.export.notify.NoRoute: HL-7002 +31 20 555 0142 did not answer in 45 s\n"
    )


def ci_log() -> str:
    rng = random.Random(64)
    steps = (
        "Set up job|Checkout c03d9e8|Set up Python 3.12.7|Restore cache pip-7f3a91|Install 84 packages|Start postgres:16.10|alembic upgrade head (0047)|"
        "ruff check|mypy harbourline|pytest -n 4|Upload junit.xml|Save cache|Stop postgres|Complete job"
    ).split("|")
    at = datetime(2026, 10, 29, 10, 29, 3, tzinfo=UTC)
    rows: list[str] = []
    for step in steps:
        for part in ("start", "end"):
            at += timedelta(milliseconds=rng.randint(300, 14_000))
            note = f" rc=0 rss={rng.randint(40, 610)}MB" if part == "end" else ""
            rows.append(
                f"test (3.12)\t{step}\t{at:%Y-%m-%dT%H:%M:%S}.{rng.randint(1_000_000, 9_999_999)}Z {part}{note}"
            )
    return "\n".join(rows)


def tickets() -> str:
    rows = (
        "HL-1204  open    two vessels at B12 in the night of 25 October      clock,berths   2026-10-28",
        "HL-1203  open    export refused with PCS-422-17                     clock,export   2026-10-26",
        "HL-1187  closed  TypeError when the counter types a time            clock,counter  2026-09-22",
        "HL-1066  closed  pilot called an hour early                         clock,pilots   2026-03-29",
        "HL-1021  closed  tide table of station IJMH has a gap at the change  clock,tides    2025-10-26",
        "HL-0934  closed  nightly export runs twice in October               clock,export   2025-10-26",
        "HL-0711  closed  quay clock shows UTC after the upgrade to 2024.4    clock,counter  2024-04-02",
        "HL-0466  closed  deposits of the long night are one hour short      clock,deposit  2023-10-30",
    )
    return "\n".join(rows)


def schema() -> str:
    return (
        '                          Table "public.bookings"\n'
        "   Column    |           Type           | Nullable |                Default\n"
        "-------------+--------------------------+----------+----------------------------------------\n"
        " id          | bigint                   | not null | nextval('bookings_id_seq'::regclass)\n"
        " ref         | character varying(12)    | not null |\n"
        " berth       | character varying(6)     | not null |\n"
        " mmsi        | bigint                   | not null |\n"
        " arrives     | timestamp with time zone | not null |\n"
        " leaves      | timestamp with time zone | not null |\n"
        " state       | character varying(10)    | not null | 'requested'::character varying\n"
        " deposit_eur | numeric(9,2)             |          |\n"
        "Indexes:\n"
        '    "bookings_pkey" PRIMARY KEY, btree (id)\n'
        '    "bookings_ref_key" UNIQUE CONSTRAINT, btree (ref)\n'
        '    "ix_bookings_berth_arrives" btree (berth, arrives)\n'
        "Check constraints:\n"
        '    "ck_bookings_leaves_after_arrives" CHECK (leaves > arrives)\n'
        "Referenced by:\n"
        '    TABLE "deposits" CONSTRAINT "deposits_booking_fkey" FOREIGN KEY (booking_id) REFERENCES bookings(id)\n'
    )


def blame() -> str:
    return "\n".join(
        f"{commit} (Joris Baan   2024-10-02 09:{minute}:11 +0200 {line}) {text}"
        for commit, minute, line, text in (
            ("77b0c1d2", 14, 44, "        begins = datetime.combine(service_day(moment, self.zone), SHIFT_START)"),
            (
                "a91e6603",
                31,
                45,
                "        # Shifts follow the quay clock: the one in the long night really has 13 hours",
            ),
            ("77b0c1d2", 14, 46, "        elapsed = harbour_time(moment, self.zone) - begins"),
            ("77b0c1d2", 14, 47, "        half = int(elapsed >= SHIFT_LENGTH)"),
            ("77b0c1d2", 14, 48, "        day = begins.date()"),
        )
    )


def recheck_help() -> str:
    return (
        "usage: recheck_conflicts.py [-h] --from DATE --to DATE [--berth CODE] [--zone NAME] [--json]\n\n"
        "Looks at every pair of confirmed bookings of one berth and says which conflict by the rules of today.\n\n"
        "options:\n  --from DATE   first service day\n  --to DATE     last service day\n  --berth CODE  only this berth\n"
        "  --zone NAME   harbour zone (default: HARBOUR_ZONE)\n  --json        one object a line\n\n"
        "exit status: 0 no pair, 3 pairs found, 4 the database refused\n"
    )


def backfill() -> str:
    rng = random.Random(31)
    rows = ["day         berth  ref     sent  correct  code        sha256 of the file that is corrected"]
    for day, ref, berth, sent, correct in (
        ("2026-10-24", "R-7731", "B12", 1440, 1500),
        ("2026-10-24", "R-7796", "B14", 1415, 1475),
        ("2026-10-25", "R-7744", "B12", 270, 330),
        ("2026-10-25", "R-7809", "B17", 1440, 1440),
    ):
        rows.append(f"{day}  {berth}    {ref}  {sent:>4}  {correct:>7}  PCS-422-17  {rng.getrandbits(256):064x}")
    return "\n".join([*rows, "3 corrections prepared in /var/spool/harbourline/corrections, none sent (--dry-run)"])


def spool() -> str:
    rng = random.Random(32)
    names = ("2026-10-24-R-7731.json", "2026-10-24-R-7796.json", "2026-10-25-R-7744.json")
    return "total 12\n" + "\n".join(
        f"-rw-r----- 1 harbour harbour {rng.randint(300, 480)} Oct 29 11:4{n} {name}" for n, name in enumerate(names)
    )


def timers() -> str:
    return (
        "NEXT                         LEFT     LAST                         PASSED  UNIT                       ACTIVATES\n"
        "Fri 2026-10-30 06:20:00 CET  18h left Thu 2026-10-29 06:20:00 CET  5h ago  harbourline-export.timer   harbourline-export.service\n"
        "Fri 2026-10-30 03:10:00 CET  15h left Thu 2026-10-29 03:10:04 CET  8h ago  harbourline-backup.timer   harbourline-backup.service\n"
        "Thu 2026-10-29 12:00:00 CET  9min     Thu 2026-10-29 11:45:00 CET  5min    harbourline-tides.timer    harbourline-tides.service\n"
        "\n3 timers listed.\n"
    )


def listing() -> str:
    parts = {
        "harbourline/berths": "model survey repository quay_plan",
        "harbourline/booking": "conflicts quotes repository requests states",
        "harbourline/tides": "clock tables hydro_format extremes",
        "harbourline/pilots": "roster licences slack",
        "harbourline/export": "export schema spool",
        "harbourline/web": "app api counter auth errors",
        "tests/booking": "test_conflicts test_quotes test_repository",
        "tests/export": "test_export",
        "tests/pilots": "test_roster",
        "tests/tides": "test_clock test_tables",
        "tools": "recheck_conflicts load_tides backfill_export",
        "migrations/versions": "0044_mmsi_bigint 0045_deposits 0046_pcs_parts 0047_berth_survey",
    }
    return "\n".join(
        ["README.md", "pyproject.toml", "alembic.ini"] + [f"{d}/{n}.py" for d, ns in parts.items() for n in ns.split()]
    )


def grep_hits() -> str:
    rows = [
        ("booking/conflicts.py", 10, "from harbourline.tides.clock import harbour_time, slack_windows"),
        ("booking/conflicts.py", 53, "def overlap_minutes(a: Booking, b: Booking, zone: str) -> int:"),
        ("booking/conflicts.py", 55, "    start = max(harbour_time(a.arrives, zone), harbour_time(b.arrives, zone))"),
        ("booking/conflicts.py", 56, "    end = min(harbour_time(a.leaves, zone), harbour_time(b.leaves, zone))"),
        (
            "booking/conflicts.py",
            60,
            "def conflicts_of(new: Booking, others: Iterable[Booking], zone: str) -> tuple[Conflict, ...]:",
        ),
        (
            "booking/repository.py",
            118,
            "        found = conflicts_of(request, self.at_berth(request.berth.code), self.zone)",
        ),
        (
            "booking/quotes.py",
            64,
            "    nights = (harbour_time(leaves, zone).date() - harbour_time(arrives, zone).date()).days",
        ),
        ("export/export.py", 15, "from harbourline.tides.clock import harbour_time, service_day"),
        ("export/export.py", 57, "    start = harbour_time(booking.arrives, zone)"),
        ("export/export.py", 58, "    end = harbour_time(booking.leaves, zone)"),
        ("pilots/roster.py", 79, "        elapsed = harbour_time(moment, self.zone) - begins"),
        ("tides/clock.py", 25, "def harbour_time(moment: datetime, zone: str = DEFAULT_ZONE) -> datetime:"),
        ("tides/clock.py", 56, "    return (harbour_time(moment, zone) - timedelta(hours=6)).date()"),
        ("web/counter.py", 203, '    shown = harbour_time(booking.arrives, zone).strftime("%d-%m %H:%M")'),
        (
            "web/api.py",
            147,
            '    raise HTTPException(409, {"code": refused.code, "conflicts": [asdict(c) for c in refused.conflicts]})',
        ),
    ]
    return "\n".join(f"{ROOT}/harbourline/{path}:{line}:{text}" for path, line, text in rows)


def grep_arithmetic() -> str:
    rows = [
        (
            "booking/quotes.py",
            64,
            "    nights = (harbour_time(leaves, zone).date() - harbour_time(arrives, zone).date()).days",
        ),
        ("export/export.py", 61, "    return int((min(end, closes) - max(start, opens)).total_seconds() // 60)"),
        ("pilots/roster.py", 79, "        elapsed = harbour_time(moment, self.zone) - begins"),
        ("tides/clock.py", 56, "    return (harbour_time(moment, zone) - timedelta(hours=6)).date()"),
    ]
    return "\n".join(f"{ROOT}/harbourline/{path}:{line}:{text}" for path, line, text in rows)


def git_log() -> str:
    rng = random.Random(11)
    subjects = (
        "Compare bookings in harbour time (HL-1187)|Quote deposits in cents (HL-1183)|Refuse bookings beyond 92 days (HL-1179)|"
        "Berth survey of February (HL-1171)|Pilot window of 35 minutes after high water (HL-1166)|Read HW/LW 2.4 tables (HL-1160)|"
        "Keep expired requests for the audit (HL-1154)|Cache zones (HL-1149)|Index bookings by berth (HL-1140)|"
        "Under keel 0.60 m, not 0.50 m (HL-1133)|Name the code in the 409 (HL-1127)|Turnaround of 45 minutes (HL-1122)"
    ).split("|")
    return "\n".join(
        f"{'5e1c07a' if n == 0 else f'{rng.getrandbits(28):07x}'} {subject}" for n, subject in enumerate(subjects)
    )


def log() -> str:
    """A web log: routine rows, and the one request that should have been refused."""
    rng = random.Random(1024)
    at = datetime(2026, 10, 24, 21, 58, 12, 114_000, tzinfo=UTC)
    rows: list[str] = []
    for number in range(110):
        at += timedelta(milliseconds=rng.randint(4_000, 220_000))
        stamp = at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"
        request = f"req={rng.getrandbits(40):010x}"
        if number == 41:
            rows.append(
                f"{stamp} INFO  booking.repository {request} conflicts_of new=R-7744 berth=B12 others=1 found=0 overlap_min=0"
            )
            rows.append(f"{stamp} INFO  web.api {request} POST /api/v2/bookings 201 ref=R-7744 mmsi=258014770 ms=83")
        elif number == 61:
            rows.append(
                f"{stamp} WARN  tides.tables {request} gap in HW/LW table station=IJMH from=2026-10-25T00:40Z minutes=62"
            )
        elif number == 74:
            rows.append(
                f"{stamp} ERROR web.counter {request} two vessels shown at berth=B12 refs=R-7731,R-7744 code=HL-5003"
            )
        elif number % 17 == 9:
            rows.append(
                f"{stamp} WARN  db.pool {request} waited {rng.randint(180, 940)} ms for a connection size=8 busy=8"
            )
        elif number % 3 == 0:
            rows.append(
                f"{stamp} INFO  web.api {request} GET /api/v2/berths 200 rows={rng.randint(11, 24)} ms={rng.randint(6, 31)}"
            )
        else:
            rows.append(
                f"{stamp} INFO  web.api {request} GET /api/v2/bookings/R-{rng.randint(7600, 7830)} 200 ms={rng.randint(4, 27)}"
            )
    return "\n".join(rows)


def rows() -> list[dict[str, Any]]:
    rng = random.Random(77)
    vessels = "Louise Norne Zeemeeuw Halcyon Ternate Grutto Marnix Aurelia Boreas Kittiwake".split()
    rows: list[dict[str, Any]] = []
    start = datetime(2026, 10, 20, 7, 0, tzinfo=UTC)
    for number in range(38):
        start += timedelta(minutes=rng.randint(90, 420))
        rows.append(
            {
                "ref": f"R-{7690 + number * 3}",
                "berth": f"B{rng.choice((11, 12, 12, 13, 14))}",
                "vessel": vessels[number % len(vessels)],
                "mmsi": 244_600_000 + rng.randint(10_000, 99_999),
                "arrives": start.isoformat().replace("+00:00", "Z"),
                "leaves": (start + timedelta(minutes=rng.randint(150, 900))).isoformat().replace("+00:00", "Z"),
                "draught_m": round(rng.uniform(1.1, 3.2), 2),
                "deposit_eur": round(rng.uniform(60, 640), 2),
                "state": rng.choice(("confirmed", "confirmed", "confirmed", "cancelled")),
            }
        )
    return rows


def bookings_json() -> str:
    return json.dumps({"harbour": "NLIJM", "schema": "bookings/2.8", "total": 38, "rows": rows()}, indent=1)


def table() -> str:
    rng = random.Random(5)
    head = "  ref   |   mmsi    |        arrives         |         leaves         |   state   | created_by \n"
    head += "--------+-----------+------------------------+------------------------+-----------+------------\n"
    fixed = [
        "R-7731 | 244650112 | 2026-10-24 22:00:00+00 | 2026-10-25 01:30:00+00 | confirmed | counter-2",
        "R-7744 | 258014770 | 2026-10-25 00:30:00+00 | 2026-10-25 05:30:00+00 | confirmed | api",
    ]
    rows = list(fixed)
    for number in range(20):
        day = 25 + number // 4
        rows.append(
            f"R-{7750 + 4 * number} | {244_600_000 + rng.randint(1_000, 99_999)} | 2026-10-{day} {7 + number % 4 * 4:02d}:15:00+00 | "
            f"2026-10-{day} {10 + number % 4 * 4:02d}:{rng.choice(('00', '20', '40'))}:00+00 | "
            f"{rng.choice(('confirmed', 'confirmed', 'cancelled'))} | {rng.choice(('counter-1', 'counter-2', 'api'))}"
        )
    return head + "\n".join(f" {row}" for row in rows) + f"\n({len(rows)} rows)\n"


def environment() -> str:
    return (
        "HARBOUR_CODE=NLIJM\nHARBOUR_ZONE=Europe/Amsterdam\n"
        "DATABASE_URL=postgresql://harbour:not-a-real-password@db.harbourline.example:5432/harbourline\n"
        "PCS_URL=https://pcs.port.example/gateway\nPCS_TOKEN=fake-token-for-the-demo-000000000000\nPCS_TIMEOUT_S=12\n"
        "LOG_FOLDER=/var/log/harbourline\nPOOL_SIZE=8\nEXPORT_AT=06:20\n"
    )


def export_log() -> str:
    rng = random.Random(99)
    rows: list[str] = []
    for day in range(20, 29):
        hour = 4 if day < 25 else 5
        total, refused = rng.randint(38, 61), 1 if day in (25, 26) else 0
        rows += [
            f"2026-10-{day}T{hour:02d}:20:00+0000 quay2 harbourline-export[{4100 + day}]: start day=2026-10-{day - 1} schema=pcs-occupancy/3.2 rows={total}",
            f"2026-10-{day}T{hour:02d}:20:0{rng.randint(2, 9)}+0000 quay2 harbourline-export[{4100 + day}]: part 0: {total - refused} taken, {refused} refused",
        ]
        if refused:
            rows.append(
                f"2026-10-{day}T{hour:02d}:20:09+0000 quay2 harbourline-export[{4100 + day}]: refused berth=B12 ref=R-7731 "
                f"code=PCS-422-17 'occupancy above 100 % of the service day: {1440 + 60 * (day - 24)} of 1440'"
            )
        rows.append(
            f"2026-10-{day}T{hour:02d}:20:11+0000 quay2 harbourline-export[{4100 + day}]: done exit=0 trace={rng.getrandbits(64):016x}"
        )
    return "\n".join(rows)


def hashes() -> str:
    rng = random.Random(3)
    good = [f"occupancy-2026-10-{day}.csv: OK" for day in range(20, 29)]
    counts = [f"  {rng.randint(39, 62):>3} occupancy-2026-10-{day}.csv" for day in range(20, 29)]
    return "\n".join(good + counts + ["  447 total"])


def csv() -> str:
    rng = random.Random(24)
    rows = ["day,berth,mmsi,ref,minutes,draught_cm", "2026-10-24,B12,244650112,R-7731,1440,210"]
    for number in range(42):
        rows += [
            f"2026-10-24,B{11 + number % 9},{244_600_000 + rng.randint(1_000, 99_999)},R-{7600 + 3 * number},"
            f"{rng.randint(60, 1380)},{rng.randint(110, 320)}"
        ]
    return "\n".join(rows)


def pip_list() -> str:
    packages = (
        "alembic 1.17.0|annotated-types 0.7.0|anyio 4.11.0|asyncpg 0.30.0|certifi 2026.9.1|click 8.3.0|fastapi 0.119.1|greenlet 3.2.4|"
        "h11 0.16.0|harbourline 2026.10.1|httpx 0.28.1|hypothesis 6.140.3|idna 3.11|iniconfig 2.1.0|mako 1.3.10|mypy 1.18.2|"
        "orjson 3.11.3|packaging 25.0|pluggy 1.6.0|psycopg 3.2.10|pydantic 2.12.3|pytest 8.4.2|pytest-xdist 3.8.0|ruff 0.14.1|"
        "sqlalchemy 2.0.44|starlette 0.48.0|structlog 25.4.0|typing-extensions 4.15.0|tzdata 2025.2|uvicorn 0.38.0"
    ).split("|")
    return "Package             Version\n------------------- ----------\n" + "\n".join(
        f"{p.split()[0]:<19} {p.split()[1]}" for p in packages
    )


def green_run() -> str:
    return (
        "============================= test session starts ==============================\n"
        "platform linux -- Python 3.12.7, pytest-8.4.2, pluggy-1.6.0\nrootdir: /srv/harbourline\n4 workers [216 items]\n"
        + "." * 72 + " [ 33%]\n" + "." * 72 + " [ 66%]\n" + "." * 70 + "ss [100%]\n"
        "======================= 214 passed, 2 skipped in 4.06s =========================\n"
    )  # fmt: skip


def benchmark() -> str:
    rng = random.Random(8)
    rows = ["rows   berth   before_ms   after_ms   ratio"]
    for berth in range(11, 31):
        before = rng.uniform(38, 44)
        rows.append(
            f"20000  B{berth}     {before:8.2f}   {before * rng.uniform(0.93, 1.04):8.2f}   {rng.uniform(0.93, 1.04):5.3f}"
        )
    return "\n".join([*rows, "median before 41.07 ms, after 40.66 ms, p99 after 47.93 ms"])


def affected_pairs() -> str:
    return (
        "checked 1,318 bookings at 19 berths, 2026-09-22 to 2026-11-30, zone Europe/Amsterdam\n"
        "berth  earlier  later   overlap_min  code     night\n"
        "B12    R-7731   R-7744  60           HL-4090  2026-10-25\n"
        "B14    R-7796   R-7802  25           HL-4090  2026-10-25\n"
        "B17    R-7809   R-7816  -20          HL-4091  2026-10-25\n"
        "3 pairs, 0 outside the night of the change; exit 3\n"
    )
