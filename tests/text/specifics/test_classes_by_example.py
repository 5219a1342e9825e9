"""What each class takes and what it leaves alone, as tables."""

from __future__ import annotations

import re

import pytest

from palimpsest_mcp.text.specifics.registry import CLASSES, DefaultRegistry

REGISTRY = DefaultRegistry()

FOUND = {
    "error": """ValueError|json.decoder.JSONDecodeError|openai::RateLimitError|ENOENT|ECONNREFUSED|ERR_TLS_1234
        |PARSE_ERROR|ETIMEDOUT|SIGSEGV|AccessDenied|subprocess.TimeoutExpired|OOMKilled|CrashLoopBackOff
        |RecordNotFound|KeyError: 'user_id'|StopIteration|UserWarning""",
    "status": """exit code 2|exit status 127|exited with code 137|exit 1|HTTP 503|HTTP/1.1 404|status 404
        |status code: 500|Errno 13|error code 1045|signal 9|return code -11|404 Not Found|500 Internal Server Error
        |HTTP Error 403|HTTP response code: 503""",
    "url": """https://example.org/a?b=1&c=2|http://localhost:8080/x|https://en.wikipedia.org/wiki/Foo_(bar)
        |git+ssh://git@host/x.git|postgres://db.internal:5432/orders|https://x.org/a,b;c#frag|s3://bucket/key
        |https://api.x.io/users/{id}/repos|git@github.com:owner/repo.git|deploy@db-1.acme.io:backups/nightly""",
    "path": r"""/usr/lib/x.so|./a/b|../c.txt|~/.ssh/config|src/app/main.py:12|src/a.ts:12:5|README.md|docs/x.md#L12
        |main.rs:7|C:\Users\me\x.txt|src/a/mode.ts(1110,8)|app/[slug]/page.tsx|$HOME/.config/x.toml|lib/a_%3a1.deb
        |Makefile|.env.local|go.mod|tests\unit\test_a.py:12|src\\app\\notes.yaml|C:\Program Files\x\y.exe
        |/users/:id/orders|/users/{id}/orders|src/表/main.py|/tmp/报告.pdf|node_modules/@types/node/index.d.ts|foo/bar/baz|x.tar.gz|trace.json:3-9|.github/workflows""",
    "issue": "#123|owner/repo#12|ABC-123|CVE-2024-1234|GHSA-8r3f-844c-mc37|PROJ-7|PR 77|MR !42|issue 123",
    "uuid": "6f1e2c4a-0b7d-4c1e-9a55-2f6f0c3d9b10|6F1E2C4A-0B7D-4C1E-9A55-2F6F0C3D9B10",
    "hash": """6e62183|0x7ffe12ab|d41d8cd98f00b204e9800998ecf8427e|sha256:9f86d081884c7d65
        |sha512-MTKKkWB7pABCDEFGHIJKLMNOP/x+y==""",
    "date": """2026-11-20|2026-11-20T10:00:00.123Z|2026-11-20T10:00:00+02:00|2026-11-20 10:00:00,123
        |2026-11-20 08:15:47 +0000|08:15:47|10:30|Nov 20 2026|November 20, 2026|20 Nov 2026|20/11/2026|20.11.2026
        |2026/11/20|20261120T101500Z|2026-11|03:00:00+1|Nov 20|Nov  3 09:15|November 2026|20 Nov 2026 09:15
        |31-12-2026|12/31/26|05/2024|22 Nov|20 Nov 10:15
        |2026-11-20_09-15-00|T09:15:00|2026年11月20日|11月20日""",
    "host": """10.0.0.7|10.0.0.7:5432|10.0.0.0/8|fe80::1|::1|fe80::1%eth0|cart.shop.svc.cluster.local
        |2001:db8::8a2e:370:7334|localhost:8080
        |db-7.eu-west.example.com|db-7:5432""",
    "version": """v1.2.3|1.2.3|1.2.3rc1|2.0.0-beta.1|1.2.3+build.5|>=1.2|~=3.11|^18.2.0|@types/node@20.1.0|foo@1.2.3
        |nginx/1.18.0|1:2.66-4+deb12u1|20230710~deb12u1|1.0b2""",
    "money": """$12.50|$1,234.00|-$20|€12|12€|12 €|EUR 3|12.50 USD|US$15|$46B|£5|£1.2m|$3M|€1.299,00|1.299,00€
        |C$1,000|₹500|₹1,00,000|$52 billion|US$5 million|$5 million|€ 99|€ 1.234,56|1.234,56 €|12,50 €
        |99¢|$19.99/month|$3/MTok|$.50""",
    "score": "4.5/5|85%|92.2 %|80-90%|12,5 %|87,5%|0.958|3.25%|308/308|-0.12|12 %",
    "quantity": """12 ms|12ms|3.4GB|3.4 GB|5 days|3 failed|1,200 tokens|1h30m|250kB/s|80 MB/s|16 GiB|1 error|2.4×
        |12,5 °C|2,5GB|3,87 m
        |1920×1080|1920x1080|90°|1.4 pp|16 cores|1.5 million""",
    "number": """48213|1.10|-3.14|1,234,567|12345678901234567890|1.5e-3|1_000_000|2508.21433|1,00,000|0.5f|0x1.8p-3f
        |0b1011|0o755""",
    "integer": "12|1593|-40|007",
    "id": """HAT069|#W4923227|credit_card_8897086|toolu_01AbCdEf|UDMOP1|JG7FMM|mia_li_3668|gpt-4-0613|TS2554
        |EHGLP3|10.1145/3292500.3330701|10.1016/S0140-6736(20)30183-5|arXiv:2310.06770v2|us-east-1a-042|claude-3-5-sonnet-20241022|i-0abc12de34f|worker-3|gpt-4""",
    "constant": "MAX_RETRIES|A_B|PHASE_2_NAME|_PRIVATE_FLAG",
    "name": """os.path.join|A::B|A::B#each|std::vec::Vec|foo_bar_baz|foo_bar|getUserName|camelCase|DefaultHttpClient
        |self.lock.acquire|json.loads|ElementTree.fromstring|self.raw_decode
        |test_zip.Tests.test_a1|p.name|s.first_name|v_if|xAxis|row.is-active|my-svc.default.svc|@babel/core""",
    "handle": "@octocat|@ada-lovelace|@ada_l",
    "email": "ada@example.org|49699333+bot@users.noreply.github.com",
    "command": """$ npm run build --port 8080|$ ls|> tsc --noEmit|# apt-get install curl|% brew install jq
        |+ pip install x|> go test ./...""",
}

