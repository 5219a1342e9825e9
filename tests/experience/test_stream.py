"""Two hundred events over fifty days, compacted whenever it is due: the rules that were planted, and no other."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from palimpsest_mcp.experience.disk import MemoryExperience
from palimpsest_mcp.experience.learn import Learn
from palimpsest_mcp.experience.state import LearningDependencies
from palimpsest_mcp.testing.experience_contract import NOW
from palimpsest_mcp.text.redaction.redactor import open_redactor

from ..conftest import LONG, first_of

pytestmark = pytest.mark.anyio

RELEASES = (
    ("run the migration on a copy of the database first", "first run the migration on a database copy",
     "migrations run on a copy of the database first"),
    ("tag the release after CI is green", "only tag a release after CI is green", "after CI is green, tag the release"),
    ("write the changelog entry before the version bump", "before the version bump, write the changelog entry",
     "changelog entry is written before the version bump"),
    ("build wheels with the oldest supported Python", "wheels: build them with the oldest supported Python",
     "build the wheel with the oldest Python that is supported"),
    ("never publish from a dirty working tree", "do not publish from a dirty working tree",
     "publishing from a dirty working tree: never"),
    ("upload to the test index before the real one", "before the real index, upload to the test index",
     "always upload to the test index before the real one"),
    ("sign the artifacts with the team key", "artifacts must be signed with the team key",
     "sign every artifact with the team key"),
    ("announce only after the mirrors have synced", "announce after mirrors synced",
     "the announcement comes after mirrors are synced: announce only after that"),
)  # fmt: skip
SEARCHES = (
    ("add the year to product queries", "for product queries add the year", "product queries need the year added"),
    ("search forums for complaints, not shops", "search forums for complaints instead of shops",
     "for complaints search forums rather than shops"),
    ("open the second page when the first has ads only", "when the first page has only ads open the second page",
     "open the second page if the first one has ads only"),
    ("quote model numbers", "model numbers should be in quotes: quote model numbers", "always quote the model number"),
    ("sort reviews by date", "reviews: sort by date", "sort the reviews by their date"),
    ("skip pages behind a login", "avoid pages behind logins", "skip any page that is behind a login"),
    ("translate the query for local shops", "for local shops translate queries", "translate your query in local shops"),
    ("compare prices with shipping included", "compare the prices including shipping",
     "prices are compared with shipping included"),
)  # fmt: skip
LIKE_THEM: dict[tuple[tuple[str, ...], ...], tuple[str, ...]] = {
    RELEASES: ("run the migration on the live database first", "tag the release before CI is green",
               "write the changelog entry after the version bump", "build wheels with the newest supported Python",
               "upload to the real index before the test one", "sign the artifacts with a personal key"),
    SEARCHES: ("add the brand to product queries", "search shops for complaints, not forums", "quote serial numbers",
               "sort reviews by rating", "translate the query for global shops", "compare prices with tax included"),
}  # fmt: skip
"""One word away from a planted rule, and said once or twice: no rule, and no vote for one."""
UNEVEN = ("ask the cache before the service", "guess the endpoint from the docs", "parse the page with a regex")
VERBS = "abort archive balance borrow collect copy draw fold gather hash import knit lift mark"
OBJECTS = "ledger banner carpet driver engine filter garden handle island kernel ladder orchid"


def stream(random: Random, planted: tuple[tuple[str, ...], ...]) -> Iterator[tuple[float, dict[str, Any]]]:
    """Days ago and event, 200 of them."""

    def day(oldest: int = 50) -> float:
        return random.uniform(0.01, oldest)

    def event(pattern: str | None, outcome: str, **more: Any) -> dict[str, Any]:
        fields = {"session_id": f"s{random.randrange(10**6)}", "outcome": outcome, "winning_pattern": pattern}
        return {**fields, "metrics": {"yield": 20, "relevant": random.randrange(12, 20)}, **more}

    for wordings in planted:
        days = [day(28) for _ in range(7)] + [day() for _ in range(4)]
        slip = random.randrange(22)  # one in two planted rules fails once
        for number, ago in enumerate(days):
            yield ago, event(random.choice(wordings), "failure" if number == slip else "success")
    for text in LIKE_THEM[planted]:
        for _ in range(random.randrange(1, 3)):
            yield day(), event(text, "success")
    for text in UNEVEN:
        worked = [True] * 3 + [False] * 6
        for good in worked:
            yield day(), event(text, "success" if good else "failure")
    for _ in range(6):
        yield day(), event("buy followers", "success", user_feedback="rejected")
        yield day(), event("follow the link in the footer", "success", origin="web")
    once = [f"{verb} the {what}" for verb in VERBS.split() for what in OBJECTS.split()]
    random.shuffle(once)
    for text in once[:45]:
        yield day(), event(text, random.choice(("success", "success", "partial", "failure")))
    loud = event("shout it twenty times", "success")
    yield from ((day(), {**loud, "notes": str(n)}) for n in range(4))  # one session has one vote


@pytest.mark.parametrize("planted", first_of([(one,) for one in (RELEASES, SEARCHES)]), ids=["releases", "searches"])
@pytest.mark.parametrize("seed", first_of(range(4 if LONG else 2)))
async def test_the_planted_rules_are_learned_and_no_other(seed: int, planted: tuple[tuple[str, ...], ...]) -> None:
    random = Random(seed)
    events = sorted(stream(random, planted), key=lambda one: -one[0])
    quiet = ({"session_id": f"q{n}", "outcome": "success"} for n in range(200 - len(events)))
    events = sorted([*events, *((random.uniform(0.01, 50), one) for one in quiet)], key=lambda one: -one[0])
    assert len(events) == 200
    now = NOW - timedelta(days=50)
    means = LearningDependencies(
        experience=MemoryExperience(random_hex=secrets.token_hex), redactor=open_redactor(b"k" * 32), clock=lambda: now
    )
    learn = Learn(means)
    for ago, event in events:
        now = NOW - timedelta(days=ago)
        recorded = await learn.record_experience("work", event)
        if recorded.triggers:
            await learn.compact_experience("work")
    now = NOW
    await learn.compact_experience("work")
    view = await learn.experience_show("work")
    wording = {text: number for number, wordings in enumerate(planted) for text in wordings}
    active = [rule.text for rule in view.rules if rule.section == "active"]
    assert {wording.get(text, text) for text in active} == set(range(8)), active
    assert len(active) == 8
    failures = {rule.text for rule in view.rules if rule.section == "failures"}
    assert "rejected by user: buy followers" in failures
    assert not any(text in rule for rule in failures for text in wording), failures
    assert view.waiting_total and not any(one.text in wording for one in view.waiting)
