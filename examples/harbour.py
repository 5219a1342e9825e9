"""What the agents of these examples work on: the log of a tide gauge, a day a call, and a few pages about it."""

from __future__ import annotations

from typing import Any

QUESTION = (
    "On which day did gauge G3 fail, and what was its last reading before that? Read the logs of 1 to 14 October."
)
DAYS = range(1, 15)
FAILED_ON = 4


def read_log(day: int) -> str:
    """A day's log: 60 lines, about 2,000 tokens."""
    lines = [
        f"2026-10-{day:02d}T{at * 24 // 60:02d}:{at * 24 % 60:02d}Z gauge=G{at % 4 + 1} level_mm={level(day, at)} ok"
        for at in range(60)
    ]
    if day == FAILED_ON:
        lines[38:] = ["2026-10-04T15:12Z gauge=G3 ERROR E4112 no signal"]
    return "\n".join(lines)


def level(day: int, at: int) -> int:
    """Millimetres, some tide."""
    return 2_000 + (day * 7_919 + at * at * 31 + at * 173) % 1_700


PAGES = {
    "gauge failures": (
        "Gauges of the outer pier",
        "https://tides.example/outer-pier",
        "G3's cable runs below the fender.",
    ),
    "TG-7 manual": (
        "Manual of the TG-7",
        "https://tg7.example/manual",
        "A reading every 24 minutes; a transducer lasts 9 years.",
    ),
    "error E4112": (
        "Error codes of the TG-7",
        "https://tg7.example/errors",
        "E4112: no signal for 90 s, most often a cut cable.",
    ),
    "cable repairs": (
        "Repairs in 2026",
        "https://tides.example/repairs",
        "5 October: cable of G3 found cut at the fender.",
    ),
    "storm 4 October": (
        "Weather of October 2026",
        "https://weather.example/2026-10",
        "4 October: gusts of 31 m/s from 14:00.",
    ),
    "fenders": (
        "Fenders of the pier",
        "https://tides.example/fenders",
        "4 October: two fenders lost at the outer pier.",
    ),
}
"""Query to title, address and the sentence that matters."""


def search(query: str) -> tuple[str, str, str]:
    """Title, address and text of the page for a query, with the rest of what such pages hold."""
    title, url, text = PAGES[query]
    return (
        title,
        url,
        "\n".join(
            [
                f"{title} <{url}>",
                text,
                *(
                    f"{title}, table row {row}: station {row * 37 % 911}, level {row * 613 % 4001} mm"
                    for row in range(90)
                ),
            ]
        ),
    )


def schema(name: str, says: str, **properties: str) -> dict[str, Any]:
    """A tool as Anthropic's API takes it."""
    wanted = {key: {"type": kind} for key, kind in properties.items()}
    return {
        "name": name,
        "description": says,
        "input_schema": {"type": "object", "properties": wanted, "required": list(wanted)},
    }


READ_LOG = schema("read_log", "The log of one day of October 2026.", day="integer")
SEARCH = schema("search", "A page about gauges.", query="string")
RESTORE = schema("restore", "The original behind a digest.", batch_id="string", item_id="string")
