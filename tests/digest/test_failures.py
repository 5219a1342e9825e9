"""Error texts are told from summaries."""

from __future__ import annotations

import time

import pytest

from palimpsest_mcp.digest.prose import looks_like_a_failure, says_nothing

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


@pytest.mark.parametrize(
    "text",
    [
        "Error generating summary",
        "Error generating summary.",
        "**Error generating summary:** the model did not answer.",
        "⚠️ Failed to generate summary: rate limit exceeded, retry after 20 s.",
        "Summary generation failed.",
        "[summary unavailable]",
        "(summary unavailable)",
        "Summary: [summary not available]",
        "I'm sorry, but I can’t help with summarizing this.",
        "I apologize, but I cannot continue with this request.",
        "As an AI, I do not have access to the tool output.",
        "undefined",
        "null",
        "[object Object]",
        "N/A",
        "{}",
        "[]",
        '{"error": {"message": "Overloaded"}}',
        "```json\n{}\n```",
        "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>",
        "<html>\n<body>504 Gateway Time-out</body></html>",
        "429 Too Many Requests",
        "Rate limit reached for requests. Please try again in 20s.",
        "You exceeded your current quota, please check your plan and billing details.",
        "Claude AI usage limit reached|1763820000",
        "This model's maximum context length is 200000 tokens.",
        "... [tool output truncated: 48213 characters]",
        "[Old tool result content cleared]",
        "[Request interrupted by user]",
        "No response from model.",
        "Something went wrong. Please try again later.",
        "Fehler beim Erstellen der Zusammenfassung.",
        "Es tut mir leid, dabei kann ich nicht helfen.",
        "Erreur lors de la génération du résumé.",
        "Je suis désolé, je ne peux pas résumer ce contenu.",
        "No se pudo generar el resumen.",
        "Lo siento, no puedo ayudar con eso.",
        "Não foi possível gerar o resumo.",
        "Mi dispiace, non posso riassumere questo testo.",
        "Не удалось создать сводку: ошибка сервера.",
        "抱歉，我无法总结此内容。",
        "申し訳ありませんが、要約を生成できませんでした。",
        "요약을 생성할 수 없습니다.",
    ],
)
def test_what_a_failed_model_says_in_place_of_a_summary_is_none(text: str) -> None:
    assert looks_like_a_failure(text) or says_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "The build failed: the linker found no symbol for parse_header.",
        "Errors in the log come from one worker that lost its connection.",
        "Error budget for the quarter is used up; releases stop until it recovers.",
        "Error pages of the shop are served by the cache, not by the application.",
        "Failed tests are all in the importer; the others pass.",
        "Failed logins rise from noon on, all from one network.",
        "Rate limits of the provider are listed by tier, with the lowest for new keys.",
        "Rate limiting is done in the proxy: the reviewer wants it in the service, where the user is known, since the "
        "proxy sees only addresses and several customers share one; the change is planned for the next release and has "
        "an owner but no date yet.",
        "Timeouts were raised in the client, since the server needs longer for the first call.",
        "The model answered with an error on the second call and the retry went through.",
        "The page says that the service was unavailable for an hour in the morning.",
        "Connection pooling is off by default, which is why each request opens a socket.",
        "Sorry-state handling was removed from the checkout; a failed payment now keeps the cart.",
        "An error in the migration left the orders table without its index.",
        "Connection refused by the second database until its listener was moved to the public address.",
        "No output is written by the exporter when the queue is empty, which the test takes for a failure.",
        "The request was refused because the token had no scope for deployments.",
        "Undefined behaviour in the parser: a signed shift, found by the sanitizer.",
        "Null values in the column come from the import of the old shop.",
        "No test covers the refund path; the author says so in the last comment.",
        "No errors were found in the three files that were read.",
        "Unable-to-deliver mails are kept for a week, then dropped.",
        "Please note the order: the schema is changed before the workers are stopped.",
        "The tool output was long; the interesting part is the panic of the scheduler.",
        "The assistant could not reproduce the crash on the second machine.",
        "Der Fehler beim Start kommt aus der alten Konfiguration.",
        "L'erreur vient du certificat, expiré depuis mardi.",
        "El servicio no se pudo reiniciar porque el disco estaba lleno.",
        "日志显示请求失败的原因是证书过期。",
        "ビルドは失敗したが、原因は古い設定だった。",
    ],
)
def test_a_summary_that_tells_of_errors_is_none_of_them(text: str) -> None:
    assert not looks_like_a_failure(text) and not says_nothing(text)


@pytest.mark.parametrize("unit", ["error ", "at a:1", "api ", "\n at x:", "{ ", "I do not ", "a.", "connection "])
def test_hostile_texts_cost_their_length(unit: str) -> None:
    started = time.process_time()
    looks_like_a_failure(unit * (400_000 // len(unit)))
    assert time.process_time() - started < 2.0
