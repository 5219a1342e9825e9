"""What the benchmark of recall counts as needed, and as pointing to it."""

from __future__ import annotations

from typing import Any

from offers import near, needed, pointing, requests, words
from quality.replay import results_of

TICKETS = "HL-9041 has its charge card-4711, HL-9042 none"


def session() -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look at the tickets."}]
    for number, result in enumerate((TICKETS, "ok", "ok", "ok")):
        use = {"type": "tool_use", "id": f"t{number}", "name": "look", "input": {"page": number}}
        messages.append({"role": "assistant", "content": [use]})
        back = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
        messages.append({"role": "user", "content": [back]})
    pay = {"type": "tool_use", "id": "t9", "name": "pay", "input": {"HL-9042": "card-4711", "for": "HL-9041"}}
    return [
        *messages,
        {"role": "assistant", "content": "The charge is known."},
        {"role": "user", "content": "Pay HL-9041."},
        {"role": "assistant", "content": [{"type": "text", "text": "I pay with the card."}, pay]},
    ]


def test_needed_is_what_was_typed_and_only_left_results_had() -> None:
    """The request itself gives the ticket, and the name of an argument is the tool's own."""
    (asked,) = requests(session())
    left = {"t0": results_of(session())["t0"]}
    assert asked.text == "Pay HL-9041."
    assert needed(asked, left) == {"card-4711": 1}
    assert needed(asked, {"t1": "ok"}) == {}


def test_only_words_near_a_value_point_to_it() -> None:
    (asked,) = requests(session())
    around = near(f"{TICKETS}\n{'far away ' * 40}unrelated", "card-4711")
    shared = {name for name, text in pointing(asked, 1) if around & words(text)}
    assert shared == {"the request", "the agent’s last words", "what it typed since"}
    assert "unrel" not in around and not around & words("unrelated")
