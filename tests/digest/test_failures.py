"""Error texts are told from summaries."""

from __future__ import annotations

import time

import pytest

from palimpsest_mcp.digest.failures import looks_like_a_failure

TRACE = 'The job ran.\nTraceback (most recent call last):\n  File "a.py", line 3, in run\nKeyError'


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
        '```json\n{"results": []}\n```',
        "API Error: 529",
        "Error: the request was too large",
        "500 Internal Server Error",
        "HTTP 429 Too Many Requests",
        "Connection error.",
        "Request timed out.",
        "ValueError: bad ticket",
        "anthropic.RateLimitError: slow down",
        "the service said rate_limit_error",
        "prompt is too long: more than the model takes",
        "<html><body>Bad Gateway</body></html>",
        "I'm sorry, but I can't help with that.",
        "I\u2019m unable to assist with this request.",
        "I cannot summarize this content.",
        "I don't have access to the file.",
        "As an AI language model, I have no opinion.",
        "Sorry, something went wrong",
        TRACE,
        "It stopped.\n    at run (/srv/app/index.js:10:5)",
    ],
)
def test_errors_and_refusals_are_no_summaries(text: str) -> None:
    assert looks_like_a_failure(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The import failed because a column was missing.",
        "I could not reproduce the bug; the job ran through.",
        "Error handling in the importer was reworked.",
        "Both workers timed out while importing.",
        "The server answered HTTP 500 to the second call.",
        "[redacted:aws_key:ab12cd34] was found in the settings.",
        "At first the build passed, then it failed.",
    ],
)
def test_summaries_that_tell_of_errors_are_summaries(text: str) -> None:
    assert not looks_like_a_failure(text)


@pytest.mark.parametrize("unit", ["error ", "at a:1", "api ", "\n at x:", "{ ", "I do not ", "a.", "connection "])
def test_hostile_texts_cost_their_length(unit: str) -> None:
    started = time.perf_counter()
    looks_like_a_failure(unit * (400_000 // len(unit)))
    assert time.perf_counter() - started < 2.0
