"""Runs the shared peers' harness with our adapter beside whichever peers are installed."""

from __future__ import annotations

import base64
import hashlib
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

from measuring import BUILD, CHECKOUT, Skipped
from real_sessions import shared_folder

ADAPTER = CHECKOUT / "benchmarks" / "peers" / "a_palimpsest.py"
TARGETS = ("0.4", "0.3", "0.2")
SIZES = {"100k": 100_000, "1000k": 1_000_000}
FIRST_ROW = "PEERS = {\n"


def peers(repeats: int) -> str:
    """Speed, memory, share of specifics that survive, and exact restore in a fresh process; made sessions, no model."""
    source = shared_folder() / "peers"
    if not source.is_dir():
        raise Skipped("the shared folder has no peers' harness")
    work = BUILD / "peers"
    harness = prepared_harness(source, work)
    make_sessions(harness, work)
    venvs = work / "venvs"
    link_venvs(venvs)
    environment = {**os.environ, "TIKTOKEN_CACHE_DIR": str(vocabulary_cache(work)), "HOME": str(work / "home")}
    (work / "home").mkdir(exist_ok=True)
    runnable, missing = split_rows(harness, venvs)
    done = subprocess.run(
        [
            sys.executable, harness / "run_all.py", "--work", work, "--peers", venvs, "--scorer", "ours",
            "--sessions", ",".join([*SIZES, "rows"]), "--reps", str(min(3, repeats)),
            "--only", ",".join(runnable),
        ],
        env=environment, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    note = f"\n\nNot installed, so not run: {', '.join(missing)} (PEERS names their folder)." if missing else ""
    return (work / "results" / "table.md").read_text("utf-8").strip() + note


def prepared_harness(source: Path, work: Path) -> Path:
    """A copy of the harness with our adapter in it; the shared one is not ours to change."""
    harness = work / "harness"
    shutil.rmtree(harness, ignore_errors=True)
    harness.mkdir(parents=True)
    (harness / "adapters").mkdir()
    for file in source.rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts:
            shutil.copyfile(file, harness / file.relative_to(source))
    shutil.copyfile(ADAPTER, harness / "adapters" / ADAPTER.name)
    load = "from palimpsest_mcp.app import Palimpsest"
    rows = "".join(
        f'    "palimpsest-{target}": ("ours", "a_palimpsest", ["target={target}"], "{load}"),\n' for target in TARGETS
    )
    script = harness / "run_all.py"
    text = script.read_text("utf-8")
    if text.count(FIRST_ROW) != 1:
        raise Skipped("the peers' harness has another shape than this benchmark knows")
    script.write_text(text.replace(FIRST_ROW, FIRST_ROW + rows), encoding="utf-8")
    return harness


def split_rows(harness: Path, venvs: Path) -> tuple[list[str], list[str]]:
    """Names of the harness's rows that can run here, and of those that cannot.

    A row without an environment of its own drives a program from npm; those come with the folder that PEERS names.
    """
    rows: dict[str, tuple[str | None, str, list[str], str | None]] = runpy.run_path(str(harness / "run_all.py"))[
        "PEERS"
    ]
    installed = {
        name: "PEERS" in os.environ if row[0] is None else (venvs / row[0]).exists() for name, row in rows.items()
    }
    return [name for name, there in installed.items() if there], [
        name for name, there in installed.items() if not there
    ]


def make_sessions(harness: Path, work: Path) -> None:
    """Sessions of 100k and a million tokens out of this machine's own tool outputs, and one of uniform rows; once."""
    if not (work / "raw" / "raw.json").exists():
        run_script(harness / "collect_raw.py", "--work", work)
    for name, tokens in SIZES.items():
        if not (target := work / f"session_{name}.json").exists():
            run_script(harness / "make_session.py", "--work", work, "--tokens", tokens, "--out", target)
    if not (target := work / "session_rows.json").exists():
        run_script(harness / "make_rows_session.py", "--out", target)


def run_script(script: Path, *arguments: object) -> None:
    command = [sys.executable, str(script), *map(str, arguments)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        raise RuntimeError(f"{script.name}: {done.stderr[-1000:]}")


def link_venvs(folder: Path) -> None:
    """Our own environment as `ours`, and those that PEERS holds."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {"ours": Path(sys.prefix)}
    if installed := os.environ.get("PEERS"):
        found |= {path.name: path for path in Path(installed).expanduser().iterdir() if (path / "bin/python").exists()}
    for name, target in found.items():
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(target)


def vocabulary_cache(work: Path) -> Path:
    """A cache folder in which the scorer's tiktoken finds the vocabulary, so that it needs no network."""
    from palimpsest_mcp.tokens.vocabulary import URL, load_vocabulary

    folder = work / "tiktoken"
    path = folder / hashlib.sha1(URL.encode()).hexdigest()
    encoding = load_vocabulary().encoding
    if encoding is not None and not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        tokens = sorted(encoding.token_byte_values(), key=encoding.encode_single_token)
        lines = (base64.b64encode(token) + b" %d\n" % encoding.encode_single_token(token) for token in tokens)
        path.write_bytes(b"".join(lines))
    return folder