NOTHING = r"""no errors were found|an error occurred|ERROR|WARNING|the exit is closed|status unknown|HTTP|plain words
    |and/or|n/a|I/O|application/json|TCP/IP|e.g. this|i.e. that|GitHub|JavaScript|iPhone|utf-8|UTF-8|sha256|SHA-256
    |x86_64|int32|base64|deadbeef|1st|22nd|7|(7)|a.b|self.x|_private|...|--|==|::|://|http://|@property|@param|</div>
    |\n\t|e2e|v|#|$|%|[redacted:aws_key:1a2b3c4d]|x=[redacted:token:deadbeef]|C:|TODO: fix|x_|a_b|eBook|i.e|p.m.
        |# Results of the run|> quoted words|+ added line|\x1b|a\nb"""

FRAMES = ("at {}, then", "({})", '"{}"', "x={}", "k: {};", "- {}", "a | {} | b", "a\t{}\tb", "`{}`.", "see {}!", "[{}]")

BRACKETS = ("({})", "[{}]")
BETWEEN_BRACKETS = re.compile(r"\d,\d|[$€£¥₹]|\d+\.\d\d")
"""There they are something else: fields of a list, or a negative amount (`test_groups.py`)."""


def table(text: str) -> list[str]:
    return [cell.strip() for cell in text.split("|")]


def test_every_class_has_examples_here_and_its_own_example_is_found() -> None:
    assert set(FOUND) == {cls.name for cls in CLASSES}
    for cls in CLASSES:
        assert REGISTRY.set_of(cls.example) == {(cls.name, cls.example)}


def test_weights_are_between_a_half_and_six_and_names_are_unique() -> None:
    assert all(0.5 <= cls.weight <= 6 for cls in CLASSES)
    assert len({cls.name for cls in CLASSES}) == len(CLASSES)


@pytest.mark.parametrize(("cls", "cells"), FOUND.items())
def test_it_is_found_whole_and_as_this_class(cls: str, cells: str) -> None:
    for text in table(cells):
        assert REGISTRY.set_of(text) == {(cls, text)}


@pytest.mark.parametrize("frame", FRAMES)
def test_what_stands_around_it_is_left_out(frame: str) -> None:
    """Rows, entries and quotes of a digest frame it differently; the specific stays the same (D2)."""
    for cls, cells in FOUND.items():
        for text in table(cells) if cls != "command" else ():
            if not (frame in BRACKETS and BETWEEN_BRACKETS.search(text)):
                assert REGISTRY.set_of(frame.format(text)) == {(cls, text)}


@pytest.mark.parametrize("joint", [" | ", "\t", "\n", ", ", "; ", " · "])
def test_layout_joins_without_changing_what_is_found(joint: str) -> None:
    every = [(cls, text) for cls, cells in FOUND.items() if cls != "command" for text in table(cells)]
    assert REGISTRY.set_of(joint.join(text for _, text in every)) == set(every)


