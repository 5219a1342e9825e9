"""The registry's promises: locality, wholeness, determinism, linear work (D2)."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from palimpsest_mcp.models.items import Span
from palimpsest_mcp.ports.seams import Registry
from palimpsest_mcp.text.specifics import lexer
from palimpsest_mcp.text.specifics.registry import CLASSES, DefaultRegistry

from ...conftest import LONG, first_of

REGISTRY = DefaultRegistry()

ODDS_AND_ENDS = r"""a Bar 7 12 ms % EUR € 1,234 .5 -5 https://x.y/a(b) http:// C:\x\y \n \u00e9 / ./a ~/c src/a.py:12
    (12,3) [slug] <b> </div> ^1.2 == : , .. - + @ # a@b.co redacted:k:deadbeef exit code HTTP Nov 20, 2026 10:00 +02:00
    × | é 中文 0x1f aBcDe A_B a_b_c a.b.c A::B E12 1:2 fe80::1 1.2.3.4:80 ' " ( ) [ ] { } _ * & ? ! 5x
    1e5 12/15 $12 12€ 2.4× 1920×1080 x@h.io:a/b ada@h:/x$ # > + % git Nov. 1.299,00€ 11月20日 C:\Program Files
    src\tests\a.py \x1b[31m worker-3 a-b.c @a/b p.name 0x1p3f +1"""
WORDS = [cls.example for cls in CLASSES if cls.name != "command"] + ODDS_AND_ENDS.split() + ["\u00a0", "\u2028", "\r"]
GLUE = st.sampled_from(["", "", " ", " ", "  ", "\t", ",", ".", "=", ": "])
LINES = st.lists(
    st.tuples(st.sampled_from(WORDS) | st.text(alphabet="aZ09._-:/@#$%=,\\", max_size=6), GLUE), max_size=7
).map(lambda pairs: "".join(word + glue for word, glue in pairs))
SINGLE = st.sampled_from([(cls.name, cls.example) for cls in CLASSES if cls.name != "command"])


def shifted(spans: list[Span], by: int) -> list[Span]:
    return [Span(s.start + by, s.end + by, s.cls, s.text, s.key) for s in spans]


def test_it_is_a_registry() -> None:
    registry: Registry = REGISTRY
    assert registry.version


@given(st.lists(LINES, max_size=4))
def test_a_text_holds_what_its_lines_hold_and_nothing_else(lines: list[str]) -> None:
    wanted: list[Span] = []
    at = 0
    for line in lines:
        wanted += shifted(REGISTRY.spans(line), at)
        at += len(line) + 1
    assert REGISTRY.spans("\n".join(lines)) == wanted


@pytest.mark.parametrize(
    "line",
    [
        "42 Not Found x1",
        "404 Not Found",
        *(f"{' ' * column}1234\tdef" for column in (10, 11, 12, 13)),
        *(f"{' ' * column}$ git log" for column in (339, 340, 341, 342)),
        *(f"{'-' * column} --port 8080" for column in (70, 71, 72)),
    ],
)
def test_a_line_holds_the_same_wherever_it_stands(line: str) -> None:
    alone = REGISTRY.spans(line)
    assert REGISTRY.spans("\n" + line) == shifted(alone, 1)
    assert REGISTRY.spans(f"a 1\n{line}\nb") == shifted(alone, 4)


@given(LINES)
def test_spans_are_in_order_do_not_overlap_and_quote_the_text(line: str) -> None:
    end = 0
    for span in REGISTRY.spans(line):
        assert end <= span.start < span.end
        assert span.text == line[span.start : span.end]
        end = span.end


@given(LINES)
@example("ada@h:/x$\\")
def test_what_is_found_is_found_again_alone_in_rows_and_in_entries(line: str) -> None:
    """A ledger entry shows a specific without its line; it must still be the same specific, and only that.

    A command is one only on a line of its own, and the ledger gives it one.
    """
    for span in REGISTRY.spans(line):
        for frame in ("{}",) if span.cls == "command" else ("{}", "k={}", "a | {} | b", "{}, x", "- {}\t"):
            assert REGISTRY.set_of(frame.format(span.text)) == {(span.cls, span.text)}


@given(LINES.filter(lambda line: "→" not in line), LINES, st.sampled_from([" | ", "\t", "\n"]))
def test_layout_between_two_texts_changes_nothing_in_either(left: str, right: str, joint: str) -> None:
    assume("command" not in {cls for cls, _ in REGISTRY.set_of(right)})  # one only at the start of its line
    assume(joint == "\n" or "command" not in {cls for cls, _ in REGISTRY.set_of(left)})  # it is the rest of its line
    assert REGISTRY.set_of(left + joint + right) == REGISTRY.set_of(left) | REGISTRY.set_of(right)


@given(SINGLE, st.data())
def test_a_cut_specific_is_never_taken_for_the_whole(one: tuple[str, str], data: st.DataObject) -> None:
    """What is left of a cut is another specific, or none: so nothing cut passes for shown (D5)."""
    start = data.draw(st.integers(0, len(one[1]) - 1))
    end = data.draw(st.integers(start, len(one[1]) - (start == 0)))
    assert one not in REGISTRY.set_of(f"ref {one[1][start:end]} end")


@pytest.mark.parametrize(
    ("source", "cut"),
    [
        ("see 6e621834 ok", "see 6e6218"),
        ("at src/app/main.py:127", "at src/app/main.py:12"),
        ("took 1,234 ms", "took 1,234"),
        ("took 127 ms", "took 12"),
        ("https://x.org/a/b?c=1", "https://x.org/a/b"),
        ("2026-11-20T10:00:00.123Z", "2026-11-20T10:00"),
        ("v1.22.333", "v1.22"),
        ("credit_card_8897086", "card_8897086"),
        ("10.0.0.127:5432", "10.0.0.12"),
        ("#W4923227", "W4923227"),
        ("-12", "12"),
        ("$12.50", "12.50"),
    ],
)
def test_a_cut_shows_as_something_that_the_source_does_not_have(source: str, cut: str) -> None:
    assert REGISTRY.set_of(cut) - REGISTRY.set_of(source)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("src/v1.2.3/2026-11-20/run.log:12", "path"),
        ("https://x.org/#123/1.2.3?d=2026-11-20", "url"),
        ("foo@1.2.3", "version"),
        ("2026-11-20 10:00:00", "date"),
        ("HTTP/1.1 404", "status"),
        ("1:2:3.4GB-b", None),
    ],
)
def test_the_longest_wins_and_hides_what_is_inside(text: str, whole: str | None) -> None:
    found = REGISTRY.set_of(text)
    assert found == {(whole, text)} if whole else (len({cls for cls, _ in found}) == len(found))
    assert REGISTRY.set_of(f"{text} 1.2.3") >= {("version", "1.2.3")}


@given(st.text())
def test_any_text_at_all_is_read(text: str) -> None:
    assert {(s.cls, s.text) for s in REGISTRY.spans(text)} == REGISTRY.set_of(text)


def test_long_texts_are_read_in_blocks_without_a_seam() -> None:
    line = "2026-11-20 10:00:00 GET /a/b HTTP/1.1 404 12 ms id=HAT069"
    one = REGISTRY.spans(line)
    spans = REGISTRY.spans("\n".join([line] * 3_000))
    assert spans == [span for nth in range(3_000) for span in shifted(one, nth * (len(line) + 1))]


PROGRAM = """
import json, sys
from palimpsest_mcp.text.specifics.registry import DefaultRegistry
r = DefaultRegistry()
print(json.dumps([r.version, [[s.start, s.end, s.cls, s.text, s.key] for s in r.spans(sys.stdin.read())]]))
"""


def test_every_process_finds_the_same_under_every_hash_seed() -> None:
    text = "\n".join(f"{cls.name}={cls.example} and {cls.example}" for cls in CLASSES)
    answers = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM], input=text, env={"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True, text=True, check=True, encoding="utf-8",
        ).stdout
        for seed in ("0", "1", "4711")
    }  # fmt: skip
    assert len(answers) == 1
    assert json.loads(answers.pop())[1] == [[s.start, s.end, s.cls, s.text, s.key] for s in REGISTRY.spans(text)]


HOSTILE = {
    "one letter": "a",
    "one digit": "1",
    "one capital": "A",
    "spaces": " ",
    "brackets": "(",
    "underscores": "_",
    "backslashes": "\\",
    "qualified": "a.b",
    "counted": "1,1",
    "grouped": ",111",
    "addresses": "http://",
    "deep brackets": "http://a([{",
    "schemes": "://",
    "open addresses": "http://a(b",
    "paths": "/a",
    "colons": "1:",
    "camel": "aB",
    "equals": "a=",
    "dollars": "$ ",
    "exits": "exit ",
    "numbers": "12 ",
    "hex": "a1",
    "markup": "</a>",
    "e-mail": "a@",
    "quotes": "'\"",
    "keys": 'x": ',
    "redacted": "[redacted:a:",
    "Windows": "C:\\",
    "relative Windows": "a\\",
    "relative Windows, doubled": "ab\\\\",
    "colours": "\x1b[",
    "long colours": "\x1b[1;",
    "prompts": "a@b:",
    "closed prompts": "a@b:/$ ",
    "program files": "C:\\Program Files ",
    "kebab": "a-b.",
    "dots": ".",
    "slashes": "/",
    "addresses in one": "a.a.a.",
    "stars": "=====",
    "base64": "QUJDREVG",
    "months": "Nov ",
    "east": "1月",
    "euro": "1.111,",
    "times": "1:1:1:",
    "scoped": "@a/",
    "hyphens": "a-1",
    "Indian": "1,11",
    "decimal commas": "1,1 ",
    "steps of eastern paths": "/\u8868",
    "eastern files": "\u8868/a.",
    "amounts": "$5 ",
    "articles": "10.1000/a(b)",
    "reasons": "404 ",
    "routes": "/:a",
    "templates": "{a}/",
}


@pytest.mark.parametrize("unit", first_of(HOSTILE.values(), kept=12), ids=HOSTILE.keys())
def test_work_grows_with_the_text_and_not_faster(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each character is handed to a classifier a bounded number of times, however the text is made."""
    handed: list[int] = []

    def counting(text: str) -> str | None:
        handed.append(len(text))
        return classify(text)

    classify = lexer.whole
    monkeypatch.setattr(lexer, "whole", counting)
    for size in (10_000, 100_000 if LONG else 40_000):
        handed.clear()
        DefaultRegistry().spans((unit * (size // len(unit) + 1))[:size])
        assert sum(handed) <= 6 * size


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_much_of_anything_is_read(unit: str) -> None:
    size = 50_000 if LONG else 20_000
    text = (unit * (size // len(unit) + 1))[:size]
    assert all(span.text == text[span.start : span.end] for span in DefaultRegistry().spans(text))
