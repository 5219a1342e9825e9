"""Leaves of settings stand under their key or section; prose, code and logs are left alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.readers import config, yaml
from palimpsest_mcp.digest.records import Reader, Record

_CONFIG = Reader("config", config.claims, config.read)
_YAML = Reader("yaml", yaml.claims, yaml.read)

_KEY = st.from_regex(r"[a-z]{3,8}_[a-z]", fullmatch=True)
_VALUE = st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True)
_LEAVES = st.dictionaries(_KEY, _VALUE, min_size=2, max_size=5)


def _read(lines: list[str], reader: Reader = _YAML) -> list[Record]:
    """Records of a text that must be claimed whole, one of each line that is not blank."""
    assert reader.claims(lines, 0) == len(lines)
    records = reader.read(lines).records
    assert [(each.at, each.text) for each in records] == [
        (n, line.strip()) for n, line in enumerate(lines) if line.strip()
    ]
    return records


def _path(records: list[Record], number: int) -> list[str]:
    path: list[str] = []
    while number >= 0:
        path.insert(0, records[number].text)
        number = records[number].under
    return path


@given(st.dictionaries(_KEY, _LEAVES, min_size=1, max_size=6), st.lists(_VALUE, min_size=1, max_size=3))
def test_every_leaf_of_yaml_stands_under_its_own_keys(tree: dict[str, dict[str, str]], items: list[str]) -> None:
    lines, paths = ["services:"], [["services:"]]
    for name, leaves in tree.items():
        lines.append(f"  {name}:")
        paths.append(["services:", f"{name}:"])
        for key, value in leaves.items():
            lines.append(f"    {key}: {value}")
            paths.append([*paths[0], f"{name}:", f"{key}: {value}"])
        lines.append("    ports:")
        paths.append([*paths[0], f"{name}:", "ports:"])
        for item in items:
            lines.append(f"    - {item}")
            paths.append([*paths[0], f"{name}:", "ports:", f"- {item}"])
    records = _read(lines)
    assert [_path(records, n) for n in range(len(records))] == paths
    assert all(records[each.under].kind == "heading" for each in records if each.under >= 0)


@given(st.dictionaries(_KEY, _LEAVES, min_size=1, max_size=6), st.sampled_from([" = ", "="]))
def test_every_line_of_toml_and_ini_stands_under_its_own_section(tree: dict[str, dict[str, str]], sign: str) -> None:
    lines = [
        line
        for name, leaves in tree.items()
        for line in ["", f"[{name}]", *(f'{k}{sign}"{v}"' for k, v in leaves.items())]
    ]
    records = _read(lines[1:], _CONFIG)
    found = [(records[each.under].text, each.text) for each in records if each.kind == "field"]
    assert found == [(f"[{name}]", f'{k}{sign}"{v}"') for name, leaves in tree.items() for k, v in leaves.items()]


def test_a_list_of_maps_stands_under_the_first_line_of_each() -> None:
    records = _read(["- name: a", "  ip: 10.0.0.1", "- name: b", "  ip: 10.0.0.2"])
    assert [each.under for each in records] == [-1, 0, -1, 2]


def test_a_list_over_several_lines_stands_under_its_key() -> None:
    records = _read(["[project]", 'name = "x"', "deps = [", '  "a>=1",', '  "b",', "]", "", "[tool]", "n = 1"], _CONFIG)
    assert [each.under for each in records] == [-1, 0, 0, 2, 2, 2, -1, 6]


def test_a_list_that_never_closes_ends_at_the_next_key() -> None:
    records = _read(["[a]", "deps = [", '  "x",', "port = 3", "host = 4"], _CONFIG)
    assert [each.under for each in records] == [-1, 0, 1, 0, 0]


def test_the_lines_of_a_block_are_no_keys_and_its_marks_no_comments() -> None:
    records = _read(["name: x", "run: |", "  key: value", "  # echo", "kind: y"])
    assert [(each.under, each.worth) for each in records] == [(-1, 2.0), (-1, 1.0), (1, 1.0), (1, 1.0), (-1, 2.0)]


def test_front_matter_ends_where_its_page_begins() -> None:
    assert _YAML.claims(["---", "name: x", "description: Long. And wide.", "---", "# Title", "", "Text."], 0) == 4


def test_prose_code_logs_and_talk_are_no_settings() -> None:
    for text in (
        "Note: this is it.\nWarning: do not run.\nSee: the docs.\nSummary:\n- one",
        "- Base: one row\n- Kind: two rows\n- Mode: three",
        "name: str\nsize: int = 3\nkind: bool",
        "name: string;\nsize: number;\nkind: boolean;",
        "INFO: started\nINFO: done\nWARN: slow",
        "user: hello\nassistant: hi\nuser: how",
        "Author: A <a@b>\nDate:   Mon Jun 15\n\n    Message of the commit",
        "x = load(1)\ny = x.z\nreturn = y",
        "level=info msg=started id=3\nlevel=info msg=done id=4\nlevel=warn msg=slow id=5",
        "Usage:\n  tool [options] FILE\n\nOptions:\n  --name <x>  a name",
    ):
        assert _YAML.claims(text.split("\n"), 0) == 0, text
        assert _CONFIG.claims(text.split("\n"), 0) == 0, text
