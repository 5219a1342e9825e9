from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from key_material import ALNUM, Forge
from labelled_positives import positives
from surviving import survives

from palimpsest_mcp.text.redaction.redactor import RuleRedactor, open_redactor

REDACTOR = open_redactor(b"k" * 32)
POSITIVES = positives()
MARK = re.compile(r"\[redacted:([a-z0-9][a-z0-9_-]*):([g-v]{8})\]")
DIGITS = str.maketrans("ghijklmnopqrstuv", "0123456789abcdef")
PIECES = st.one_of(
    st.sampled_from([p.text for p in POSITIVES]),
    st.sampled_from([p.secret for p in POSITIVES]),
    st.text(max_size=30),
    st.sampled_from(
        ["\n", " ", '"', "\\n", "=", ": ", "&", "%3D", "[redacted:token:0123abcd]", "[redacted:", "\x00", "\ud83d"]
    ),
)
TEXTS = st.lists(PIECES, max_size=8).map("".join)


def test_a_mark_names_the_kind_and_eight_letters_of_a_keyed_hash() -> None:
    secret = "gh" + "p_" + Forge(1).of(36)
    text = REDACTOR.redact(f"token {secret}, again {secret}").text
    first, second = MARK.findall(text)
    assert first == second and first[0] == "gh-token"


def test_the_same_secret_has_the_same_mark_within_a_store_and_another_in_another() -> None:
    secret = "gh" + "p_" + Forge(1).of(36)
    one, other = open_redactor(b"a" * 32), open_redactor(b"b" * 32)
    assert one.redact(secret).text == open_redactor(b"a" * 32).redact(secret).text
    assert one.redact(secret).text != other.redact(secret).text


def test_a_hash_cannot_be_had_without_the_key() -> None:
    """Else a short password could be found by trying."""
    import hashlib

    password = Forge(2).password()
    ((_, shown),) = MARK.findall(REDACTOR.redact(f"password: {password}").text)
    assert all(
        not hashlib.new(name, password.encode()).hexdigest().startswith(shown[:5].translate(DIGITS))
        for name in ("sha256", "md5", "sha1")
    )


@given(TEXTS)
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = REDACTOR.redact(text)
    again = REDACTOR.redact(once.text)
    assert again.text == once.text and again.counts == {}


MARKED = REDACTOR.redact(f"password={Forge(13).password()}").text.removeprefix("password=")


@pytest.mark.parametrize(
    "text",
    [
        "password={}",
        "postgres://u:{}@h/db",
        '{{"password": "{}", "n": 1}}',
        "password: {}\n  next: line",
        "API_KEY={}\n",
    ],
)
def test_a_mark_in_the_place_of_a_value_is_no_value(text: str) -> None:
    again = REDACTOR.redact(text.format(MARKED))
    assert again.text == text.format(MARKED) and again.counts == {}


@pytest.mark.parametrize("mark", [MARKED, "[redacted:password:aaaaaaaa]", "[redacted:p:ghijklmn]", "[hidden]"])
@pytest.mark.parametrize(
    "text",
    [
        "DB_PASSWORD={m}{p}", "DB_PASSWORD={p}{m}", "password: {m} {p}", "postgres://app:{m}{p}@host",
        "postgres://app:{p}{m}@host/db",
        '{{"password": "{m}{p}"}}', "Authorization: Bearer {m}{k}", "API_KEY={m}{k}", "--password {m}{p} -v",
        "{m}ghp_{k}", "token ghp_{k}{m}.",
    ],
)  # fmt: skip
def test_a_mark_exempts_nothing_beside_it(mark: str, text: str) -> None:
    secret = Forge(14).of(36)
    redacted = REDACTOR.redact(text.format(m=mark, p=secret, k=secret))
    assert not survives(secret, redacted.text)
    if mark == MARKED:
        assert redacted.text.count(MARKED) == 1
        assert REDACTOR.redact(redacted.text).text == redacted.text


def test_a_mark_that_another_key_made_hides_nothing() -> None:
    hidden = Forge(15).of(20).lower()
    assert not survives(hidden, REDACTOR.redact(f"password=[redacted:{hidden}:ghijklmn]").text)


@given(TEXTS)
def test_what_is_not_masked_stays_as_it_was(text: str) -> None:
    """The text around the marks, in order, is the text around the secrets."""
    redacted = REDACTOR.redact(text)
    rest = text
    for part in MARK.split(redacted.text)[::3]:
        assert part in rest
        rest = rest[rest.index(part) + len(part) :]
    if not redacted.counts:
        assert redacted.text == text


@given(st.text(alphabet=st.characters(), max_size=200))
def test_any_text_can_be_redacted(text: str) -> None:
    assert REDACTOR.redact(REDACTOR.redact(text).text).counts == {}


@pytest.mark.parametrize("odd", ["\x00", "\ud83d", "\udc00\ud800", "\ufeff", "\u2028", "日本", "😀"])
def test_odd_characters_beside_a_secret_come_back_as_they_were(odd: str) -> None:
    secret = "gh" + "p_" + Forge(3).of(36)
    before, mark, after = REDACTOR.redact(f"{odd} {secret} {odd}").text.split(" ")
    assert (before, after) == (odd, odd) and MARK.fullmatch(mark)


def test_counts_say_how_many_of_each_kind_and_nothing_else() -> None:
    f = Forge(4)
    text = f"{'gh' + 'p_' + f.of(36)} {'gh' + 'p_' + f.of(36)} mail li.wei88@qq.com"
    assert REDACTOR.redact(text).counts == {"gh-token": 2, "email": 1}


