"""Manifest and container file say the same as the package, and keep to the rules of those who read them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
MANIFEST: dict[str, Any] = json.loads((CHECKOUT / "server.json").read_text("utf-8"))
DOCKERFILE = (CHECKOUT / "Dockerfile").read_text("utf-8")


def test_the_manifest_keeps_to_the_schema_of_2025_12_11() -> None:
    """The rules that bind us, from the schema it names: lengths, patterns, required fields."""
    assert MANIFEST["$schema"].endswith("/schemas/2025-12-11/server.schema.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", MANIFEST["name"]) and 3 <= len(MANIFEST["name"]) <= 200
    assert 1 <= len(MANIFEST["description"]) <= 100
    assert 1 <= len(MANIFEST["title"]) <= 100
    assert re.fullmatch(r"\d+\.\d+\.\d+", MANIFEST["version"]), "an exact version, no range"
    for package in MANIFEST["packages"]:
        assert package["registryType"] in {"pypi", "oci"}
        assert package["transport"] == {"type": "stdio"}
        assert package["identifier"]


def test_the_manifests_icon_is_in_this_checkout() -> None:
    [icon] = MANIFEST["icons"]
    page, _, place = icon["src"].partition("/main/")
    assert page == PROJECT["urls"]["Homepage"].replace("//github.com", "//raw.githubusercontent.com")
    assert ElementTree.parse(CHECKOUT / place).getroot().tag.endswith("}svg") and icon["mimeType"] == "image/svg+xml"


def test_what_a_release_publishes_is_built_once_and_attested() -> None:
    workflow = (CHECKOUT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    assert workflow.count("python release/build.py --out") == 1 and "attest-build-provenance" in workflow
    assert "password" not in workflow and "attestations: true" in workflow, "by trusted publishing, with no token kept"
    assert "gh release create" in workflow, "the bundle and the bill of materials are on no package index"
    used = re.findall(r"uses: (.+)", workflow)
    assert used and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", one) for one in used), "a tag can be moved"


def test_the_manifest_names_this_package_in_this_version() -> None:
    python, container = MANIFEST["packages"]
    assert (python["identifier"], python["version"]) == (PROJECT["name"], PROJECT["version"])
    assert MANIFEST["version"] == PROJECT["version"]
    assert container["identifier"].endswith(f"/{PROJECT['name']}:{PROJECT['version']}")
    assert "version" not in container, "the tag is the version"


def test_variables_in_the_manifest_are_settings() -> None:
    from palimpsest_mcp.settings.settings import NAMES

    for variable in MANIFEST["packages"][0]["environmentVariables"]:
        assert variable["name"].removeprefix("PALIMPSEST_").lower() in NAMES


def test_readme_and_container_carry_the_name_that_proves_ownership() -> None:
    assert f"<!-- mcp-name: {MANIFEST['name']} -->" in (CHECKOUT / "README.md").read_text("utf-8")
    assert f'io.modelcontextprotocol.server.name="{MANIFEST["name"]}"' in DOCKERFILE


def test_the_container_runs_the_stdio_server_as_nobody_special_on_a_volume() -> None:
    last_stage = DOCKERFILE.split("\nFROM ")[-1]
    assert re.search(r"^USER 10001$", last_stage, re.MULTILINE)
    assert re.search(r"^VOLUME /data$", last_stage, re.MULTILINE)
    assert 'ENTRYPOINT ["palimpsest-mcp"]' in last_stage and "PALIMPSEST_HOME=/data" in last_stage
    assert last_stage.startswith("${BASE}\n")
    assert re.search(r"^ARG BASE=python:3\.11-slim-bookworm@sha256:[0-9a-f]{64}$", DOCKERFILE, re.MULTILINE)
    addresses = re.findall(r"\S+://\S+", DOCKERFILE)
    assert all(f'"{PROJECT["urls"]["Homepage"]}' in one for one in addresses), "labels name the project, nothing else"
    assert f'org.opencontainers.image.version="{PROJECT["version"]}"' in last_stage


def test_what_the_container_copies_exists() -> None:
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE):
        for source in line.split()[:-1]:
            assert list(CHECKOUT.glob(source)), source


def test_every_manifest_names_the_projects_own_page() -> None:
    bundle = json.loads((CHECKOUT / "release" / "manifest.json").read_text("utf-8"))
    homepage = PROJECT["urls"]["Homepage"]
    assert MANIFEST["repository"] == {"url": homepage, "source": "github"} and MANIFEST["websiteUrl"] == homepage
    assert bundle["repository"]["url"] == homepage and bundle["name"] == PROJECT["name"]
    variables = bundle["server"]["mcp_config"]["env"]
    assert set(bundle["user_config"]) == {value[len("${user_config.") : -1] for value in variables.values()}


@pytest.mark.long
def test_the_library_alone_asks_for_less_and_what_is_published_is_the_same_each_time(tmp_path: Path) -> None:
    """The wheels, the Claude Desktop bundle and the bill of materials, built twice."""
    sums: list[str] = []
    for number in "12":
        out = tmp_path / number
        command = [sys.executable, str(CHECKOUT / "release" / "build.py"), "--out", str(out)]
        subprocess.run(command, check=True, capture_output=True)
        sums.append((out / "SHA256SUMS").read_text("utf-8"))
    assert sums[0] == sums[1] and len(sums[0].splitlines()) == 6
    wheel = next((tmp_path / "1").glob("palimpsest_core-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        said = archive.read(next(name for name in archive.namelist() if name.endswith("METADATA"))).decode()
    asked = re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", said, re.MULTILINE)
    assert asked and not {"mcp", "anthropic", "tiktoken", "click", "rich"} & set(asked), asked
    bill = json.loads(next((tmp_path / "1").glob("*.cdx.json")).read_text("utf-8"))
    pinned = re.findall(r"^[a-z0-9.-]+==", (CHECKOUT / "requirements" / "runtime.txt").read_text("utf-8"), re.MULTILINE)
    assert len(bill["components"]) == len(pinned) and all(one["externalReferences"] for one in bill["components"])
