"""A research session: which embedded store for 1,400 buoy loggers that lose power without warning."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

from demo_messages import Session

TASK = (
    "We run 1,400 buoy loggers (ARM Cortex-A7, 256 MB of RAM, eMMC, power cuts several times a day) and must replace "
    "the store on them by March. Compare the embedded time-series stores that are alive in 2026: durability after a "
    "power cut, bytes a sample, RAM, licence and price. I need versions, issue numbers, error codes and sources."
)


@dataclass(frozen=True)
class Product:
    """An invented store with its invented facts."""

    name: str
    slug: str
    version: str
    released: str
    licence: str
    price: str
    bytes_a_sample: float
    ram_mb: int
    write_us: int
    issue: int
    error: str
    advisory: str


PRODUCTS = (
    Product("Larkspur", "larkspur", "3.4.1", "2026-08-19", "Apache-2.0", "free; support EUR 4,800 a year", 1.62, 21, 74, 2217, "LSP-0311", "LSA-2026-004"),
    Product("Quillstore", "quillstore", "1.9.0", "2026-06-02", "BUSL-1.1", "USD 2.10 a device a year", 1.31, 48, 51, 908, "E_WAL_GAP", "QSA-2026-11"),
    Product("Mosslog", "mosslog", "0.22.3", "2026-10-07", "MIT", "free", 2.88, 9, 128, 461, "M-17", "none"),
    Product("Tidbit", "tidbit", "5.0.2", "2026-03-28", "proprietary", "EUR 6.40 a device, once", 1.48, 33, 62, 1730, "TB_ECRC", "TBA-26-02"),
    Product("Cairn", "cairn", "2.11.0", "2026-09-14", "AGPL-3.0", "free; commercial GBP 9,500", 1.97, 27, 88, 3052, "CRN4104", "CRN-SA-0009"),
)  # fmt: skip


def research_session() -> list[dict[str, Any]]:
    """Clarification, then six kinds of source for each of five products, then what is still open."""
    session = Session("r")
    session.user(TASK)
    session.call("I settle the criteria first.", "run_clarify", {"query": TASK[:60]}, _clarification())
    for number, product in enumerate(PRODUCTS):
        for channel, evidence in (
            ("docs", _manual(product)),
            ("github", _issue(product)),
            ("benchmarks", _benchmark(product)),
            ("pricing", _pricing(product)),
            ("forum", _field_report(product)),
            ("changelog", _changelog(product)),
        ):
            say = f"{product.name}: the {channel} channel." if channel in ("docs", "forum") else ""
            session.call(say, "run_channel", {"channel": channel, "query": f"{product.name} {channel} 2026"}, evidence)
        session.assistant(_interim(product))
        if number == 2:
            session.user("Go on with Tidbit and Cairn. Power cuts matter more to us than price.")
    session.user("Give me the comparison as a table with sources, and say which one you would test first, and how.")
    return session.messages


def _evidence(product: Product, channel: str, title: str, path: str, day: str, text: str) -> str:
    return json.dumps(
        {
            "title": title,
            "url": f"https://{product.slug}.example/{path}",
            "source_channel": channel,
            "published": day,
            "text": text,
        },
        ensure_ascii=False,
        indent=1,
    )


def _clarification() -> str:
    return json.dumps(
        {
            "question": "Embedded time-series store for 1,400 devices with 256 MB of RAM and frequent power cuts",
            "must": [
                "no acknowledged sample lost in a power cut",
                "under 64 MB of resident memory",
                "Linux 6.1 on armv7",
            ],
            "nice": [
                "under 2 bytes a sample",
                "readable without the vendor",
                "cost under EUR 7 a device over five years",
            ],
            "rubrics": [
                {"id": "r1", "text": "Each claim about durability has a test or an issue as its source", "weight": 3},
                {"id": "r2", "text": "Each price has a date and a currency", "weight": 2},
                {"id": "r3", "text": "Versions are exact, no 'latest'", "weight": 2},
            ],
            "clarified_with": "fleet engineer, 2026-11-03",
        },
        indent=1,
    )


def _manual(product: Product) -> str:
    rng = random.Random(product.slug + "docs")
    options = (
        ("sync", "commit", "when a write counts as durable: `commit`, `interval`, `never`"),
        (
            "sync_interval_ms",
            str(rng.choice((50, 100, 250))),
            "only for `interval`; what came since the last flush may be lost",
        ),
        (
            "page_bytes",
            str(rng.choice((4096, 8192, 16384))),
            "must be a multiple of the device's erase block on raw flash",
        ),
        ("segment_mb", str(rng.choice((8, 16, 32))), "a segment is the unit of retention and of recovery"),
        ("cache_mb", str(product.ram_mb // 2), "upper bound; the index takes about a third on top"),
        ("checksum", rng.choice(("crc32c", "xxh3-64", "blake3-128")), "per page; verified on every read"),
        ("retention_days", str(rng.choice((30, 90, 400))), "whole segments only"),
        ("compaction_threads", "1", "more than one needs 12 MB each"),
        ("max_series", str(rng.randint(8, 64) * 1000), "a write to one more is refused with status 507"),
        ("clock_skew_s", str(rng.choice((2, 5, 30))), "how far a sample may lie in the future"),
        ("wal_mb", str(rng.choice((4, 8, 16))), "written before the segment; twice this much is reserved"),
        ("index_fanout", str(rng.choice((64, 128, 256))), "larger is faster to read and slower to recover"),
        ("encryption", "off", "`aes-256-gcm` costs about 9 % on cores without AES instructions"),
        ("key_file", "unset", "32 bytes, mode 0400; without it the store opens read-only"),
        ("log_level", "warn", "`debug` writes a line a flush, about 40 MB a day at 10 Hz"),
        ("metrics_port", str(rng.randint(9100, 9500)), "on loopback; 0 turns it off"),
    )
    text = (
        f"{product.name} {product.version} ({product.released}) keeps samples in append-only segments. A write is acknowledged "
        f"after its page is in the log; with `sync = commit` the log is flushed before the answer, which costs {product.write_us} µs "
        f"a batch of 64 on the reference board (i.MX 7, eMMC 5.1). After a power cut the last segment is scanned from its last "
        f"checkpoint; a page whose checksum fails ends the scan with `{product.error}`, and what follows is moved to `lost+pages`.\n\n"
        "Options of `[storage]`:\n\n| option | default | meaning |\n|---|---|---|\n"
        + "\n".join(f"| `{name}` | `{value}` | {meaning} |" for name, value, meaning in options)
        + f"\n\nLimits: {rng.randint(8, 64) * 1000} series a store, timestamps in microseconds from 1970 to 2262, values as 64-bit "
        f"floats, integers or strings of up to {rng.choice((255, 1024, 65535))} bytes. A store of format {rng.randint(2, 7)} is read by "
        f"the two next major versions. The tool `{product.slug}-check --deep` reads {rng.randint(28, 96)} MB/s and ends with status 3 "
        "when it found damage, 4 when it repaired some. Backups are hard links of closed segments, so they need no copy."
    )
    return _evidence(
        product, "docs", f"{product.name} {product.version} manual: storage", "docs/storage", product.released, text
    )


def _issue(product: Product) -> str:
    rng = random.Random(product.slug + "issue")
    people = ("mvdl", "seagauge", "okapi-91", "t-brandt", "rosalind-k", "maintainer-jo")
    comments: list[str] = []
    for number in range(24):
        comments += [
            f"**{people[number % len(people)]}** on 2026-0{3 + number // 4}-{10 + number % 18}: "
            + rng.choice(
                (
                    f"Reproduced on kernel 6.1.{rng.randint(20, 140)} with {rng.randint(200, 4000)} cuts: {rng.randint(1, 9)} stores "
                    f"ended with `{product.error}`, {rng.randint(0, 3)} lost acknowledged samples (worst case {rng.randint(1, 64)}).",
                    f"The flush of the folder is missing after a segment rolls: `fsync` on the file alone does not keep its name. See "
                    f"`src/segment.c:{rng.randint(200, 1900)}` and commit {rng.getrandbits(40):010x}.",
                    f"With `sync = interval` and {rng.choice((50, 100, 250))} ms the loss is {rng.randint(3, 20)} samples at most, as documented.",
                    f"Fixed on main by #{product.issue + rng.randint(20, 90)}, will be in {product.version}; please test the nightly "
                    f"of 2026-0{rng.randint(5, 9)}-{rng.randint(10, 28)}.",
                    f"Our {rng.randint(12, 300)} loggers ran the nightly for {rng.randint(9, 61)} days: {rng.randint(900, 9900)} cuts, no loss, "
                    f"recovery p50 {rng.randint(40, 190)} ms, p99 {rng.randint(400, 2400)} ms.",
                )
            )
        ]
    text = (
        f"#{product.issue} Acknowledged samples are gone after a power cut while a segment rolls (state: closed, labels: durability, "
        f"regression)\n\nSince {product.version[:-1]}0 a cut within about {rng.randint(3, 40)} ms of a roll leaves the store without its newest "
        f"segment. Opening it prints `{product.error}: segment {rng.randint(100, 900)} follows {rng.randint(20, 99)}` and goes on.\n\n"
        + "\n\n".join(comments)
    )
    return _evidence(
        product,
        "github",
        f"Issue #{product.issue}: samples gone after a power cut",
        f"issues/{product.issue}",
        "2026-07-30",
        text,
    )


def _benchmark(product: Product) -> str:
    rng = random.Random(product.slug + "bench")
    rows = [
        f"| {series:>6} | {rate:>5} | {product.write_us * rng.uniform(0.9, 1.6):7.1f} | {product.write_us * rng.uniform(4, 11):7.1f} "
        f"| {product.bytes_a_sample * rng.uniform(0.92, 1.15):5.2f} | {product.ram_mb * rng.uniform(0.8, 1.5):5.1f} | {rng.uniform(0.4, 3.9):4.2f} |"
        for series in (1, 8, 64, 512, 4096)
        for rate in (1, 5, 10, 50, 100)
    ]
    text = (
        f"Setup: {product.name} {product.version}, i.MX 7 at 996 MHz, eMMC 5.1 (Type B), ext4 with data=ordered, kernel 6.1.112, 24 hours a "
        f"row, median of {rng.randint(3, 7)} runs. Samples are wave heights of 11 buoys, replayed.\n\n"
        "| series | Hz | write p50 µs | write p99 µs | bytes a sample | RSS MB | write amplification |\n|---|---|---|---|---|---|---|\n"
        + "\n".join(rows)
        + f"\n\nPower cuts: {rng.randint(4, 12) * 1000} by relay, at random times. Stores that opened by themselves: "
        f"{rng.uniform(99.1, 100):.2f} percent. Acknowledged samples lost: {rng.randint(0, 12)} of {rng.randint(40, 90)},{rng.randint(100, 999)},000. "
        f"Longest recovery {rng.uniform(0.4, 6.2):.1f} s. Erase cycles a year at 10 Hz: {rng.randint(300, 2100)}, so that the "
        f"eMMC (3,000 cycles) lasts {rng.uniform(1.6, 9.4):.1f} years."
    )
    return _evidence(
        product, "benchmarks", f"Relay test of {product.name} {product.version}", "bench/relay-2026", "2026-09-25", text
    )


def _pricing(product: Product) -> str:
    rng = random.Random(product.slug + "price")
    tiers = [
        {
            "tier": tier,
            "devices_up_to": devices,
            "eur_a_device_a_year": round(rng.uniform(0.0, 3.9), 2),
            "support_hours": hours,
            "answer_within_h": answer,
            "sku": f"{product.slug[:3].upper()}-{rng.randint(1000, 9999)}",
        }
        for tier, devices, hours, answer in (("starter", 100, 0, 72), ("fleet", 2500, 20, 24), ("port", 20000, 80, 8))
    ]
    text = (
        f"Licence {product.licence}. List price: {product.price}. Prices of 2026-11-01, without tax; a change is announced 90 days "
        f"before. A fleet of 1,400 devices falls into `fleet`. " + json.dumps(tiers)
    )
    text += (
        "\n\nCost of 1,400 devices over five years, EUR:\n\n| item | year 1 | years 2 to 5 |\n|---|---|---|\n"
        + "\n".join(
            f"| {item} | {rng.randint(0, 18) * 250 + rng.randint(0, 99)}.{rng.randint(10, 99)} | {rng.randint(0, 60) * 250}.00 |"
            for item in (
                "licence",
                "support",
                "integration",
                "migration of 3.1 TB",
                "field tests",
                "training",
                "spare boards",
                "audit",
            )
        )
    )
    return _evidence(product, "pricing", f"{product.name} licence and price", "pricing", "2026-11-01", text)


def _field_report(product: Product) -> str:
    rng = random.Random(product.slug + "forum")
    text = (
        f"We moved {rng.randint(40, 900)} gauges to {product.name} {product.version} in {rng.choice(('April', 'May', 'July'))}. "
        f"Good: resident memory stayed at {product.ram_mb} MB, exports are {rng.uniform(1.4, 3.3):.1f} times faster. Bad: "
        f"`{product.error}` on {rng.randint(2, 14)} devices after a brown-out at {rng.uniform(3.1, 4.4):.2f} V; support (case "
        f"{rng.randint(30000, 90000)}) told us to set `page_bytes = 4096`. The upgrade of the format took {rng.randint(2, 19)} minutes a "
        f"device and needs {rng.uniform(1.1, 2.2):.1f} times the space. Advisory {product.advisory} (CVSS {rng.uniform(3.1, 8.8):.1f}) is "
        f"fixed in this version. In {rng.randint(5, 9)} months we lost {rng.choice(('no sample', 'no sample', '3 samples', '41 samples'))} that had "
        f"been acknowledged. I would do it again, but test your own boards: two of ours lie about flushes (firmware "
        f"{rng.randint(1, 4)}.{rng.randint(10, 39)}, reported to the maker on 2026-08-{rng.randint(10, 28)})."
    )
    return _evidence(
        product,
        "forum",
        f"{product.name} on tide gauges, a report",
        f"forum/t/{rng.randint(1000, 9000)}",
        "2026-10-02",
        text,
    )


def _changelog(product: Product) -> str:
    rng = random.Random(product.slug + "changes")
    major, minor, patch = (int(part) for part in product.version.split("."))
    changes = (
        "the folder is flushed after a roll (#{issue})",
        "`{slug}-check --deep` no longer stops at the first `{error}`",
        "recovery reads {n} MB/s instead of {m} MB/s on eMMC",
        "series names may hold dots; {n} were refused before",
        "the index of {m}000 series needs {n} MB less",
        "a clock that jumps back by up to {n} s is accepted",
        "the Python binding {n}.{m} needs CPython 3.10 or newer",
        "`retention_days` above {n}00 no longer overflows (#{other})",
        "a full disk is `{error}-FULL` and not a crash (#{other})",
        "writes of more than {m} KiB are split into pages",
    )
    lines: list[str] = []
    for back in range(9):
        version = f"{major}.{minor}.{patch - back}" if patch - back >= 0 else f"{major}.{minor - 1}.{9 + patch - back}"
        lines.append(f"## {version} (2026-0{max(1, 9 - back)}-{rng.randint(10, 28)})")
        lines += [
            "- "
            + rng.choice(changes).format(
                issue=product.issue,
                slug=product.slug,
                error=product.error,
                n=rng.randint(11, 60),
                m=rng.randint(61, 99),
                other=product.issue - rng.randint(5, 300),
            )
            for _ in range(4)
        ]
    return _evidence(product, "changelog", f"{product.name} releases", "changelog", product.released, "\n".join(lines))


def _interim(product: Product) -> str:
    return (
        f"{product.name} {product.version}: {product.licence}, {product.price}, {product.bytes_a_sample} bytes a sample, {product.ram_mb} MB. "
        f"Issue #{product.issue} is the one to watch; damage shows as `{product.error}`."
    )
