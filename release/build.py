"""Builds everything that is published, the same bytes each time, into a folder.

    python release/build.py [--out dist] [--only whole|core|bundle|sbom]

`whole`: palimpsest-mcp, as pyproject.toml says. `core`: palimpsest-core, the same source with what a library needs.
`bundle`: the Claude Desktop bundle (.mcpb), which starts this version by uv. `sbom`: what the whole runs with, as
CycloneDX, from the pinned requirement file. SHA256SUMS names them all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
EPOCH = 1_700_000_000
"""The date of everything inside, unless SOURCE_DATE_EPOCH says another."""
ZIP_DATE = (2023, 11, 14, 22, 13, 20)
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def project() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))


def core_project() -> str:
    """The pyproject.toml of palimpsest-core: the whole's, with the dependencies that `tool.palimpsest-core` names."""
    whole = project()
    table, meant = whole["project"], whole["tool"]["palimpsest-core"]
    optional = table["optional-dependencies"]
    known = (*table["dependencies"], *optional["pii"], *optional["alembic"])
    specifiers = {_name(one): one for one in known}
    fields = {name: table[name] for name in ("version", "requires-python", "license", "keywords", "classifiers")}
    fields |= {"name": "palimpsest-core", "description": meant["description"], "readme": "README.md"}
    fields |= {"license-files": table["license-files"]}
    fields["dependencies"] = [specifiers[name] for name in meant["dependencies"]]
    extras = {name: [specifiers.get(one, one) for one in names] for name, names in meant["extras"].items()}
    parts = {
        "build-system": whole["build-system"],
        "project": fields,
        "project.optional-dependencies": extras,
        "project.urls": table["urls"],
        "tool.hatch.build.targets.wheel": whole["tool"]["hatch"]["build"]["targets"]["wheel"],
    }
    return "\n".join(f"[{head}]\n{_toml(part)}" for head, part in parts.items())


def _toml(table: dict[str, Any]) -> str:
    """Strings and lists of strings only, which JSON writes as TOML does."""
    return "".join(f"{json.dumps(key)} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items())


def _name(requirement: str) -> str:
    found = _NAME.match(requirement)
    assert found is not None
    return found[0]


CORE_README = """\
# palimpsest-core

The library of palimpsest-mcp without its server: old tool results become
checked digests, every original is kept, restore is exact. The same source and the same import, `palimpsest_mcp`, with
neither `mcp` nor `anthropic`, so that it fits beside agent frameworks that pin them. Install one of the two in an
environment, not both.

    from palimpsest_mcp import Palimpsest

    async with Palimpsest.open(home) as p:
        result = await p.compact_messages(messages, session_id="s1", window_tokens=200_000)

Extras: `cli` (the command line), `pii` (number plans and check digits for redaction), `anthropic` (digests and
summaries worded by a model), `tiktoken` (a second tokenizer that checks the first).
"""


def build_whole(out: Path) -> list[Path]:
    """The wheel and the source archive of palimpsest-mcp."""
    return _build(CHECKOUT, out)


def build_core(out: Path) -> list[Path]:
    """The wheel and the source archive of palimpsest-core."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        hidden = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(CHECKOUT / "src", tree / "src", ignore=hidden)
        shutil.copy(CHECKOUT / "LICENSE", tree)
        (tree / "README.md").write_text(CORE_README, "utf-8")
        (tree / "pyproject.toml").write_text(core_project(), "utf-8")
        return _build(tree, out)


def _build(tree: Path, out: Path) -> list[Path]:
    before = set(out.iterdir())
    environment = {"SOURCE_DATE_EPOCH": str(EPOCH), **os.environ}
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(tree)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stdout[-2_000:] + done.stderr[-2_000:])
    return sorted(set(out.iterdir()) - before)


def build_bundle(out: Path) -> list[Path]:
    """The .mcpb: a manifest and a small project that names this version, zipped with fixed dates and order."""
    table = project()["project"]
    manifest = json.loads((CHECKOUT / "release" / "manifest.json").read_text("utf-8"))
    manifest |= {"version": table["version"], "description": table["description"]}
    files = {
        "manifest.json": json.dumps(manifest, indent=2, ensure_ascii=False) + "\n",
        "pyproject.toml": _toml_of_bundle(table),
        "src/server.py": "from palimpsest_mcp.__main__ import main\n\nraise SystemExit(main(['serve']))\n",
        "LICENSE": (CHECKOUT / "LICENSE").read_text("utf-8"),
    }
    path = out / f"palimpsest-mcp-{table['version']}.mcpb"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, ZIP_DATE)
            entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
            archive.writestr(entry, files[name])
    return [path]


def _toml_of_bundle(table: dict[str, Any]) -> str:
    fields = {
        "name": "palimpsest-mcp-bundle",
        "version": table["version"],
        "requires-python": table["requires-python"],
        "dependencies": [f"{table['name']}=={table['version']}"],
    }
    return "[project]\n" + _toml(fields)


def build_sbom(out: Path) -> list[Path]:
    """CycloneDX 1.6 of what the whole is tested with."""
    table = project()["project"]
    pinned = re.findall(
        r"^([a-z0-9.-]+)==(\S+) \\\n((?:    --hash=sha256:\S+(?: \\)?\n)+)",
        (CHECKOUT / "requirements" / "runtime.txt").read_text("utf-8") + "\n",
        re.MULTILINE,
    )
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{version}",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name}@{version}",
            "externalReferences": [
                {
                    "type": "distribution",
                    "url": f"pkg:pypi/{name}@{version}",
                    "hashes": [{"alg": "SHA-256", "content": one} for one in re.findall(r"sha256:([0-9a-f]+)", hashes)],
                }
            ],
        }
        for name, version, hashes in pinned
    ]
    itself = f"pkg:pypi/{table['name']}@{table['version']}"
    said = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": itself,
                "name": table["name"],
                "version": table["version"],
                "purl": itself,
                "licenses": [{"license": {"id": table["license"]}}],
            }
        },
        "components": components,
        "dependencies": [{"ref": itself, "dependsOn": [one["bom-ref"] for one in components]}],
    }
    path = out / f"palimpsest-mcp-{table['version']}.cdx.json"
    path.write_text(json.dumps(said, indent=1) + "\n", "utf-8")
    return [path]


PARTS: dict[str, Callable[[Path], list[Path]]] = {
    "whole": build_whole,
    "core": build_core,
    "bundle": build_bundle,
    "sbom": build_sbom,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=CHECKOUT / "dist")
    parser.add_argument("--only", choices=PARTS)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    made = [path for name, build in PARTS.items() if given.only in (None, name) for path in build(given.out)]
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in sorted(given.out.iterdir())
            if path.name != "SHA256SUMS"]  # fmt: skip
    (given.out / "SHA256SUMS").write_text("\n".join(sums) + "\n", "utf-8")
    for path in made:
        print(f"{path.stat().st_size:>10,}  {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
