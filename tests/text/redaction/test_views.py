from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.text.redaction.scan import views

FRAGMENTS = [
    "\\n",
    '\\"',
    "%3D",
    "%2525",
    "%C3%A9",
    "&quot;",
    "\x1b[1m",
    "\\u0026",
    "+",
    "\n",
    "é",
    "\ud83d",
    "a",
    "%",
    "\\",
]


@given(st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=5)), max_size=30).map("".join))
def test_every_place_in_a_reading_has_its_place_in_the_text(text: str) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    first, *decoded = views(raw)
    assert len(first.text) == len(raw) and first.place(0, len(raw)) == (0, len(raw))
    for view in decoded:
        assert view.places is not None and len(view.places) == len(view.text) + 1
        assert list(view.places) == sorted(view.places) and view.places[0] >= 0 and view.places[-1] <= len(raw)


def test_written_out_signs_become_the_sign_in_the_same_place() -> None:
    (view,) = views(b"a\\u0026b &quot;c&quot; \\x3d \x1b[32mgreen\x1b[0m")
    assert view.text == b'a     &b      "c     "    =      green    '


def test_line_breaks_of_strings_in_strings_become_line_breaks() -> None:
    (view,) = views(b"a\\nb\\\\nc\\\\\\\\nd\\te")
    assert view.text.split() == [b"a", b"b", b"c", b"d", b"e"] and view.text.count(b"\n") == 3


def test_backslashes_before_quotes_stay() -> None:
    assert views(b'{\\"a\\": 1}')[0].text == b'{\\"a\\": 1}'


def test_percent_escapes_are_decoded_beside_the_text_and_lead_back_to_it() -> None:
    raw = b"GET /x?q=a%20b%3D%22c%22&z=%2525 done"
    _, view = views(raw)
    assert view.text == b'GET /x?q=a b="c"&z=% done'
    start = view.text.index(b'"c"')
    assert raw[slice(*view.place(start, start + 3))] == b"%22c%22"


def test_a_plus_sign_is_a_space_where_no_space_is_written() -> None:
    assert views(b"q=a+b%3Dc")[1].text == b"q=a b=c"
    assert views(b"q=a+b%3Dc d")[1].text == b"q=a+b=c d"


def test_a_text_without_escapes_has_one_reading_which_is_itself() -> None:
    raw = b"plain text, 100 % of it"
    assert views(raw)[0].text is raw and len(views(raw)) == 1
