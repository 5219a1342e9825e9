"""Prose, and whatever nobody else reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.readers import prose
from palimpsest_mcp.digest.readers.prose import sentences
from palimpsest_mcp.digest.records import Record, plain
from palimpsest_mcp.digest.runs import lacks_its_start

texts = st.text(st.sampled_from("aB1 .!?。？؟…,:;-*#_`~=()[]\"'»」Dré\té\n"), max_size=600) | st.text(max_size=300)


def squeezed(text: str) -> str:
    return "".join(text.split())


def read(text: str) -> list[Record]:
    lines = text.split("\n")
    assert prose.claims(lines, 0) == len(lines)
    return prose.read(lines).records


@given(texts)
def test_the_sentences_of_a_line_are_all_of_it_in_order(text: str) -> None:
    for line in plain(text).split("\n"):
        pieces = list(sentences(line))
        assert squeezed("".join(pieces)) == squeezed(line)
        assert all(piece in line and piece == piece.strip() and piece for piece in pieces)


@given(texts)
def test_the_records_of_a_text_are_all_of_it_in_order_under_earlier_headings(text: str) -> None:
    view = plain(text)
    records = read(view)
    assert squeezed("".join(r.text for r in records)) == squeezed(view)
    for n, record in enumerate(records):
        assert record.text in view.split("\n")[record.at]
        assert record.under < n
        assert record.under < 0 or records[record.under].kind == "heading"


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("It costs 1.5 m. as of 2.4.0, e.g. here. Then it rained.", "It costs 1.5 m. as of 2.4.0, e.g. here."),
        ("Dr. J. Smith left. He came back.", "Dr. J. Smith left."),
        ("最大接続数を600に引き上げる。ただし、適用しない。", "最大接続数を600に引き上げる。"),
        ("هل هذا صحيح؟ نعم.", "هل هذا صحيح؟"),
        ("यह ठीक है। आगे बढ़ो।", "यह ठीक है।"),
        ('He said "stop." Nobody did.', 'He said "stop."'),
    ],
)
def test_a_sentence_ends_where_its_script_ends_it_and_not_at_an_abbreviation(line: str, first: str) -> None:
    assert next(sentences(line)) == first


def test_sections_nest_and_items_stand_under_the_line_that_leads_to_them() -> None:
    records = read(
        "# Runbook\n\n## Restart\nDo it so:\n\n- stop it\n- start it:\n  - slowly\n\nThen wait.\n\n"
        "Notes\n-----\n\nNone."
    )
    above = {r.text: records[r.under].text if r.under >= 0 else "" for r in records}
    assert above["## Restart"] == "# Runbook"
    assert above["Do it so:"] == above["Then wait."] == "## Restart"
    assert above["- stop it"] == above["- start it:"] == "Do it so:"
    assert above["- slowly"] == "- start it:"
    assert above["Notes"] == "# Runbook"
    assert above["None."] == "Notes"


def test_the_first_sentence_of_a_section_and_a_command_are_worth_more_and_other_fenced_lines_less() -> None:
    records = {
        r.text: r.worth for r in read("# A\n\nFirst.\nSecond.\n\n```sh\n# run it\nmake\n```\n\n~~~\nas is\n~~~\n")
    }
    assert records["First."] > records["Second."] > records["as is"] == records["# run it"] > 0
    assert records["make"] > records["Second."], "what is to be typed"


@pytest.mark.parametrize(
    "line",
    ["QUJD" * 80, "Skip to main content", "© 2026 Harbour Ltd.", "![logo](a.png)", "We use cookies."],
)
def test_what_nobody_asks_for_is_noise(line: str) -> None:
    assert [r.kind for r in read(line)] == ["noise"]


@pytest.mark.parametrize("line", ["会" * 300, "see https://example.org/" + "a" * 250, "Search the archive for May."])
def test_a_script_without_blanks_a_long_address_and_a_sentence_are_no_noise(line: str) -> None:
    assert all(r.kind != "noise" for r in read(line))


def test_the_verdict_of_a_tool_is_an_outcome() -> None:
    assert read("Successfully replaced text in a.ts.")[0].kind == "outcome"
    assert read("Error executing query: Unknown column 'id'")[0].kind == "error"


def test_a_fence_with_nothing_below_it_closes_a_block_that_another_reader_has_read() -> None:
    records = read("```\n\n## After the code\nIt goes on.\n\n```typescript")
    assert [(one.kind, one.under) for one in records[:3]] == [("noise", -1), ("heading", -1), ("line", 1)]


def test_a_later_sentence_of_a_list_item_stands_under_its_first() -> None:
    """Shown without it, it would be said of the item before."""
    long = "pick an extreme such as minimal, maximalist, retro-futuristic, organic and natural, or old. "
    records = read(f"# Guide\n\n- **Purpose**: what does it solve?\n- **Tone**: {long * 4}Use these for inspiration.")
    tone = next(n for n, one in enumerate(records) if one.text.startswith("- **Tone**"))
    assert [one.under for one in records[tone + 1 :]] == [tone] * (len(records) - tone - 1)
    assert records[-1].text == "Use these for inspiration."


def test_all_sections_of_a_document_stand_under_the_line_that_names_it() -> None:
    title = "○ spotter-7 · Draw the sidecar of each row   [● P1 · OPEN]"
    records = read(f"{title}\nOwner: Ada\n\n## Why\n\nNobody can read it.\n\n## How\n\nBy drawing it.")
    assert [one.under for one in records if one.text in ("Owner: Ada", "## Why", "## How")] == [0, 0, 0]
    records = read(f"{title}\nOwner: Ada\nNobody can read it.")
    assert {one.under for one in records} == {-1}, "without sections it is a line like others"


def test_what_a_text_is_about_is_said_by_its_first_sentence_and_not_by_a_motto_above_it() -> None:
    text = (
        "# Norhaven\n\n> From all harbours, and for all harbours of the north, since 1911.\n\n"
        "Norhaven is a program that assigns berths to vessels by their draught.\n\nIt runs at night."
    )
    worth = {r.text: r.worth for r in read(text)}
    assert worth["Norhaven is a program that assigns berths to vessels by their draught."] == max(worth.values())


def test_what_a_page_says_of_its_cookies_is_noise() -> None:
    text = "You can set your cookie preferences or opt out below.\n\nThe cookie jar of the kitchen is blue and full."
    assert [r.kind == "noise" for r in read(text)] == [True, False]


def test_what_a_page_says_for_its_sponsors_is_noise() -> None:
    text = (
        "**This episode is brought to you by [Norsleep](http://norsleep.example)!** They have a 10-year warranty.\n\n"
        "The study was sponsored by the harbour office of Norhaven in 2026.\n\n"
        f"*Terms apply{', and more of them' * 40}. The host receives cash compensation from Norsleep LLC for "
        "advertising. This ad may not reflect the experience of others.*\n\n"
        "The newspaper lost its advertising to the web, and then its readers."
    )
    assert [r.kind == "noise" for r in read(text)] == [True, False, True, False]


def test_the_list_of_a_pages_sponsors_is_noise_up_to_what_follows_it() -> None:
    text = (
        "This episode is brought to you by:\n\nNorsleep mattresses: https://norsleep.example\n\n"
        "* **[Quayside](https://quay.example) card games**\n\nPreview\n\nSee https://harbour.example"
    )
    assert [r.kind == "noise" for r in read(text)] == [True, True, True, False, False]


def test_a_title_in_front_of_a_name_ends_no_sentence_in_bold_type() -> None:
    text = f"**Dr. Ana Berg** runs the harbour of Norhaven{', and its cranes' * 20}. She was its pilot."
    assert [r.text[:8] for r in read(text)] == ["**Dr. An", "She was "]


def test_what_npm_says_above_each_package_is_the_heading_of_what_its_script_says() -> None:
    text = (
        "> pi-monorepo@0.0.3 check\n> biome check --write .\n\nChecked 238 files in 132ms. Fixed 4 files.\n\n"
        "> @harbour/berths@0.14.2 check\n> tsgo --noEmit\n\n\n"
        "> @harbour/cranes@0.14.2 check\n> biome check --write .\n\nChecked 36 files in 41ms. No fixes applied.\n"
    )
    records = list(read(text))
    under = {r.text: records[r.under].text for r in records if r.text.startswith("Checked")}
    assert under == {
        "Checked 238 files in 132ms. Fixed 4 files.": "> pi-monorepo@0.0.3 check",
        "Checked 36 files in 41ms. No fixes applied.": "> @harbour/cranes@0.14.2 check",
    }


def test_of_a_manual_the_commands_come_first_whether_their_block_says_so_or_not() -> None:
    said, bare = (
        {r.text: r.worth for r in read(f"# A\n\nFirst.\n\n{fence}\npython make.py --all\n```\n\nLast.\n")}
        for fence in ("```bash", "```")
    )
    assert said["python make.py --all"] == bare["python make.py --all"]
    assert bare["python make.py --all"] > bare["First."]


def test_a_point_that_begins_with_what_to_do_always_or_never_is_a_claim() -> None:
    """ "Always run the check" gave way to how long answers should be."""
    points = ["Always run `npm run check` after a change.", "Keep answers short.", "Don't commit unless asked to."]
    records = prose.read([f"- {one}" for one in points]).records
    assert [one.kind for one in records] == ["claim", "line", "claim"]


def test_a_lead_to_a_list_goes_on_from_the_sentence_before_it_in_its_line() -> None:
    """ "Then you MUST read …:" stood without a mark behind the first of two sentences before it."""
    asked = Record("Then ask which module it is about.", at=3)
    lead = Record("Then you MUST read all of these, in parallel:", "heading", at=3)
    assert lacks_its_start(asked, lead)
    assert not lacks_its_start(asked, Record(lead.text, "heading", at=5)), "a section of its own"


def test_what_a_manual_orders_in_capitals_is_a_claim_but_not_in_a_text_that_shouts_everywhere() -> None:
    lines = ["# Pages", "", "The page MUST be named `index.html`.", "It has a head.", "IT MUST BE SO"]
    kinds = {one.text: one.kind for one in read("\n".join(lines))}
    assert kinds["The page MUST be named `index.html`."] == "claim"
    assert kinds["It has a head."] == kinds["IT MUST BE SO"] == "line"
    shouting = read("\n".join(f"Part {n} MUST be there." for n in range(40)))
    assert 0 < sum(one.kind == "claim" for one in shouting) < 10


def test_what_a_script_prints_stands_under_its_banners() -> None:
    text = "=== SURVIVAL ===\nOverall: 38.38%\n\n--- by class ---\nFirst: 62\n\n=== 3 of 4 done ===\n=== FARES ==="
    records = read(text)
    heads = {one.text: n for n, one in enumerate(records) if one.kind == "heading"}
    assert list(heads) == ["=== SURVIVAL ===", "--- by class ---", "=== FARES ==="]
    under = {one.text: one.under for one in records}
    assert under["Overall: 38.38%"] == under["--- by class ---"] == heads["=== SURVIVAL ==="]
    assert under["First: 62"] == heads["--- by class ---"]
    assert under["=== FARES ==="] == -1
