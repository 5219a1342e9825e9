"""What is counted, and how often."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_mcp.experience import tally as tally_module
from palimpsest_mcp.experience.tally import Cluster, Relevance, Tally
from palimpsest_mcp.testing.experience_contract import NOW, event_line, failures, successes

TODAY = NOW.toordinal()


def counted(log: bytes, *, old: bytes = b"", min_relevance: float = 0.5) -> Tally:
    relevance = Relevance(TODAY, min_relevance)
    relevance.add(old)
    relevance.add(log)
    tally = Tally(TODAY, relevance=relevance)
    tally.add(old)
    tally.mark()
    tally.add(log, at=len(old))
    return tally


def one(log: bytes, *, old: bytes = b"") -> Cluster:
    (cluster,) = counted(log, old=old).clusters()
    return cluster


def votes(cluster: Cluster) -> tuple[int, int, int]:
    return cluster.seen, cluster.success, cluster.failed


def test_a_session_has_one_vote_however_often_it_says_it() -> None:
    assert votes(one(b"".join(event_line("s", winning_pattern="p q", notes=str(n)) for n in range(9)))) == (1, 1, 0)


def test_any_failure_in_a_session_takes_its_success() -> None:
    log = event_line("s", winning_pattern="p q") + event_line("s", winning_pattern="p q", outcome="failure")
    assert votes(one(log)) == (1, 0, 1)


def test_partial_is_seen_and_neither_success_nor_failure() -> None:
    assert votes(one(event_line("s", winning_pattern="p q", outcome="partial"))) == (1, 0, 0)


def test_events_without_a_session_have_one_vote_a_day() -> None:
    same_day = b"".join(event_line(None, winning_pattern="p q", notes=str(n)) for n in range(5))
    assert votes(one(same_day)) == (1, 1, 0)
    assert votes(one(same_day + event_line(None, days_ago=1, winning_pattern="p q"))) == (2, 2, 0)


def test_an_event_that_is_there_three_times_is_one_event() -> None:
    tally = counted(event_line(None, winning_pattern="p q") * 3)
    assert (tally.events, tally.new_events, tally.duplicates) == (1, 1, 2)
    same_id = event_line("a", id="7", winning_pattern="p q") + event_line("b", id="7", winning_pattern="p q")
    assert votes(one(same_id)) == (1, 1, 0)


def test_two_events_with_one_hash_in_python_are_two_events() -> None:
    assert hash(-1) == hash(-2)
    log = b"".join(event_line("s", winning_pattern="p q", metrics={"latency_ms": n}) for n in (-1, -2))
    tally = counted(log)
    assert (tally.events, tally.new_events, tally.duplicates) == (2, 2, 0)


def test_an_event_with_half_a_character_is_known_again() -> None:
    tally = counted(event_line("s", winning_pattern="p q", notes="\ud800") * 2)
    assert (tally.events, tally.duplicates) == (1, 1)


@pytest.mark.parametrize(
    "fields",
    [
        {"user_feedback": "rejected"},
        {"metrics": {"user_feedback": "rejected"}},
        {"metrics": {"user_feedback": "correction"}},
        {"metrics": {"rubric_passed": False}},
        {"metrics": {"yield": 10, "relevant": 0}},
    ],
)
def test_what_was_rejected_failed_its_rubric_or_found_nothing_relevant_is_no_success(fields: dict[str, Any]) -> None:
    clusters = counted(event_line("s", winning_pattern="p q", **fields)).clusters()
    assert all(votes(cluster) == (1, 0, 1) for cluster in clusters)


def measured(query: str, pattern: str, relevant: int, *, number: int = 4, of: int = 40) -> bytes:
    metrics = {"yield": of, "relevant": relevant}
    return b"".join(
        event_line(f"{query} {pattern} {n}", winning_pattern=pattern, query_type=query, metrics=metrics)
        for n in range(number)
    )


def test_relevance_is_ranked_within_its_query() -> None:
    """10 of 40 is what one query gives at best, and a quarter of what another one gives."""
    hard, easy = measured("complaints", "search forums", 10), measured("prices", "search shops", 39)
    poor = measured("prices", "search blogs", 10)
    found = {cluster.members[0]: votes(cluster) for cluster in counted(hard + easy + easy + poor).clusters()}
    assert found == {"search forums": (4, 4, 0), "search shops": (4, 4, 0), "search blogs": (4, 0, 4)}


def test_three_measured_events_do_not_tell_what_is_usual() -> None:
    log = measured("q", "p q", 40, number=2) + measured("q", "r s", 1, number=1)
    assert all(cluster.failed == 0 for cluster in counted(log).clusters())


def test_half_of_what_is_usual_is_not_low_and_the_border_is_a_setting() -> None:
    log = measured("q", "p q", 40, number=5) + measured("q", "r s", 20, number=1)
    assert all(cluster.failed == 0 for cluster in counted(log).clusters())
    assert [one.members[0] for one in counted(log, min_relevance=0.6).clusters() if one.failed] == ["r s"]


def test_events_without_a_type_are_of_one_query_when_their_template_is_the_same() -> None:
    def line(n: int, template: str, relevant: int) -> bytes:
        return event_line(f"s{n}", good_query=template, metrics={"yield": 40, "relevant": relevant})

    log = b"".join(line(n, "{brand} 避雷", 38) for n in range(5)) + line(9, "{brand} 避雷", 5) + line(8, "{x} deals", 5)
    by_name = {cluster.members[0]: cluster.failed for cluster in counted(log).clusters()}
    assert by_name == {"{brand} 避雷": 1, "{x} deals": 0}


def test_texts_from_tools_and_the_web_are_not_counted() -> None:
    for origin in ("tool", "web", "Web-page", "tool_output", "website"):
        tally = counted(b"".join(event_line(f"s{n}", winning_pattern="p q", origin=origin) for n in range(9)))
        assert not tally.clusters() and tally.untrusted == 9
    for origin in ("user", "model", "webhook"):
        assert votes(one(event_line("s", winning_pattern="p q", origin=origin))) == (1, 1, 0)


def test_day_thirty_counts_and_day_thirty_one_does_not() -> None:
    assert votes(one(event_line("s", days_ago=30, winning_pattern="p q"))) == (1, 1, 0)
    assert not counted(event_line("s", days_ago=31, winning_pattern="p q")).clusters()


def test_an_event_from_the_future_waits_and_tomorrow_is_a_clock_apart() -> None:
    tally = counted(event_line("s", days_ago=-2, winning_pattern="p q"))
    assert not tally.clusters() and tally.ahead == 1
    assert one(event_line("s", days_ago=-1, winning_pattern="p q")).last_success == TODAY


def test_damaged_lines_are_counted_and_cost_themselves_only() -> None:
    tally = counted(b"{broken\n\n  \n" + event_line("s", winning_pattern="p q") + b"nonsense\n")
    assert (tally.damaged, tally.new_events) == (2, 1)


def test_success_and_failure_of_one_pattern_are_counted_together() -> None:
    log = successes("use the api", 4) + failures("Use the API.", 2)
    log += event_line("z", outcome="failure", failure_mode="use API")
    assert votes(one(log)) == (7, 4, 3)


def test_a_success_is_as_new_as_its_newest_session_without_a_failure() -> None:
    log = successes("use the api", 2, days_ago=9) + event_line("x", days_ago=1, winning_pattern="use the api")
    log += event_line("x", days_ago=1, winning_pattern="use the api", outcome="failure")
    cluster = one(log)
    assert (cluster.last_success, cluster.last_failure) == (TODAY - 9, TODAY - 1)


def test_queries_rules_and_corrections_are_apart() -> None:
    log = event_line("s", winning_pattern="p q", good_query="p q", notes="p q", user_feedback="correction")
    assert sorted(cluster.kind for cluster in counted(log).clusters()) == ["correction", "query", "rule"]


def test_what_was_there_before_the_mark_is_known_apart() -> None:
    cluster = one(successes("use the api", 2, first=7), old=successes("use the api", 3))
    assert votes(cluster) == (5, 5, 0)
    assert (cluster.seen_before, cluster.success_before, cluster.failed_before) == (3, 3, 0)


def test_merged_forms_share_their_sessions_votes() -> None:
    log = event_line("s", winning_pattern="alpha beta") + event_line("s", winning_pattern="gamma delta")
    log += event_line("t", winning_pattern="gamma delta")
    tally = counted(log)
    keys = [cluster.key for cluster in tally.clusters()]
    (cluster,) = tally.clusters([keys])
    assert votes(cluster) == (2, 2, 0) and set(cluster.keys) == set(keys)


def test_the_most_frequent_wording_stands_first() -> None:
    log = successes("Use the API!", 1) + successes("use the api", 3)
    assert one(log).members == ("use the api", "Use the API!")


def test_a_crowd_of_patterns_is_bounded_and_a_recurring_one_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally_module, "MAX_KEYS", 5)
    names = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    tally = counted(b"".join(successes(f"use {name}", 4) for name in names))
    assert tally.crowded == 3
    assert {cluster.members[0]: cluster.seen for cluster in tally.clusters()}["use theta"] == 3


def logged(session: str | None, days: int, outcome: str, pattern: str) -> bytes:
    return event_line(session, days_ago=days, outcome=outcome, winning_pattern=pattern)


lines = st.lists(
    st.builds(
        logged,
        st.sampled_from(["a", "b", "c", None]),
        st.integers(0, 40),
        st.sampled_from(["success", "failure", "partial"]),
        st.sampled_from(["use it", "Use it.", "skip that", "open 3 pages", "open 5 pages"]),
    ),
    max_size=12,
)


@given(lines, st.randoms(use_true_random=False))
def test_order_and_repetition_change_no_count(log: list[bytes], random: Random) -> None:
    def picture(parts: list[bytes]) -> list[tuple[object, ...]]:
        clusters = counted(b"".join(parts)).clusters()
        return sorted((c.key, *votes(c), c.last_success, c.last_failure, c.first_day, c.last_day) for c in clusters)

    mixed = log + log[:3]
    random.shuffle(mixed)
    assert picture(mixed) == picture(log)


@settings(max_examples=min(30, settings().max_examples), deadline=None)
@given(lines, st.integers(1, 60))
def test_it_does_not_matter_where_blocks_are_cut(log: list[bytes], every: int) -> None:
    whole = Tally(TODAY)
    whole.add(b"".join(log))
    pieces = Tally(TODAY)
    for at in range(0, len(log), every):
        pieces.add(b"".join(log[at : at + every]))
    assert sorted(votes(c) for c in whole.clusters()) == sorted(votes(c) for c in pieces.clusters())
