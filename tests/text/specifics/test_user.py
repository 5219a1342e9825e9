"""Classes that users add: RE2 patterns, one line at a time."""

from __future__ import annotations

import pytest

from palimpsest_mcp.text.specifics.registry import BadUserClass, DefaultRegistry, UserClass


def registry(**pattern: str) -> DefaultRegistry:
    return DefaultRegistry([UserClass(name=name, pattern=text) for name, text in pattern.items()])


def test_a_users_class_is_found_listed_and_changes_the_version() -> None:
    mine = registry(gene=r"BRCA[12]")
    assert mine.set_of("found BRCA1 and HAT069") == {("gene", "BRCA1"), ("id", "HAT069")}
    assert mine.classes[0].name == "gene"
    assert mine.version != DefaultRegistry().version != registry(gene=r"BRCA[123]").version


def test_the_longest_wins_between_a_users_class_and_ours() -> None:
    assert registry(place=r"[A-Z][a-z]+ \d{5}").set_of("in Berlin 10115 now") == {("place", "Berlin 10115")}
    assert registry(digits=r"\d+").set_of("at 10.0.0.7:5432") == {("host", "10.0.0.7:5432")}
    assert registry(digits=r"\d+").set_of("at 48213") == {("digits", "48213")}


def test_a_pattern_never_crosses_a_line_and_anchors_are_the_lines() -> None:
    mine = registry(head=r"^[a-z]+\s+[a-z]+$")
    text = "one two\nthree\nfour\nfive six"
    assert mine.set_of(text) == {("head", "one two"), ("head", "five six")}
    assert mine.set_of(text) == {found for line in text.split("\n") for found in mine.set_of(line)}


def test_offsets_are_characters_whatever_the_script() -> None:
    span = next(s for s in registry(gene=r"BRCA[12]").spans("日本 é \U0001f600 BRCA2") if s.cls == "gene")
    assert span.text == "BRCA2"


def test_a_pattern_that_would_backtrack_elsewhere_is_quick_here() -> None:
    assert registry(slow=r"(a+)+b").set_of("a" * 100_000) == set()


@pytest.mark.parametrize(
    ("name", "pattern", "told"),
    [
        ("x", "(", "RE2 refuses"),
        ("x", r"(?=a)b", "RE2 refuses"),
        ("x", r"(a)\1", "RE2 refuses"),
        ("Bad Name", "a", "a name is"),
        ("url", "a", "built in"),
    ],
)
def test_a_class_that_cannot_be_used_is_refused_with_its_name_and_the_reason(
    name: str, pattern: str, told: str
) -> None:
    with pytest.raises(BadUserClass, match=told) as caught:
        DefaultRegistry([UserClass(name=name, pattern=pattern)])
    assert caught.value.name == name


def test_two_classes_of_one_name_and_a_weight_out_of_range_are_refused() -> None:
    with pytest.raises(BadUserClass, match="twice"):
        DefaultRegistry([UserClass(name="a", pattern="x"), UserClass(name="a", pattern="y")])
    with pytest.raises(BadUserClass, match="weight"):
        DefaultRegistry([UserClass(name="a", pattern="x", weight=9)])
