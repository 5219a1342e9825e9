"""Settings: argument > environment > file > preset or default, and an error for whatever is not known."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.errors import InvalidPolicy, InvalidSettings
from palimpsest_mcp.models.plans import ARCHIVE_PATH
from palimpsest_mcp.settings.places import Secret, default_home, home_folder, is_automatic, settings_file
from palimpsest_mcp.settings.settings import NAMES, Settings, Values


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty home, and no variable of ours from outside."""
    for name in list(os.environ):
        if name.startswith("PALIMPSEST_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path))
    return tmp_path


def write(home: Path, text: str) -> None:
    (home / "config.toml").write_text(text, "utf-8")


def sources(settings: Settings) -> dict[str, tuple[Any, str]]:
    return {key: (value, source) for key, value, source in settings.explain()}


def test_without_any_source_the_defaults_hold() -> None:
    settings = Settings.load()
    assert (settings.policy, settings.auto, settings.window_tokens) == ("research", True, None)
    assert settings.policy_named().name == "research"
    assert sources(settings)["auto"] == (True, "default")
    assert sources(settings)["policy.keep_last_k_tool_results"] == (12, "preset research")


def test_argument_beats_environment_beats_file_beats_default(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(home / "config.toml")
    write(home, 'window_tokens = 1\nmodel = "from-file"\nhost = "from-file"\n')
    monkeypatch.setenv("PALIMPSEST_WINDOW_TOKENS", "2")
    monkeypatch.setenv("PALIMPSEST_MODEL", "from-environment")
    settings = Settings.load(window_tokens=3, auto=None)
    found = sources(settings)
    assert found["window_tokens"] == (3, "argument")
    assert found["model"] == ("from-environment", "environment PALIMPSEST_MODEL")
    assert found["host"] == ("from-file", file)
    assert found["log_level"] == ("warning", "default")
    assert found["home"] == (home, "environment PALIMPSEST_HOME")


@pytest.mark.parametrize(("text", "value"), [("off", False), ("on", True), ("0", False), ("true", True)])
def test_auto_is_on_or_off(text: str, value: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_AUTO", text)
    assert Settings.load().auto is value


def test_lists_in_variables_are_json_or_separated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_SKILLS_ROOTS", os.pathsep.join(["/a", "/b c"]))
    monkeypatch.setenv("PALIMPSEST_REDACTION_ALLOW", '["one, with comma", "two"]')
    monkeypatch.setenv("PALIMPSEST_KIND_BY_TOOL", '{"plan": "graph_plan"}')
    monkeypatch.setenv("PALIMPSEST_SPECIFICS", '[{"name": "ticket", "pattern": "T-[0-9]+"}]')
    settings = Settings.load()
    assert settings.skills_roots == (Path("/a"), Path("/b c"))
    assert settings.redaction_allow == ("one, with comma", "two")
    assert (settings.specifics[0].name, settings.specifics[0].weight) == ("ticket", 3.0)
    assert settings.policy_named("phased").kind_by_tool == {"run_clarify": "clarify_result", "plan": "graph_plan"}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("PALIMPSEST_WINDOW_TOKEN", "5", "window_token.*PALIMPSEST_WINDOW_TOKEN.*Did you mean window_tokens"),
        ("PALIMPSEST_NONSENSE_XYZ", "5", "The keys are home, store.*, policy"),
        ("PALIMPSEST_WINDOW_TOKENS", "many", "window_tokens .environment PALIMPSEST_WINDOW_TOKENS.: .* integer"),
        ("PALIMPSEST_WINDOW_TOKENS", "0", "window_tokens .* greater than 0"),
        ("PALIMPSEST_AUTO", "perhaps", "auto .* boolean"),
        ("PALIMPSEST_DIGESTER", "magic", "digester .* 'extractive'"),
        ("PALIMPSEST_LOG_LEVEL", "loud", "log_level"),
        ("PALIMPSEST_KIND_BY_TOOL", "{", "PALIMPSEST_KIND_BY_TOOL is not valid JSON"),
        ("PALIMPSEST_SPECIFICS", '[{"name": "Bad Name", "pattern": "x"}]', "specifics.0.name"),
        ("PALIMPSEST_SPECIFICS", '[{"name": "a", "pattern": "(?=x)"}]', "not a pattern in RE2 syntax"),
        ("PALIMPSEST_SPECIFICS", '[{"name": "a", "pattern": "x", "wieght": 2}]', "specifics.0.wieght"),
        ("PALIMPSEST_SPECIFICS", '[{"name": "a", "pattern": "x", "weight": 7}]', "specifics.0.weight"),
        ("PALIMPSEST_SPECIFICS", '[{"name": "path", "pattern": "x"}]', "specifics.0.name"),
        ("PALIMPSEST_SPECIFICS", '[{"name": "a", "pattern": "x"}, {"name": "a", "pattern": "y"}]', "specifics"),
        ("PALIMPSEST_CONFIG", "/no/such/file.toml", "which does not exist"),
    ],
)
def test_a_wrong_variable_is_an_error_that_names_it(
    name: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidSettings, match=words):
        Settings.load()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("window_token = 5", "Unknown setting 'window_token'.*config.toml.*window_tokens"),
        ('window_tokens = "x"', "window_tokens .*config.toml"),
        ("window_tokens = 5\neffective_window_tokens = 6", "must not be above window_tokens"),
        ("window_tokens = ", "not valid TOML"),
        ("window_tokens = " + "[" * 3_000, "nested too deeply"),
        ("skills_roots = 3", "skills_roots"),
        ("[palimpsest]\nauto = true", "Unknown setting 'palimpsest'"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_file_and_key(text: str, words: str, home: Path) -> None:
    write(home, text)
    with pytest.raises(InvalidSettings, match=words):
        Settings.load()


def test_a_file_that_is_no_text_or_no_file_is_an_error(home: Path) -> None:
    (home / "config.toml").write_bytes(b"auto = true # \xff")
    with pytest.raises(InvalidSettings, match="not valid TOML"):
        Settings.load()
    (home / "config.toml").unlink()
    (home / "config.toml").mkdir()
    with pytest.raises(InvalidSettings, match="cannot be read"):
        Settings.load()


def test_a_settings_file_that_would_never_end_is_refused_at_once(home: Path) -> None:
    os.mkfifo(home / "config.toml")
    with pytest.raises(InvalidSettings, match="FIFO"):
        Settings.load()
    assert is_automatic(home)
    (home / "config.toml").unlink()
    (home / "config.toml").write_bytes(b"#" * 1_000_001)
    with pytest.raises(InvalidSettings, match="larger than"):
        Settings.load()


def test_an_empty_variable_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PALIMPSEST_HOME", "PALIMPSEST_CONFIG", "PALIMPSEST_WINDOW_TOKENS", "PALIMPSEST_POLICY__MIN_MESSAGES"):
        monkeypatch.setenv(name, "")
    settings = Settings.load()
    assert (settings.home, settings.window_tokens) == (default_home(), None)
    assert settings.policy_named().min_messages == 0


def test_an_unknown_argument_is_an_error() -> None:
    with pytest.raises(InvalidSettings, match="Did you mean window_tokens"):
        Settings.load(window_token=5)


SEED_BLOCK = """
keep_last_k_tool_results = 12
keep_all_citations_index = true
keep_all_rubrics = true
offload_trigger_token_ratio = 0.7
offload_target_token_ratio = 0.4
offload_archive_path = "session/<id>/offloaded/<ts>.jsonl"
prefer_compact_over_drop = true
never_compact = ["clarify_result", "reflective_loop_state", "graph_plan", "citation_index", "rubrics"]
"""


def test_the_seeds_own_block_is_a_valid_policy(home: Path) -> None:
    write(home, f"[policy]{SEED_BLOCK}")
    settings = Settings.load()
    assert settings.policy_named().offload_archive_path == ARCHIVE_PATH
    assert sources(settings)["policy.offload_trigger_token_ratio"] == (0.7, str(home / "config.toml"))
    assert sources(settings)["policy.batch_items"] == (3, "preset research")


def test_the_archives_path_cannot_be_moved(home: Path) -> None:
    write(home, '[policy]\noffload_archive_path = "/elsewhere/<ts>.jsonl"')
    with pytest.raises(InvalidPolicy, match="offload_archive_path is fixed.*PALIMPSEST_HOME"):
        Settings.load()


def test_policies_are_chosen_changed_and_added(home: Path) -> None:
    write(
        home,
        """
        [policy]
        default = "mine"
        min_tool_calls = 4

        [policy.mine]
        base = "phased"
        keep_last_k_tool_results = 1

        [policy.anchored]
        keep_last_messages = 7
        """,
    )
    settings = Settings.load()
    assert settings.policy == "mine"
    mine = settings.policy_named()
    assert (mine.name, mine.offload_trigger_token_ratio, mine.min_tool_calls) == ("mine", 0.4, 4)
    assert mine.keep_last_k_tool_results == 3
    assert "raised to 3" in settings.notes[0]
    assert settings.policy_named("anchored").keep_last_messages == 7
    assert settings.policy_named("research").min_tool_calls == 10
    assert sources(settings)["policy.offload_trigger_token_ratio"][1] == "preset phased"


def test_a_policy_by_name_alone(home: Path) -> None:
    write(home, 'policy = "anchored"')
    assert Settings.load().policy_named().name == "anchored"


def test_a_variable_changes_the_policy_in_use_and_no_other(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trigger of 0.45 is right for this policy and below the target of another."""
    write(home, "[policy.phased]\noffload_trigger_token_ratio = 0.42")
    monkeypatch.setenv("PALIMPSEST_POLICY", "phased")
    monkeypatch.setenv("PALIMPSEST_POLICY__OFFLOAD_TRIGGER_TOKEN_RATIO", "0.45")
    monkeypatch.setenv("PALIMPSEST_POLICY__NEVER_COMPACT", '["rubrics"]')
    settings = Settings.load()
    assert settings.policy_named().offload_trigger_token_ratio == 0.45
    assert settings.policy_named().never_compact == ("rubrics",)
    assert settings.policy_named("anchored").offload_trigger_token_ratio == 0.7
    source = sources(settings)["policy.offload_trigger_token_ratio"][1]
    assert source == "environment PALIMPSEST_POLICY__OFFLOAD_TRIGGER_TOKEN_RATIO"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('policy = "resaerch"', "no policy named 'resaerch'.*anchored, phased, research"),
        ("policy = 3", "policy must be a name or a table"),
        ("[policy]\nkeep_last_k = 3", "has no field 'keep_last_k'"),
        ('[policy.mine]\nbase = "yours"', "no policy named 'yours'"),
        ("[policy.mine]\nkeep_lst = 3", "config.toml: A policy has no field 'keep_lst'"),
        ("[policy.mine]\nbatch_items = 0", "config.toml: Policy 'mine': batch_items must be at least 1"),
        ("[policy]\ndefault = 3", "policy.default must be the name"),
    ],
)
def test_a_wrong_policy_is_an_error_that_names_field_and_file(text: str, words: str, home: Path) -> None:
    write(home, text)
    with pytest.raises(InvalidPolicy, match=words):
        Settings.load()


def test_a_wrong_policy_variable_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_POLICY__NEVER_COMPACT", "[")
    with pytest.raises(InvalidPolicy, match="PALIMPSEST_POLICY__NEVER_COMPACT is not valid JSON"):
        Settings.load()
    monkeypatch.setenv("PALIMPSEST_POLICY__NEVER_COMPACT", '["x"]')
    monkeypatch.setenv("PALIMPSEST_POLICY__KEEP_LAST", "3")
    with pytest.raises(InvalidPolicy, match="environment: A policy has no field 'keep_last'"):
        Settings.load()


def test_an_unknown_policy_asked_for_by_name_lists_the_users_own_too(home: Path) -> None:
    write(home, "[policy.mine]\nbatch_items = 2")
    with pytest.raises(InvalidPolicy, match="anchored, mine, phased, research"):
        Settings.load().policy_named("other")


def test_relative_paths_of_a_file_start_at_the_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "etc").mkdir()
    file = home / "etc" / "palimpsest.toml"
    file.write_text('redaction_rule_files = ["rules.toml", "/abs.toml"]\nhome = "../store"\n', "utf-8")
    monkeypatch.setenv("PALIMPSEST_CONFIG", str(file))
    monkeypatch.delenv("PALIMPSEST_HOME")
    settings = Settings.load()
    assert settings.redaction_rule_files == (home / "etc" / "rules.toml", Path("/abs.toml"))
    assert settings.home == home / "etc" / ".." / "store"
    assert settings.file == file


def test_a_home_that_is_given_brings_its_own_file(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write(home, 'model = "here"')
    write(other, 'model = "there"')
    settings = Settings.load(home=str(other))
    assert (settings.home, settings.model) == (other, "there")


def test_the_home_is_found_without_the_rest_of_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert home_folder() == tmp_path
    assert home_folder(environ={}) == default_home()
    assert home_folder("~/x", environ={}) == Path.home() / "x"
    assert home_folder("rel", environ={}) == Path.cwd() / "rel"
    assert settings_file(tmp_path, environ={}) == tmp_path / "config.toml"
    code = "import sys, palimpsest_mcp.settings.places; print('pydantic' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


def test_a_home_that_is_empty_is_not_the_working_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty variable is as if it were not set, as for every variable of the XDG directories; a name must name."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PALIMPSEST_HOME", "")
    assert Settings.load().home == home_folder() == default_home()
    with pytest.raises(InvalidSettings, match="empty"):
        Settings.load(home="")
    config = tmp_path / "own.toml"
    config.write_text('home = ""\n')
    monkeypatch.setenv("PALIMPSEST_CONFIG", str(config))
    with pytest.raises(InvalidSettings, match="empty"):
        Settings.load()


def test_what_is_asked_of_a_setting_beyond_its_type_is_asked_of_one_that_is_there() -> None:
    from palimpsest_mcp.settings.checked import NARROWER

    assert set(NARROWER) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_default_may_be_set_in_so_many_words(name: str) -> None:
    from palimpsest_mcp.settings.checked import checked

    usual = getattr(Values(), name)
    given: object = usual.get_secret_value() if isinstance(usual, Secret) else usual
    assert str(checked(Values, {name: given}, {})[name]) == str(usual)


@pytest.mark.parametrize(
    ("text", "is_looked_at"),
    [("", False), ('policy = "research"\nauto = false\nmodel = "m"', False), ("window_tokens = 9", True)],
)
def test_only_a_value_that_could_be_wrong_is_looked_at(home: Path, text: str, is_looked_at: bool) -> None:
    write(home, text)
    code = "import sys; from palimpsest_mcp.settings.settings import Settings; Settings.load(); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ("pydantic" in ran.stdout.split()) is is_looked_at


def test_a_variable_is_read_in_whatever_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("palimpsest_window_tokens", "90000")
    assert Settings.load().window_tokens == 90_000