@pytest.mark.parametrize("text", table(NOTHING))
def test_it_is_nothing(text: str) -> None:
    assert REGISTRY.set_of(text) == set()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("./app/settings.py:123:raise RuntimeError('ERR_X_12')", {"./app/settings.py:123", "RuntimeError", "ERR_X_12"}),
        ("[t](https://a.org/b), <https://c.org/d>.", {"https://a.org/b", "https://c.org/d"}),
        ("版本1.2.3发布于2026-11-20，价格$12", {"1.2.3", "2026-11-20", "$12"}),
        ("about ~300 rows, lodash ~1.2", {"~300 rows", "~1.2"}),
        ("INFO:2026-11-20T10:00:00Z:worker", {"2026-11-20T10:00:00Z"}),
        ("|src/app/main.py:12|HAT069|48213|", {"src/app/main.py:12", "HAT069", "48213"}),
        ("ada@db-1:~/src$ git log -3", {"~/src", "$ git log -3"}),
        ("(venv) $ pytest -q", {"$ pytest -q"}),
        ("checked\n$ npm run build", {"$ npm run build"}),
        (r"PS C:\src> dir", {r"C:\src", "> dir"}),
        ("# python is what we use: 12", {"# python is what we use: 12"}),
        ("foo==1.2.3 # via bar>=2.0", {"1.2.3", ">=2.0"}),
        (r'{"a":"first\nsecond 4711","b":[12,15]}', {"4711", "12", "15"}),
        ("2026-11-20..2026-11-25", {"2026-11-20", "2026-11-25"}),
        ("docker run -p 127.0.0.1:8000:8000 img", {"127.0.0.1:8000:8000"}),
        ("{base}/foo/bar", set[str]()),
        ("4 files changed, 125 insertions(+), 3 deletions(-)", {"4 files", "125 insertions", "3 deletions"}),
        ("=== 3 failed, 12 passed in 0.95s ===", {"3 failed", "12 passed", "0.95s"}),
    ],
)
def test_a_line_as_tools_print_it(line: str, wanted: set[str]) -> None:
    assert {text for _, text in REGISTRY.set_of(line)} == wanted


def test_an_address_ends_before_closing_punctuation_and_unbalanced_brackets() -> None:
    for text in ("(https://x.org/a_(b).)", "https://x.org/a_(b)).", "**https://x.org/a_(b)**", "https://x.org/a_(b)(c"):
        assert ("url", "https://x.org/a_(b)") in REGISTRY.set_of(text)


def test_a_redaction_mark_hides_nothing_beside_it() -> None:
    found = REGISTRY.set_of("key=[redacted:token:1a2b3c4d] id=HAT069 [redacted:pw:deadbeef]/4711")
    assert found == {("id", "HAT069"), ("integer", "4711")}


def test_colours_of_a_terminal_are_layout() -> None:
    assert REGISTRY.set_of("\x1b[1;31mFAILED\x1b[0m tests/a.py::\x1b[1mtest_b_c\x1b[0m \x1b[33m12 passed\x1b[0m") == {
        ("path", "tests/a.py"),
        ("name", "test_b_c"),
        ("quantity", "12 passed"),
    }


def test_a_backslash_that_escapes_is_no_folder() -> None:
    assert REGISTRY.set_of(r"'first.txt\nsecond.txt\tREADME.md'") == {
        ("path", "first.txt"),
        ("path", "second.txt"),
        ("path", "README.md"),
    }
    assert REGISTRY.set_of(r"^\d+\w+\.py$") == set()


@pytest.mark.parametrize(
    "frame", ["错误{}。", "值为{}，然后", "（{}）", "「{}」", "“{}”", "«{}»", "<td>{}</td>", "**{}**", "{}…"]
)
def test_other_languages_quotes_and_markup_cut_nothing(frame: str) -> None:
    for cls, cells in FOUND.items():
        for text in table(cells) if cls != "command" else ():
            assert REGISTRY.set_of(frame.format(text)) == {(cls, text)}


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("ratio:1.25 addr:10.0.0.7 at:08:15:47 score:0.958", {"1.25", "10.0.0.7", "08:15:47", "0.958"}),
        ("INFO tests.test_log:test_log.py:905 said", {"tests.test_log", "test_log.py:905"}),
        ("image:tag nginx:1.25.3 python:3.12-slim", {"nginx:1.25.3", "python:3.12-slim"}),
        (r'"see:\nhttps://example.org/a\nhttps://example.org/b"', {"https://example.org/a", "https://example.org/b"}),
    ],
)
def test_what_a_colon_or_an_escape_joins_is_told_apart(line: str, wanted: set[str]) -> None:
    assert {text for _, text in REGISTRY.set_of(line)} == wanted


def test_line_numbers_in_the_margin_are_layout_but_first_columns_are_not() -> None:
    assert REGISTRY.set_of("   120\treturn x\n   121\ty") == set()
    assert REGISTRY.set_of("   120→return x\n121→y") == set()
    assert REGISTRY.set_of("4096\t./x/y") == {("integer", "4096"), ("path", "./x/y")}
    assert REGISTRY.set_of("total: 4096\tfree") == {("integer", "4096")}


def test_a_command_is_a_whole_line() -> None:
    assert REGISTRY.set_of("  $ cat a.txt | wc -l\ndone") == {("command", "$ cat a.txt | wc -l")}
    assert REGISTRY.set_of("it costs $ or more") == set()
    assert REGISTRY.set_of("$ " + "x" * 300) == set()
