"""What is committed names no package registry, no machine's folders and no unpinned dependency."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
# Put together here, so that this file does not find itself.
REGISTRIES = ("pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "npmjs" + ".com", "deb.debian" + ".org")
MACHINE = ("/" + "work/main", "/" + "work/shared", "/opt/" + "pypi", "/root/" + ".pyenv")


def tracked() -> list[Path]:
    if shutil.which("git") is None:
        pytest.skip("git is not installed, so nobody knows which files are committed")
    done = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True)
    if done.returncode != 0:
        pytest.skip("not a git checkout, so nobody knows which files are committed")
    return [CHECKOUT / name for name in done.stdout.decode().split("\0") if name and (CHECKOUT / name).is_file()]


def test_no_committed_file_names_a_registry_or_a_folder_of_some_machine() -> None:
    for path in tracked():
        text = path.read_bytes().decode("utf-8", "replace")
        for word in (*REGISTRIES, *MACHINE):
            assert word not in text, f"{path.relative_to(CHECKOUT)} names {word}"


@pytest.mark.parametrize("name", ["runtime.txt", "dev.txt", "build.txt"])
def test_requirements_hold_versions_and_hashes_and_nothing_else(name: str) -> None:
    pinned = re.compile(r"[a-z0-9][a-z0-9._-]*==\S+( ; .+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?")
    for line in (CHECKOUT / "requirements" / name).read_text("utf-8").splitlines():
        assert not line or line.lstrip().startswith("#") or pinned.fullmatch(line), f"{name}: {line}"


def test_every_dependency_of_the_project_is_pinned() -> None:
    import tomllib

    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    for wanted, name in (
        (project["dependencies"], "runtime.txt"),
        (project["optional-dependencies"]["dev"], "dev.txt"),
    ):
        lines = (CHECKOUT / "requirements" / name).read_text("utf-8")
        for requirement in wanted:
            package = re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("_", "-").replace(".", "-")
            assert re.search(rf"^{re.escape(package)}==", lines, re.MULTILINE), f"{package} is not in {name}: make lock"