def test_a_text_without_secrets_is_the_very_same() -> None:
    text = "commit 3f2b8c1e7a4d4c119b2e0d5f6a7b8c9d01234567\n" * 50
    assert REDACTOR.redact(text).text is text


@pytest.mark.parametrize("at", range(1, 40, 3))
def test_a_key_that_runs_from_one_text_into_the_next_is_masked_in_both(at: int) -> None:
    secret = "gh" + "p_" + Forge(5).of(36)
    left, right = REDACTOR.redact_all([f"log: {secret[:at]}", f"{secret[at:]} done"])
    assert not survives(secret, left.text + "|" + right.text)
    assert left.text.startswith("log: ") and right.text.endswith(" done")


def test_a_value_in_the_next_text_is_found_by_the_name_in_this_one() -> None:
    password = Forge(6).password()
    redacted = REDACTOR.redact_all(["the settings: password=", f"{password}\nport=5432"])
    assert [r.text.splitlines()[0] for r in redacted][0] == "the settings: password="
    assert not survives(password, redacted[1].text) and redacted[1].text.endswith("\nport=5432")


def test_a_private_key_over_three_texts_is_masked_in_each() -> None:
    pem = Forge(7).pem("RSA PRIVATE " + "KEY", 12)
    third = len(pem) // 3
    parts = [pem[:third], pem[third : 2 * third], pem[2 * third :]]
    assert all(not survives(part, r.text) for part, r in zip(parts, REDACTOR.redact_all(parts), strict=True))


@pytest.mark.parametrize(
    ("before", "secret", "behind"),
    [
        ("", Forge(10).pem("RSA PRIVATE " + "KEY", 90), "\ndone"),
        ("Cookie: " + "theme=dark; lang=en; " * 150 + "session=", Forge(11).of(60), "; seen=1\n"),
        ("token=", Forge(12).of(3000), "\nport=5432"),
        ("    key: |\n", Forge(13).pem("PRIVATE " + "KEY", 60).replace("\n", "\n" + " " * 70), "\ndone"),
        ("token=", "\n".join(Forge(15 + n).of(76) for n in range(40)), "\nport=5432"),
        ("7 | ", Forge(14).pem("PRIVATE " + "KEY", 60).replace("\n", "\n7 | "), "\ndone"),
    ],
    ids=[
        "private key",
        "last of a long header",
        "long token",
        "private key far to the right",
        "wrapped",
        "only END tells how long",
    ],
)
@pytest.mark.parametrize("share", [0, 0.2, 0.33, 0.41, 0.5, 0.9])
def test_a_long_secret_over_a_seam_is_masked_in_both_texts(before: str, secret: str, behind: str, share: float) -> None:
    at = len(before) + int(share * len(secret))
    whole = f"{before}{secret}{behind}"
    log = "line of a log\n" * 300
    left, right = REDACTOR.redact_all((log + whole[:at], whole[at:] + log))
    assert not survives(secret, left.text) and not survives(secret, right.text)
    assert left.text.startswith(log) and right.text.endswith(behind + log)


def test_texts_that_only_follow_one_another_are_masked_as_if_alone() -> None:
    texts = [p.text for p in POSITIVES[:40]] + ["nothing here", ""]
    together = REDACTOR.redact_all([text + "\n" for text in texts])
    assert [r.text for r in together] == [REDACTOR.redact(text + "\n").text for text in texts]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_json_in_json_is_read_to_any_depth(depth: int) -> None:
    password, text = Forge(9).password(), ""
    text = json.dumps({"user": "bob", "password": password, "sha": "ab" * 20})
    for _ in range(depth):
        text = json.dumps({"body": text})
    redacted = REDACTOR.redact(text).text
    assert not survives(password, redacted) and "ab" * 20 in redacted
    for _ in range(depth):
        redacted = json.loads(redacted)["body"]
    assert json.loads(redacted)["user"] == "bob"


def test_redacting_before_cutting_leaves_no_half_of_a_key() -> None:
    secret = "gh" + "p_" + Forge(10).of(36)
    text = REDACTOR.redact(f"{'x ' * 50}{secret}").text
    for end in range(len(text)):
        assert not survives(secret, text[:end])


def test_exceptions_of_the_user_stay(tmp_path: object) -> None:
    allowed = open_redactor(b"k" * 32, allow=[r".*@acme-corp\.io"])
    text = "from maria.kowalska@acme-corp.io to li.wei88@qq.com"
    assert allowed.redact(text).text.startswith("from maria.kowalska@acme-corp.io to [redacted:email:")


def test_personal_data_can_be_left_alone_while_keys_are_masked() -> None:
    secret = "gh" + "p_" + Forge(11).of(36)
    plain = open_redactor(b"k" * 32, pii=False)
    assert plain.redact(f"li.wei88@qq.com {secret}").counts == {"gh-token": 1}
    assert any("off" in line for line in plain.rules)


def test_what_is_loaded_is_named(redactor: RuleRedactor) -> None:
    assert redactor.rules[0].startswith("default_rules.toml: ") and len(redactor.rules) >= 3


def test_a_long_value_is_masked_to_its_end() -> None:
    value = Forge(12).of(3000, ALNUM)
    assert not survives(value, REDACTOR.redact(f"api_key={value}\nnext=1").text)
