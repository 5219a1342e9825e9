"""Results that a later one says again: pointers that name the later call, and still say how it went."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest

pytestmark = pytest.mark.anyio


def session() -> list[dict[str, Any]]:
    """The same failing check twice, with other work around it."""
    log = "\n".join(f"checking part {n} of the harbour's records, which takes a while" for n in range(120))
    failed = f"{log}\nERROR: checksum of part 77 differs, nothing was written"
    texts = [failed, *(f"{log}\nround {n} done" for n in range(5)), failed, *(f"late {n} {log}" for n in range(6))]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Why does the check fail?"}]
    for n, text in enumerate(texts):
        use = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"./check.sh --round {n}"}}
        back = {"type": "tool_result", "tool_use_id": f"t{n}", "content": text}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [back]}]
    return [*messages, {"role": "user", "content": "Go on."}]


async def test_a_result_that_comes_again_is_a_pointer_that_names_the_later_call_and_says_how_it_went(
    p: Palimpsest,
) -> None:
    messages = session()
    done = await p.compact_messages(messages, session_id="s", target=0.5, force=True)
    stands = done.messages[2]["content"][0]["content"]
    said = stands if isinstance(stands, str) else stands[0]["text"]
    assert "the same result came later, of Bash check.sh --round 6 (t6); a line of this one:]\nERROR" in said
    assert "ERROR: checksum of part 77 differs, nothing was written" in said, "D17: a pointer has it too"
    assert "checking part 5" not in said
    assert (await p.verify()).findings == ()
    assert await p.expand_messages(done.messages, session_id="s") == messages


async def test_a_pointer_that_names_the_later_call_has_none_of_its_secrets(p: Palimpsest) -> None:
    messages = session()
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"[:36]
    later = next(one for one in messages if "t6" in str(one["content"]) and one["role"] == "assistant")
    later["content"][0]["input"] = {"command": f"curl -H 'Authorization: Bearer {secret}' https://ci.example.org/[6]"}
    done = await p.compact_messages(messages, session_id="s", target=0.5, force=True)
    stands = done.messages[2]["content"][0]["content"]
    said = stands if isinstance(stands, str) else stands[0]["text"]
    assert "the same result came later, of Bash curl" in said and secret[:12] not in said and "[6]" not in said


async def test_a_pointer_with_a_line_that_says_how_it_went_is_not_said_to_be_notes_only(p: Palimpsest) -> None:
    messages = session()
    for n in (0, 6):
        block = messages[2 * n + 2]["content"][0]
        block["content"] = block["content"].replace("checksum of part 77 differs, nothing", "nothing at all")
    done = await p.compact_messages(messages, session_id="s", target=0.5, force=True)
    stands = done.messages[2]["content"][0]["content"]
    said = stands if isinstance(stands, str) else stands[0]["text"]
    assert "ERROR: nothing at all was written" in said and "notes only" not in said, said
    assert said.startswith("[shows 0 of ")


async def test_of_a_read_that_was_read_again_what_changed_since_stands_first_below_the_pointer(p: Palimpsest) -> None:
    """A line that the later read has too said nothing, and what differed was not told."""
    source = [f"value_{n} = settings.of({n}, 'harbour')  # may throw new Error" for n in range(90)]
    changed = [line.replace("of(7,", "of(70,") for line in source]
    other = "\n".join(f"round {n} of the other work, which says nothing" for n in range(160))
    texts = [
        "\n".join(source),
        *(f"{n} {other}" for n in range(4)),
        "\n".join(changed),
        *(f"{n} {other}" for n in "abcdef"),
    ]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What is set where?"}]
    for n, text in enumerate(texts):
        name, given = ("Read", {"file_path": "/w/a.py"}) if n in (0, 5) else ("Bash", {"command": f"./work {n}"})
        use = {"type": "tool_use", "id": f"t{n}", "name": name, "input": given}
        back = {"type": "tool_result", "tool_use_id": f"t{n}", "content": text}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [back]}]
    done = await p.compact_messages(
        [*messages, {"role": "user", "content": "Go on."}], session_id="s", target=0.5, force=True
    )
    stands = done.messages[2]["content"][0]["content"]
    said = stands if isinstance(stands, str) else stands[0]["text"]
    words = "read again later, some lines differ (t5); a line that only this one has, and 1 more of it:]"
    assert f"{words}\n{source[7]}\n" in said, said
    assert source[7] in said and source[8] not in said
    assert (await p.verify()).findings == ()
