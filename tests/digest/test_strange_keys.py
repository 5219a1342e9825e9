"""Keys and words that are values where they stand alone: the values beside them stay in view."""

from __future__ import annotations

import hashlib

from palimpsest_mcp.digest.print import mended
from palimpsest_mcp.digest.survey import survey
from palimpsest_mcp.digest.verify import check_part
from palimpsest_mcp.models.records import DigestLine, DigestSource
from palimpsest_mcp.text.specifics.registry import DefaultRegistry

from .conftest import Bench

KINDS = (
    "CertificateAuthorityPlan",
    "AnomalyDetectorRule",
    "ResourcePolicyName",
    "ApiGatewayAccount",
    "DocumentPartName",
)


def _sums() -> dict[str, str]:
    names = [f"AWS::Part{c}::{kind}{d}" for c in "KLMNOP" for kind in KINDS for d in ("One", "Two")]
    return {name: hashlib.sha256(name.encode()).hexdigest()[:16] for name in names}


def test_a_key_that_is_cut_out_of_a_name_is_none() -> None:
    text = '    "AWS::Part::CertificateAuthorityActivation": "db802fadcfc06c0d"\nserviceName=48213\nsize=51007'
    found = survey(DigestSource(item_id="a", kind="tool_result", text=text, tokens=9), DefaultRegistry())
    keys = {spec.text: key for spec, key in zip(found.specs, found.keys, strict=True)}
    assert keys["db802fadcfc06c0d"] == ""
    assert keys["48213"] == "serviceName"
    assert keys["51007"] == "size"


def test_values_under_names_do_not_leave_with_one_of_them(bench: Bench) -> None:
    sums = _sums()
    text = "\n".join(f'    "{name}": "{value}",' for name, value in sums.items())
    digest = bench.digest(text, share=0.7)
    shown = sum(value in digest.parts[0].text for value in sums.values())
    assert digest.mode == "digest"
    assert shown > len(sums) / 2


def test_of_a_ledger_line_that_breaks_a_rule_only_what_breaks_it_goes() -> None:
    text = "a one=6e62183 with 9fd1a0c\nlib of_DEFAULT_EXTERNALLY_MANAGED 1f2e3d4\nlib 48213 two=7d1e3f2"
    registry = DefaultRegistry()
    found = survey(DigestSource(item_id="a", kind="tool_result", text=text, tokens=9), registry)
    lines = [
        DigestLine("note", "[item 1]"),
        DigestLine("entry", "hash: one=6e62183 | two=9fd1a0c"),
        DigestLine("entry", " lib … 48213 … 7d1e3f2 48213"),
        DigestLine("entry", " EXTERNALLY … 1f2e3d4"),
        DigestLine("entry", "also: 6e62183 | 99999999"),
    ]
    mended_lines = mended(found, lines, check_part(found, lines, registry), registry)
    assert [line.text for line in mended_lines] == [
        "[item 1]",
        "hash: one=6e62183 | 9fd1a0c",
        " lib … 48213 … 7d1e3f2 48213",
        " 1f2e3d4",
        "also: 6e62183 | 99999999",
    ]
    assert list(check_part(found, mended_lines, registry).bad_lines) == [4]
