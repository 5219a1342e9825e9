"""No number in a digest that its source does not hold: generated tables and texts of many locales, whose generator
knows the fields that it wrote (D2, D5).

`PALIMPSEST_NUMBER_TEXTS=2000` reads as many as the issue asks for; the fast suite reads some of each kind.
"""

from __future__ import annotations

import csv
import io
import os
import random
import re
from collections.abc import Callable
from typing import NamedTuple

import pytest

from palimpsest_mcp.digest.manifest import is_note

from .conftest import Bench

TEXTS = int(os.environ.get("PALIMPSEST_NUMBER_TEXTS", "120"))
SPACES = (" ", "\u00a0", "\u202f", "\u2009")
WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet", "kilo", "lima")


class Written(NamedTuple):
    """A text and every number that stands in it, as it was written."""

    text: str
    numbers: set[str]


class Draw:
    """Numbers, each remembered as it was written."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers: set[str] = set()

    def put(self, number: str) -> str:
        self.numbers.add(number)
        return number

    def count(self) -> str:
        return self.put(str(self.random.choice((self.random.randrange(1, 1000), self.random.randrange(1, 10**6)))))

    def price(self) -> str:
        whole = self.random.choice((self.random.randrange(1000), 100 + self.random.randrange(900)))
        return self.put(f"{whole}.{self.random.randrange(100):02}")

    def grouped(self, mark: str, decimal: str = "") -> str:
        whole = f"{self.random.randrange(1_000, 10 ** self.random.choice((5, 6, 7, 9))):,}".replace(",", mark)
        return self.put(whole + (f"{decimal}{self.random.randrange(100):02}" if decimal else ""))

    def word(self) -> str:
        return self.random.choice(WORDS)


def comma(draw: Draw) -> str:
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n")
    if draw.random.random() < 0.8:
        write.writerow(["sku", "name", "qty", "price", "stock"])
    for _ in range(draw.random.randrange(20, 60)):
        name = draw.word() + draw.random.choice(("", ", large", ' "new"', " of " + draw.word()))
        write.writerow([f"SKU-{draw.word()}", name, draw.count(), draw.price(), draw.count()])
    return out.getvalue()


def two_columns(draw: Draw) -> str:
    rows = [f"{draw.count()},{draw.price()}" for _ in range(draw.random.randrange(20, 60))]
    return "qty,price\n" + "\n".join(rows) + "\n"


def dated(draw: Draw) -> str:
    rows = [f"2026-11-{n % 28 + 1:02},{draw.count()},{draw.count()},{draw.price()}" for n in range(40)]
    return "\n".join(rows)


def quoted(draw: Draw) -> str:
    rows = [f'"{draw.word()}","{draw.grouped(",", ".")}",{draw.count()},{draw.price()}' for _ in range(40)]
    return "name,revenue,orders,rate\n" + "\n".join(rows)


def tabs(draw: Draw) -> str:
    rows = [f"{draw.word()}\t{draw.count()}\t{draw.price()}\t{draw.grouped(',')}" for _ in range(40)]
    return "name\tqty\tprice\trevenue\n" + "\n".join(rows)


def semicolons(draw: Draw) -> str:
    def decimal() -> str:
        return draw.put(f"{draw.random.randrange(2_000)},{draw.random.randrange(100):02}")

    rows = [f"{draw.word()};{draw.count()};{decimal()};{draw.grouped('.', ',')}" for _ in range(40)]
    return "Name;Menge;Preis;Umsatz\n" + "\n".join(rows)


def bars(draw: Draw) -> str:
    rows = [f"| {draw.word()} | {draw.count()} | {draw.price()} | {draw.grouped(' ')} |" for _ in range(40)]
    return "| name | qty | price | revenue |\n|---|---|---|---|\n" + "\n".join(rows)


def bare_bars(draw: Draw) -> str:
    return "name|qty|price\n" + "\n".join(f"{draw.word()}|{draw.count()}|{draw.price()}" for _ in range(40))


def tuples(draw: Draw) -> str:
    rows = [f"('{draw.word()}',{draw.count()},{draw.price()})" for _ in range(40)]
    return "INSERT INTO stock VALUES\n" + ",\n".join(rows) + ";\n"


def number_tuples(draw: Draw) -> str:
    return "VALUES " + ",".join(f"({draw.count()},{draw.price()})" for _ in range(40))


def lists(draw: Draw) -> str:
    return "\n".join(f"{draw.word()} row: [{draw.count()},{draw.price()},{draw.count()}]" for _ in range(40))


def french(draw: Draw) -> str:
    space = draw.random.choice(SPACES)

    def line() -> str:
        paid = f"{draw.grouped(space)}{draw.random.choice(SPACES)}€"
        return (
            f"Le budget {draw.word()} est de {paid} et {draw.grouped(space)} dossiers, "
            f"soit {draw.grouped(space, ',')} € par {draw.word()}, contre {draw.grouped(space)}."
        )

    return "\n".join(line() for _ in range(30))


def swiss(draw: Draw) -> str:
    mark = draw.random.choice("'\u2019")
    return "\n".join(
        f"Kanton {draw.word()}: CHF {draw.grouped(mark, '.')} bei {draw.grouped(mark)} Fällen" for _ in range(30)
    )


def german(draw: Draw) -> str:
    return "\n".join(
        f"Der Umsatz von {draw.word()} stieg auf {draw.grouped('.', ',')} € in {draw.count()} Filialen"
        for _ in range(30)
    )


def english(draw: Draw) -> str:
    return "\n".join(
        f"Revenue of {draw.word()} rose to ${draw.grouped(',', '.')} on {draw.grouped(',')} orders" for _ in range(30)
    )


def eastern(draw: Draw) -> str:
    def yen() -> str:
        oku, man = draw.random.randrange(1, 99), draw.random.randrange(1, 9_999)
        return draw.put(draw.random.choice((f"{oku}億{man:,}万", f"{man:,}万", f"{oku}.{man % 10}亿")))

    return "\n".join(f"{draw.word()}の売上は{yen()}円、費用は{yen()}円でした" for _ in range(30))


def accounts(draw: Draw) -> str:
    def amount() -> str:
        number = f"{draw.random.randrange(1_000, 10**6):,}.{draw.random.randrange(100):02}"
        return draw.put(f"({number})" if draw.random.random() < 0.5 else number)  # without its brackets it is another

    return "\n".join(f"{draw.word()} {draw.word():<12}   {amount()}   {amount()}" for _ in range(30))


KINDS: tuple[Callable[[Draw], str], ...] = (
    comma, two_columns, dated, quoted, tabs, semicolons, bars, bare_bars, tuples, number_tuples, lists, french, swiss,
    german, english, eastern, accounts,
)  # fmt: skip

LIST = re.compile(r"\[[^][]*\]")
SHAPE = re.compile(
    r"\([0-9]{1,3}(?:,[0-9]{3})+\.[0-9]{2}\)"
    r"|(?<![0-9])[0-9]{1,3}(?:[ \u00a0\u202f\u2009][0-9]{3}(?![0-9]))+(?:[.,][0-9]+)?|[0-9]+(?:[.,'\u2019][0-9]+)*"
)
EASTERN = re.compile(r"[0-9][0-9,.]*(?:[万億亿][0-9,]*)+")


def shown(line: str) -> list[str]:
    """The numbers of a line of a digest as a reader takes them: two spaces, tabs, bars and key signs part values."""
    line = LIST.sub(lambda one: one[0].replace(",", "\t"), line)  # a list is read as one
    found = EASTERN.findall(line)
    for cell in re.split(r"\t| \| |  | … |=|: |, ", EASTERN.sub("x", line)):
        found += [one.rstrip(",") for one in SHAPE.findall(cell)]
    return found


def strangers(written: Written, digest: list[str]) -> list[tuple[str, str]]:
    known = {*written.numbers, *re.findall(r"[0-9]+", "2026-11 " + " ".join(f"{n:02}" for n in range(32)))}
    return [(number, line) for line in digest for number in shown(line) if number not in known]


def digest_of(bench: Bench, text: str, seed: int) -> list[str]:
    draw = random.Random(seed)
    values_first = draw.random() < 0.5
    share = draw.choice((0.1, 0.2, 0.3, 0.5))
    digest = bench.digest(text, share=share, ceiling=draw.choice((None, 0.6)), values_first=values_first)
    return [line.text for part in digest.parts for line in part.lines if not is_note(line.text)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_number_of_a_digest_is_one_that_was_written(bench: Bench, kind: Callable[[Draw], str]) -> None:
    seen = 0
    for seed in range(-(-TEXTS // len(KINDS))):
        draw = Draw(seed * 1000 + KINDS.index(kind))
        written = Written(kind(draw), draw.numbers)
        lines = digest_of(bench, written.text, seed)
        assert strangers(written, lines) == []
        seen += sum(len(shown(line)) for line in lines)
    assert seen > 20, "and there are numbers in them"
