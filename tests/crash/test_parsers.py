"""Every parser of what comes from outside, given texts of its own form that somebody damaged: its errors, or a value.

A sample is cut into tokens of its form, and tokens are dropped, doubled, swapped, or replaced by hostile ones. Of JSON
every other text is valid: there values are, and a segment's checksum is made to fit.
What once broke a parser is kept in `parsers_corpus.json` and tried first.
"""

from __future__ import annotations

import json
import re
import time
import zlib
from pathlib import Path
from random import Random
from typing import Any

import pytest

from .conftest import SEED, Tell, bound
from .parsers import PARSERS

pytestmark = pytest.mark.crash
LEAST = 200
CORPUS: dict[str, list[str]] = json.loads(Path(__file__).with_name("parsers_corpus.json").read_text())
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|\w+|\s+|[^\w\s]')
HOSTILE = (
    *("", "\0", "\u2028", "\ufeff", "\ud83d", "\\ud800", '"', "{", "[", "]", "}", "null", "NaN", "1e999", "-0", "- "),
    *("9" * 400, "[" * 300, '{"a":' * 100, "true", '"role"', '["user"]', "\x1b[31m", "\r\n", "|", "## ", "```", "\t"),
    *("\u202e", "(" * 50, "*", "<!--", "%00", "../", '"_c":"00000000"', ',"_m":1', "2026-99-99T99:99:99Z", "é" * 9),
)


VALUES = (
    *("null", "true", "0", "-1", "1e308", "1180591620717411303424", '""', '"\\ud800"', "[]", "{}", "[[]]", "[null]"),
    *(
        '{"type":1}',
        '["user"]',
        '"text"',
        '{"type":"text"}',
        '[{"type":"image"}]',
        '"tool_result"',
        '"u1"',
        '"\\u0000"',
    ),
    *('{"base64":"!"}', '{"a":{"a":{"a":{"a":[]}}}}', "1.5", "-0.0", f'"{"x" * 900}"', "[1,2,3]", '{"":""}', '"../x"'),
)
"""JSON."""
_PLANES = ((0, 0x7F), (0, 0x7F), (0x80, 0x2FF), (0x300, 0xFFFF), (0xD800, 0xDFFF), (0x10000, 0x10FFFF))


def damaged(tokens: list[str], random: Random) -> str:
    """A sample with some of its tokens dropped, doubled, swapped, or replaced."""
    tokens = tokens.copy()
    for _ in range(1 + int(8 * random.random())):
        if not tokens:
            break
        count, how = len(tokens), int(6 * random.random())
        at, other = int(count * random.random()), int(count * random.random())
        if how == 0:
            del tokens[min(at, other) : max(at, other) if at % 4 == 0 else min(at, other) + 1]
        elif how == 1:
            tokens[at:at] = tokens[at : at + 1 + other % 9]
        elif how == 2:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif how == 3:
            tokens[at] = random.choice(HOSTILE)
        elif how == 4:
            tokens.insert(at, random.choice(HOSTILE))
        else:
            first, last = random.choice(_PLANES)
            tokens[at] = "".join(chr(random.randint(first, last)) for _ in range(other % 12))
    return "".join(tokens)


def changed(line: str, random: Random) -> str:
    """A line of JSON with some of its values replaced, dropped, doubled or moved, or their keys renamed."""
    value: Any = json.loads(line)
    for _ in range(1 + int(3 * random.random())):
        places: list[tuple[Any, Any]] = _places(value)
        if not places:
            break
        (inside, key), (_, other) = random.choice(places), random.choice(places)
        how = int(5 * random.random())
        if how == 0:
            del inside[key]
        elif how == 1 and isinstance(key, int):
            inside.append(inside[key])
        elif how == 2 and isinstance(key, str):
            inside[str(other)] = inside.pop(key)
        elif how == 3:
            whole, at = random.choice(places)
            inside[key] = json.loads(json.dumps(whole[at]))
        else:
            inside[key] = json.loads(random.choice(VALUES))
    text = json.dumps(value)
    if isinstance(value, dict) and "_c" in value:
        del value["_c"]
        text = json.dumps(value)[:-1]
        return f'{text},"_c":"{zlib.crc32(text.encode()):08x}"}}'
    return text


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a value with each of its keys."""
    keys: list[Any] = list(value) if isinstance(value, dict) else []  # pyright: ignore[reportUnknownArgumentType]
    keys += range(len(value)) if isinstance(value, list) else []  # pyright: ignore[reportUnknownArgumentType]
    found: list[tuple[Any, Any]] = [(value, key) for key in keys]
    return [*found, *(place for key in keys for place in _places(value[key]))]


def _json_lines(sample: str) -> list[str]:
    """The lines of a sample, where each is JSON."""
    lines = sample.removesuffix("\n").split("\n")
    try:
        return lines if all(isinstance(json.loads(line), (dict, list)) for line in lines) else []
    except ValueError:
        return []


@pytest.mark.parametrize("name", PARSERS)
def test_a_damaged_text_gives_a_value_or_the_parsers_own_error(name: str, tell: Tell) -> None:
    parse, samples = PARSERS[name]
    for kept in (*samples, *CORPUS.get(name, ())):
        parse(kept)
    forms = [(_TOKENS.findall(sample), _json_lines(sample)) for sample in samples]
    random, more = Random(f"{name} {SEED}"), bound(LEAST, share=0.0)
    runs, slowest, started = 0, 0.0, time.perf_counter()
    while more(runs):
        tokens, lines = forms[(runs // 2) % len(forms)]
        if lines and runs % 2:
            at = int(len(lines) * random.random())
            text = "\n".join((*lines[:at], changed(lines[at], random), *lines[at + 1 :]))
        else:
            text = damaged(tokens, random)
        before = time.perf_counter()
        try:
            parse(text)
        except Exception as error:
            raise AssertionError(f"run {runs}, seed {SEED}: {text!r}") from error
        slowest = max(slowest, time.perf_counter() - before)
        runs += 1
    rate = int(runs / (time.perf_counter() - started))
    tell(f"fuzz of {name}", runs=runs, a_second=rate, slowest_ms=int(1e3 * slowest))


def test_every_parser_of_the_corpus_is_there() -> None:
    assert CORPUS.keys() <= PARSERS.keys()
