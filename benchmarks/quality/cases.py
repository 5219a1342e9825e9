"""The smallest texts whose digests were once wrong: what must be said of each, and what must never be.

A program sees only the lines; whether a digest can be used is for a person to say: every digest is printed beside its
source.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from .passes import digest_of

TARGET = 0.35


@dataclass(frozen=True)
class Case:
    """A text, and patterns of its digest."""

    name: str
    text: str
    says: tuple[str, ...] = ()
    """Each must be found in the digest."""
    never: tuple[str, ...] = ()
    """None may be."""


def _lines(count: range, line: str) -> str:
    return "\n".join(line.replace("{n}", str(n)) for n in count)


_FLIGHTS = [
    {
        "free": {"first": n % 13, "coach": n % 23},
        "fare": {"first": 410 + n * 9 % 170, "coach": 90 + n * 13 % 71},
        "flight": f"QX{n}",
    }
    for n in range(200, 230)
]
_CHAPTERS = "\n\n".join(
    f"## Oven {oven}\n\n| glaze | heat | hours |\n|---|---|---|\n"
    + "\n".join(f"| clay{n} | {n}{k}0 | {k}.{n} |" for n in range(11, 23))
    for oven, k in (("A", 1), ("B", 2), ("C", 3))
)

CASES = (
    Case("a leaf that two parents have", json.dumps(_FLIGHTS), (r"fare[.\w]*first|fare: ?first",), (r"(?m)^first=",)),
    Case(
        "brackets are a sign",
        "Cash flow\n                  2031      2030\nSales         92,410    88,105\n"
        "Cost of goods (51,220)  (49,870)\nTax            (6,031)   (5,977)\n"
        + _lines(range(20), "Branch {n} reports under the rules of its country."),
        (r"\(51,220\)",),
        (r"(?<![(\d])51,220(?!\))",),
    ),
    Case(
        "blanks between thousands",
        "Le coût total est de 2 750 000 € pour 1 318 dossiers, dont 64 rejetés.\n"
        + _lines(range(30), "Le paragraphe {n} ne dit rien."),
        (r"2 750 000 €",),
        (r"(?<!2 )750 000", r"(?<!1 )\b318 dossiers"),
    ),
    Case(
        "fields of a row are no thousands",
        "part,count,price\n" + "\n".join(f"nut-{n},20,{n + 700}.{n % 80 + 11}" for n in range(100, 150)),
        (r"part",),
        (r"(?<![\d-])20,7\d\d\.\d\d(?!\S)",),
    ),
    Case(
        "a conclusion without digits",
        "Try 1: longer lease, same lock timeout\nConclusion: the lease is NOT the cause. Most likely the clock of "
        "relay-3 is behind.\n" + _lines(range(11, 111), "debug: poll relay-{n} fine lag={n}ms"),
        (r"Conclusion: the lease is NOT the cause\. Most likely the clock of relay-3 is behind\.",),
    ),
    Case(
        "an exception",
        "## Night shift\n"
        + _lines(range(100, 130), "Drain with `poolctl drain p{n}`. Never drain it while m{n} is down."),
        (r"Never drain it while m(?:\d+|<1>) is down",),
        (r"(?m)drain (?:it )?while m\d+ is down(?<!Never drain it while m\d\d\d is down)",),
    ),
    Case(
        "an exception in Japanese",
        "対策として、上限を800に上げる。ただし、予備機 kv-osaka-07 には適用しない。\n"
        + _lines(range(30), "出席者{n}からは意見がなかった。"),
        (r"ただし、予備機 kv-osaka-07 には適用しない。",),
    ),
    Case(
        "an edit that was refused",
        "[The edit was not applied: it introduced new syntax error(s). Please try again.]\n/app/web/Menu.tsx:31\n"
        + _lines(range(1, 40), '{n}|  <li id="m{n}">')
        + "\nDO NOT send the same edit again.",
        (r"introduced new syntax error", r"DO NOT send the same edit again"),
    ),
    Case(
        "a diff",
        "\n".join(
            f"diff --git a/m{n}.py b/m{n}.py\nindex ccc{n}d..ddd{n}e 100644\n--- a/m{n}.py\n+++ b/m{n}.py\n"
            f"@@ -{n},3 +{n},3 @@ def step_{n}(x):\n-    retries = {n}2\n+    retries = {n}7\n     return x"
            for n in range(100, 120)
        ),
        (r"\+ +retries = (?:\d+7|<\d>)",),
    ),
    Case(
        "files of folders",
        "\n\n".join(
            f"/opt/n{n}:\ntotal 8\n-rw-r--r-- 1 web web {n}33 Jan 10 00:10 x-{n}.log\n"
            f"-rw-r--r-- 1 web web {n}44 Jan 11 01:11 y-{n}.log"
            for n in range(100, 118)
        ),
        (r"/opt/n(?:\d+|<1>):",),
    ),
    Case("tables of sections", f"# Firing\n\n{_CHAPTERS}", (r"(?s)Oven [ABC]\b.*glaze\|heat",)),
    Case(
        "rows without digits",
        str([(f"Port{a}{b}", f"{a}{b}Q", "Regional", "New Zealand") for a in "ABCDEFG" for b in "ABCDEFGH"]),
        (r"of 56\b",),
        (r"\b0 of 0\b",),
    ),
)


def faults(case: Case, digest: str) -> list[str]:
    """What a digest should have said and does not, and what it should not have."""
    lost = [f"does not say {one}" for one in case.says if not re.search(one, digest)]
    return lost + [f"says {found.group()}" for one in case.never if (found := re.search(one, digest))]


def cases() -> tuple[str, dict[str, list[str]]]:
    """Every digest, with what is wrong with it."""
    found: dict[str, list[str]] = {}
    parts: list[str] = []
    for case in CASES:
        digest = digest_of(case.text, TARGET)
        found[case.name] = faults(case, digest)
        told = "; ".join(found[case.name]) or "nothing that a program can see"
        parts.append(f"**{case.name}**, {len(case.text):,} → {len(digest):,} characters. Wrong: {told}.")
        parts.append(f"```text\n{case.text[:240]} …\n```\n\n```text\n{digest}\n```")
    return "\n\n".join(parts), found
