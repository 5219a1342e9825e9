from __future__ import annotations

import os
from pathlib import Path

import pytest

from palimpsest_mcp.errors import InvalidSettings
from palimpsest_mcp.text.redaction.redactor import open_redactor
from palimpsest_mcp.text.redaction.rules import default_rules, entropy

ACME = """
title = "ours"
[[rules]]
id = "acme-key"
regex = '''\\b(acme_[a-z0-9]{8})\\b'''
keywords = ["acme_"]
"""


def written(folder: Path, text: str) -> list[Path]:
    path = folder / "ours.toml"
    path.write_text(text, encoding="utf-8")
    return [path]


def test_a_rule_of_the_user_masks_beside_the_built_in_ones(tmp_path: Path) -> None:
    redactor = open_redactor(b"k" * 32, rule_files=written(tmp_path, ACME))
    assert redactor.redact("key acme_12ab34cd and li.wei88@qq.com").counts == {"acme-key": 1, "email": 1}
    assert any(line.endswith("ours.toml: 1 rule") for line in redactor.rules)


@pytest.mark.parametrize(
    ("extra", "text", "masked"),
    [
        ("entropy = 3.5", "acme_aaaaaaaa", False),
        ("entropy = 1.5", "acme_12ab34cd", True),
        ("secretGroup = 1", "acme_12ab34cd", True),
        ("[[rules.allowlists]]\nregexes = ['''^acme_test''']", "acme_test1234", False),
        ("[rules.allowlist]\nstopwords = ['TEST']", "acme_test1234", False),
        ("[[rules.allowlists]]\nregexTarget = 'line'\nregexes = ['''# fake$''']", "acme_12ab34cd # fake", False),
        ("[[rules.allowlists]]\nregexTarget = 'match'\nregexes = ['''34''']", "acme_12ab34cd", False),
        ("[[rules.allowlists]]\ncondition = 'AND'\nregexes = ['''34''']\nstopwords = ['zz']", "acme_12ab34cd", True),
        ("[[rules.allowlists]]\ncondition = 'AND'\nregexes = ['''34''']\npaths = ['''x''']", "acme_12ab34cd", True),
        ("[[rules.allowlists]]\npaths = ['''tests/''']", "acme_12ab34cd", True),
        ("random = true", "acme_passwort", False),
        ("prefix = true", "acme_12ab34cd", True),
        ("prefix = true", "xacme_12ab34cd", False),
        ("reach = 40", "acme_12ab34cd", True),
        ("tags = ['ours']\ndescription = 'x'", "acme_12ab34cd", True),
    ],
)
def test_the_keys_of_a_rule_mean_what_they_mean_in_gitleaks(
    tmp_path: Path, extra: str, text: str, masked: bool
) -> None:
    redactor = open_redactor(b"k" * 32, rule_files=written(tmp_path, ACME + extra))
    assert ("acme-key" in redactor.redact(f"see {text}").counts) is masked


def test_a_rule_without_keywords_is_tried_on_every_text(tmp_path: Path) -> None:
    rules = written(tmp_path, "[[rules]]\nid = 'odd'\nregex = '''Q[0-9]{5}Q'''\n")
    assert open_redactor(b"k" * 32, rule_files=rules).redact("a Q12345Q b").counts == {"odd": 1}


def test_a_match_may_lie_far_from_its_keyword(tmp_path: Path) -> None:
    rules = written(tmp_path, "[[rules]]\nid = 'far'\nregex = '''(?s)acme.*?(Z{9})'''\nkeywords = ['acme']\n")
    assert open_redactor(b"k" * 32, rule_files=rules).redact("acme" + " x" * 90_000 + "ZZZZZZZZZ").counts == {"far": 1}


def test_a_later_file_replaces_rules_and_turns_them_off(tmp_path: Path) -> None:
    rules = written(
        tmp_path, ACME.replace("acme-key", "jwt") + "[extend]\nuseDefault = true\ndisabledRules = ['npm-token']"
    )
    redactor = open_redactor(b"k" * 32, rule_files=rules, pii=False)
    assert redactor.redact("acme_12ab34cd").counts == {"jwt": 1}
    assert any("turns off npm-token" in line for line in redactor.rules)


def test_rules_for_file_names_are_named_as_not_used(tmp_path: Path) -> None:
    rules = written(tmp_path, ACME + "[[rules]]\nid = 'p12'\npath = '''\\.p12$'''\n")
    assert any("1 for file names only: not used" in line for line in open_redactor(b"k" * 32, rule_files=rules).rules)


