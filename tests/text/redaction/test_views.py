from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.text.redaction.redactor import RuleRedactor
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


@pytest.mark.parametrize("wrap", [0, 64, 76])
def test_a_secret_is_found_in_a_text_that_base64_holds(redactor: RuleRedactor, wrap: int) -> None:
    text = "DB_HOST=db.internal\nDB_PASSWORD=q7Zk2Vf9Xw4Ln0Rt6Bp8\nDB_USER=app\n" + "# nothing here\n" * 8
    held = b64encode(text.encode()).decode()
    lines = [held[at : at + wrap] for at in range(0, len(held), wrap)] if wrap else [held]
    redacted = redactor.redact("  .env: " + "\n".join(lines) + "\n").text
    assert redacted.count("[redacted:password:") == 1
    assert not any(held[at : at + 6] in redacted for at in range(44, 66))  # the password's own signs
    assert redacted.startswith("  .env: REJfSE9TVD") and "IG5vdGhpbmcgaGVyZQo" in redacted.replace("\n", "")


def test_docker_configuration_inside_a_cluster_secret_is_masked(redactor: RuleRedactor) -> None:
    auth = b64encode(b"bot:Vq2rT9zpLk").decode()
    held = b64encode(b'{"auths": {"ghcr.io": {"auth": "%s"}}}' % auth.encode()).decode()
    assert redactor.redact(f"data:\n  .dockerconfigjson: {held}\n").counts
