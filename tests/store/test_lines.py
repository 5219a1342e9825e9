"""Lines of segments."""

from __future__ import annotations

import json
import zlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.errors import WriteFailed
from palimpsest_mcp.models.events import Event, Seen
from palimpsest_mcp.store.segments import Reader, encode, encode_all, is_whole, settled
from palimpsest_mcp.testing.contract_values import applied, pinned, seen

EVENTS: Reader[Event] = Reader(Event)

texts = st.text(st.characters(codec=None, categories=None), max_size=40)
leaves: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers() | st.floats() | texts
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4))


@given(texts | st.lists(values, max_size=4) | st.dictionaries(texts, values, max_size=4))
def test_an_event_reads_back_as_it_was_written(content: Any) -> None:
    given = Seen(item=msgspec.structs.replace(seen(1).item, content=content))
    line = encode(given)
    assert line.count(b"\n") == 1 and is_whole(line[:-1])
    assert repr(EVENTS.decode(line[:-1])) == repr(given)


@given(texts)
def test_a_line_is_valid_utf8_and_plain_json_with_the_checksum_last(text: str) -> None:
    line = encode(seen(1, text))
    parsed = json.loads(line.decode("utf-8"))
    assert list(parsed)[-1] == "_c"
    head = line[: line.rindex(b',"_c":')]
    assert parsed["_c"] == f"{zlib.crc32(head):08x}"


def test_the_standard_library_checks_a_line_the_way_the_format_says() -> None:
    line = encode(pinned(1), more=True)
    head, _, check = line.rpartition(b',"_c":"')
    assert head.endswith(b',"_m":1') and check == b'%08x"}\n' % zlib.crc32(head)


def test_every_flipped_bit_is_noticed() -> None:
    line = encode(seen(1, "some content"))[:-1]
    for position in range(len(line) * 8):
        broken = bytearray(line)
        broken[position // 8] ^= 1 << position % 8
        assert not is_whole(bytes(broken))


def test_every_cut_is_noticed() -> None:
    line = encode(seen(1, "some content"))[:-1]
    assert not any(is_whole(line[:end]) for end in range(len(line)))


def test_a_line_that_holds_a_line_is_one_line() -> None:
    inner = encode(seen(1, 'a",\n"_c":"12345678"}'))
    outer = encode(seen(2, inner.decode()))
    lines, end = settled(outer, 0)
    assert end == len(outer) and len(lines) == 1 and lines[0].whole
    assert repr(EVENTS.decode(lines[0].raw)) == repr(seen(2, inner.decode()))


def test_a_torn_last_line_is_left_for_later() -> None:
    data = encode(applied(1)) + encode(applied(2))
    first = len(encode(applied(1)))
    for end in range(first, len(data)):
        lines, place = settled(data[:end], 1000)
        assert ([line.offset for line in lines], place) == ([1000], 1000 + first)


def test_a_damaged_line_costs_only_itself() -> None:
    lines, _ = settled(encode(applied(1)) + b"\0" * 50 + b"\n" + encode(applied(2)), 0)
    assert [line.whole for line in lines] == [True, False, True]


def test_two_lines_glued_together_are_not_taken_for_one() -> None:
    glued = encode(applied(1))[:-1] + encode(applied(2))
    lines, _ = settled(glued, 0)
    assert [line.whole for line in lines] == [False]


@pytest.mark.parametrize("extra", [b" ", b"{}", b"\r", b"\xef\xbb\xbf"])
def test_anything_beside_the_object_makes_a_line_bad(extra: bytes) -> None:
    line = encode(applied(1))[:-1]
    assert not is_whole(line + extra) and not is_whole(extra + line)


def test_a_step_of_several_lines_is_taken_as_a_whole_or_not_at_all() -> None:
    before, step, after = (
        encode(applied(0)),
        encode_all([pinned(1), pinned(2), pinned(3)], as_one=True),
        encode(applied(4)),
    )
    data = before + step
    for end in range(len(before), len(data)):
        assert len(settled(data[:end], 0)[0]) == 1
    assert len(settled(data + after, 0)[0]) == 5


def test_damage_inside_a_step_does_not_hide_what_came_after_it() -> None:
    first, second, third = encode_all([pinned(1), pinned(2), pinned(3)], as_one=True).splitlines(keepends=True)
    lines, _ = settled(first + second.replace(b"pinned", b"pinmed") + third + encode(applied(4)), 0)
    assert [line.whole for line in lines] == [True, False, True, True]


def test_a_content_cannot_pretend_that_a_step_goes_on() -> None:
    lines, _ = settled(encode(seen(1, {"a": 1, "_m": 1})), 0)
    assert len(lines) == 1


@pytest.mark.parametrize("depth", [2_000, 100_000])
def test_nesting_beyond_any_parser_is_refused_before_it_is_written(depth: int) -> None:
    nested: list[Any] = []
    for _ in range(depth):
        nested = [nested]
    with pytest.raises(WriteFailed):
        encode(Seen(item=msgspec.structs.replace(seen(1).item, content=nested)))
    while nested:  # taken apart by hand: freeing it in one go would recurse as deep
        nested = nested.pop()


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b"[]",
        b"null",
        b'{"k":"unheard of"}',
        b'{"k":"seen"}',
        b'{"k":"seen","item":7}',
        b"{" * 5000,
        b"\xff",
        b"",
    ],
)
def test_another_shape_is_a_value_error(raw: bytes) -> None:
    with pytest.raises(ValueError):
        EVENTS.decode(raw)


def test_members_that_a_later_program_added_are_skipped() -> None:
    line = encode(applied(1))[:-1]
    more = line.replace(b'{"k"', b'{"later":[1,{"x":null}],"k"')
    assert EVENTS.decode(more) == EVENTS.decode(line)