def test_an_id_gives_the_kind_in_the_letters_of_a_mark(tmp_path: Path) -> None:
    rules = written(tmp_path, ACME.replace("acme-key", "ACME Key (new)"))
    assert "[redacted:acme-key-new:" in open_redactor(b"k" * 32, rule_files=rules).redact("acme_12ab34cd").text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[rules]]\nregex = 'x'", "rule number 1 has no id"),
        ("[[rules]]\nid = 'a'", "it has no regex"),
        ("[[rules]]\nid = 'a'\nregex = '(?<=x)y'", "not a pattern that RE2 takes"),
        ("[[rules]]\nid = 'a'\nregex = '(y'", "not a pattern that RE2 takes"),
        ("[[rules]]\nid = 'a'\nregex = 'y*'", "matches the empty text"),
        ("[[rules]]\nid = 'a'\nregex = '.+'", "matches every text"),
        ("[[rules]]\nid = 'a'\nregex = 'y'\n[rules.allowlist]\nregexes = ['.*']", "lets everything through"),
        ("[[rules]]\nid = 'a'\nregex = 'y'\n[rules.allowlist]\nstopwords = ['']", "lets everything through"),
        ("[[rules]]\nid = 'a'\nregex = 'y'\nsecretGroup = 2", "secretGroup is 2"),
        ("[[rules]]\nid = 'a'\nregex = 'y'\nkeyword = ['y']", "unknown key 'keyword'"),
        ("[[rules]]\nid = 'a'\nregex = 'y'\nkeywords = 'y'", "keywords must be an array of strings"),
        ("[[rules]]\nid = 'a'\nregex = 'y'\nentropy = 'high'", "entropy must be a number"),
        ("[[rules]]\nid = 'a'\nregex = 'y'\n[[rules]]\nid = 'a'\nregex = 'z'", "another rule has the same id"),
        ("[[rules]]\nid = 'a'\nregex = 'y'\n[rules.allowlist]\nregexes = ['(']", "its allowlist is not a pattern"),
        ("[[rules]]\nid = 'a'\nregex = 'y'\n[rules.allowlist]\nregexTarget = 'file'", "regexTarget must be"),
        ("[rules]\nid = 'a'", "rules must be an array of tables"),
        ("rule = 1", "unknown key 'rule'"),
        ("[extend]\npath = 'x'", "takes useDefault and disabledRules only"),
        ("not toml", "it is not TOML"),
    ],
)
def test_a_bad_rule_is_an_error_that_names_file_rule_and_next_step(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        open_redactor(b"k" * 32, rule_files=written(tmp_path, text))
    assert says in caught.value.message and "ours.toml" in caught.value.message and caught.value.next
    if "id = 'a'" in text and "[[rules]]" in text:
        assert "'a'" in caught.value.message


def test_a_missing_rule_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="cannot be read"):
        open_redactor(b"k" * 32, rule_files=[tmp_path / "none.toml"])


def test_a_rule_file_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    path.write_bytes(b"title = '\xff'")
    with pytest.raises(InvalidSettings, match="not UTF-8"):
        open_redactor(b"k" * 32, rule_files=[path])


def test_errors_never_show_a_pattern_or_an_exception(tmp_path: Path) -> None:
    """A pattern may be somebody's secret, written as it is."""
    with pytest.raises(InvalidSettings) as caught:
        open_redactor(b"k" * 32, allow=["fine", "hunter2(pass"])
    assert "Entry 2" in caught.value.message and "hunter2" not in str(caught.value)
    with pytest.raises(InvalidSettings) as caught:
        open_redactor(b"k" * 32, rule_files=written(tmp_path, "[[rules]]\nid = 'a'\nregex = 'hunter2(pass'"))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "pattern", [".*", ".+", r"[\s\S]*", "a?", "(?s).{8,}", ".{16}", r"\S+", "^.*$", "(?:.|\\n)+", "", r"\w*", "ok|.*"]
)
def test_an_exception_that_lets_everything_through_is_refused_and_named(pattern: str) -> None:
    with pytest.raises(InvalidSettings, match=r"Entry 2 of redaction_allow") as caught:
        open_redactor(b"k" * 32, allow=["fine", pattern])
    assert caught.value.next


@pytest.mark.parametrize("pattern", [r".*@acme\.example", "[0-9a-f]{40}", "AKIA[A-Z0-9]{16}", r"test_\w+", "ghp_.*"])
def test_an_exception_that_names_what_may_stay_is_taken(pattern: str) -> None:
    assert open_redactor(b"k" * 32, allow=[pattern]).weakened == ("redaction_allow lets 1 pattern through",)


def test_a_rule_file_that_is_no_regular_small_file_is_refused_at_once(tmp_path: Path) -> None:
    fifo, large, outside = tmp_path / "fifo.toml", tmp_path / "large.toml", tmp_path / "elsewhere" / "r.toml"
    os.mkfifo(fifo)
    large.write_bytes(b"#" * 1_000_001)
    outside.parent.mkdir()
    outside.write_text("title = 'x'")
    (folder := tmp_path / "config").mkdir()
    (folder / "link.toml").symlink_to(outside)
    refused = {
        fifo: "a FIFO",
        Path("/dev/zero"): "a device",
        tmp_path: "a folder",
        large: "larger than",
        folder / "link.toml": "a link out of",
    }
    for path, why in refused.items():
        with pytest.raises(InvalidSettings, match=why) as caught:
            open_redactor(b"k" * 32, rule_files=[path])
        assert str(path) in caught.value.message and "redaction_rule_files" in caught.value.next


def test_a_link_within_its_folder_is_followed(tmp_path: Path) -> None:
    (path,) = written(tmp_path, "[[rules]]\nid = 'a'\nregex = 'yy'")
    (tmp_path / "link.toml").symlink_to(path)
    assert open_redactor(b"k" * 32, rule_files=[tmp_path / "link.toml"]).redact("yy").counts == {"a": 1}


def test_what_weakens_masking_is_said(tmp_path: Path) -> None:
    assert open_redactor(b"k" * 32).weakened == ()
    files = written(tmp_path, "[extend]\ndisabledRules = ['jwt']\n[[rules]]\nid = 'private-key'\nregex = 'yy'")
    said = open_redactor(b"k" * 32, rule_files=files, allow=["x"], pii=False).weakened
    assert any("turns off jwt" in one for one in said)
    assert any("redaction_allow" in one for one in said) and any("redaction_pii" in one for one in said)


def test_the_built_in_rules_are_documented_and_prefiltered() -> None:
    file = default_rules()
    assert len(file.rules) > 80
    assert sum(1 for rule in file.rules if not rule.keywords) <= 6, "each of these costs every text"


def test_entropy_is_shannons() -> None:
    assert entropy(b"") == 0.0 and entropy(b"aaaa") == 0.0 and entropy(b"abcd") == 2.0
