"""Manifest and container file say the same as the package, and keep to the rules of those who read them."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

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


def test_the_manifest_names_this_package_in_this_version() -> None:
    python, container = MANIFEST["packages"]
    assert (python["identifier"], python["version"]) == (PROJECT["name"], PROJECT["version"])
    assert MANIFEST["version"] == PROJECT["version"]
    assert container["identifier"].endswith(f"/{PROJECT['name']}:{PROJECT['version']}")
    assert "version" not in container, "the tag is the version"


def test_variables_in_the_manifest_are_settings() -> None:
    from palimpsest_mcp.settings.settings import Settings

    for variable in MANIFEST["packages"][0]["environmentVariables"]:
        assert variable["name"].removeprefix("PALIMPSEST_").lower() in Settings.model_fields


def test_readme_and_container_carry_the_name_that_proves_ownership() -> None:
    assert f"<!-- mcp-name: {MANIFEST['name']} -->" in (CHECKOUT / "README.md").read_text("utf-8")
    assert f'io.modelcontextprotocol.server.name="{MANIFEST["name"]}"' in DOCKERFILE


def test_the_container_runs_the_stdio_server_as_nobody_special_on_a_volume() -> None:
    last_stage = DOCKERFILE.split("\nFROM ")[-1]
    assert re.search(r"^USER 10001$", last_stage, re.MULTILINE)
    assert re.search(r"^VOLUME /data$", last_stage, re.MULTILINE)
    assert 'ENTRYPOINT ["palimpsest-mcp"]' in last_stage and "PALIMPSEST_HOME=/data" in last_stage
    assert last_stage.startswith("python:3.11-slim") and "://" not in DOCKERFILE


def test_what_the_container_copies_exists() -> None:
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE):
        for source in line.split()[:-1]:
            assert (CHECKOUT / source).exists(), source
