"""A second opinion on probes: off unless asked for, beside the verdict by code, and harmless when it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anthropic
import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.probes import JudgedProbes, ProbeReport
from palimpsest_mcp.settings.settings import Settings

from ..conftest import first_of
from .fake_api import FakeApi, Reply, failure, fake_api, message

assert anthropic  # loaded here, so that no time limit below is spent on loading it
pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]
SECRET = "AKIA" + "Z7Q2M5XW6RT4KJ3N"


def session() -> Messages:
    """Failing runs, each with an error of its own, on top of a long log that holds a key."""
    messages: Messages = [{"role": "user", "content": "Find out why the import of part 7 fails."}]
    for n in range(10):
        call = {"type": "tool_use", "id": f"toolu_{n:04d}", "name": "Bash", "input": {"command": f"./check.sh {n}"}}
        messages.append({"role": "assistant", "content": [call]})
        rows = "\n".join(f"worker-{n:03d}-{line:03d} waits for the next part as it should" for line in range(60))
        text = f"key {SECRET}\n{rows}\nloader.Part{chr(65 + n)}Error: part {n} is gone, key {SECRET}\nexit code 3"
        messages.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": text}]}
        )
    return [*messages, {"role": "user", "content": "Go on."}]


def opinion(request: dict[str, Any]) -> str:
    """No to the first, yes to all others."""
    asked = request["body"]["messages"][0]["content"].count(" passage") // 2
    return message(json.dumps({"answers": [{"number": n, "answered": n > 1} for n in range(1, asked + 1)]}))


def configured(home: Path, api: FakeApi, **more: Any) -> Settings:
    given = {"anthropic_time_limit_s": 5.0, "anthropic_base_url": api.url, "probe_judge": "anthropic", **more}
    return Settings.load(home=home, anthropic_api_key="not-a-key", **given)


async def probed(settings: Settings) -> tuple[ProbeReport, ProbeReport]:
    """Of a pass, and of the session after it."""
    async with Palimpsest.open(settings=settings) as p:
        done = await p.compact_messages(session(), session_id="s", target=0.5, keep_last=3, force=True)
        assert done.report.status == "compacted"
        return done.report.probes, await p.probe("s")


async def test_nobody_is_asked_unless_the_settings_say_so(tmp_path: Path) -> None:
    async with fake_api(Reply(opinion)) as api:
        of_pass, of_session = await probed(configured(tmp_path, api, probe_judge=None))
        assert api.requests == []
    assert of_pass.judged is None and of_session.judged is None


async def test_the_opinion_stands_beside_the_verdict_and_does_not_change_it(tmp_path: Path) -> None:
    async with fake_api(Reply(opinion)) as api:
        judged = await probed(configured(tmp_path / "a", api))
        assert len(api.requests) == 2
    plain = await probed(Settings.load(home=tmp_path / "b"))
    for one, other in zip(judged, plain, strict=True):
        assert one.judged is not None and one.judged.asked > 3 and one.judged.answered == one.judged.asked - 1
        assert (one.state, one.passed, one.total, one.by_type) == (
            other.state,
            other.passed,
            other.total,
            other.by_type,
        )
        assert isinstance(one.judged, JudgedProbes)
        asked = one.judged.asked
        assert (
            f"second opinion by claude-haiku-5-5: {asked - 1} of {asked} answered; the verdict is code's" in one.notes
        )


@pytest.mark.parametrize(
    ("reply", "reason"),
    first_of(
        [
            (failure(529), "HTTP 529"),
            (Reply(message("all fine")), "the answer has another form"),
            (Reply(message(json.dumps({"answers": []}))), "the answer has another form"),
            (Reply(message("", stop_reason="refusal")), "the model refused"),
            (Reply(hangs=True), "no answer within 0.3 s"),
        ],
        kept=2,
    ),
    ids=["busy", "words", "too few", "refusal", "silence"],
)
async def test_whatever_goes_wrong_is_a_note_and_the_probes_of_code_stand(
    tmp_path: Path, reply: Reply, reason: str
) -> None:
    async with fake_api(reply) as api:
        of_pass, _ = await probed(configured(tmp_path / "a", api, anthropic_time_limit_s=0.3))
    plain, _ = await probed(Settings.load(home=tmp_path / "b"))
    assert of_pass.judged is None and f"no second opinion by claude-haiku-5-5: {reason}" in of_pass.notes
    assert (of_pass.state, of_pass.passed, of_pass.total) == (plain.state, plain.passed, plain.total)


async def test_without_a_key_the_note_says_so(tmp_path: Path) -> None:
    of_pass, _ = await probed(Settings.load(home=tmp_path, probe_judge="anthropic"))
    assert "no second opinion by claude-haiku-5-5: no key (ANTHROPIC_API_KEY)" in of_pass.notes


async def test_no_secret_is_shown_to_the_judge(tmp_path: Path) -> None:
    """Also of messages that a host threw away: those are asked about as they were."""
    messages = session()
    said = {"role": "assistant", "content": f"I decided to use `retry_twice` with {SECRET} because part 7 is late."}
    async with fake_api(Reply(opinion)) as api, Palimpsest.open(settings=configured(tmp_path, api)) as p:
        whole = [*messages[:1], said, *messages[1:]]
        await p.compact_messages(whole, session_id="s", target=0.5, keep_last=3, force=True)
        await p.compact_messages(messages, session_id="s", window_tokens=10_000_000)
        await p.probe("s")
        assert any("retry_twice" in prompt for prompt in api.prompts)
        assert not any(SECRET in prompt for prompt in api.prompts)
