"""Runs the shared peers' harness with our adapter beside whichever peers are installed.

PEERS names the folder that the harness's `setup.sh` filled: an environment for each Python peer, and folders for npm's.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import runpy
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from measuring import BUILD, CHECKOUT, Skipped
from own_sessions import make_own_sessions
from real_sessions import shared_folder

ADAPTER = CHECKOUT / "benchmarks" / "peers" / "a_palimpsest.py"
TARGETS = ("0.4", "0.3", "0.2")
SIZES = {"100k": 100_000, "1000k": 1_000_000}
SECOND = "100k23"
"""A second session of 100k, by the seed 23 of the peers' report: how much one draw says."""
FIRST_ROW = "PEERS = {\n"


Row = tuple[str | None, str, list[str], str | None]
"""Of the harness's table: environment or None, adapter, options, import that is timed."""
WORK = BUILD / "peers"


@dataclass(frozen=True)
class Output:
    """What one peer made of one session."""

    version: str
    messages: list[dict[str, Any]]
    seconds: float
    """In the call."""
    peak_mb: float


def peers(repeats: int) -> str:
    """Speed, memory, share of specifics that survive, and exact restore in a fresh process; made sessions, no model."""
    if not (shared_folder() / "peers").is_dir():
        raise Skipped("the shared folder has no peers' harness")
    made_sessions()
    harness, venvs = WORK / "harness", environments()
    runnable, missing = split_rows(harness, venvs)
    done = subprocess.run(
        [
            sys.executable, harness / "run_all.py", "--work", WORK, "--peers", venvs, "--scorer", "ours",
            "--sessions", ",".join([*SIZES, "rows"]), "--reps", str(min(3, repeats)),
            "--only", ",".join(runnable),
        ],
        env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    note = "".join(f"\n- {name}: {why}" for name, why in missing.items())
    return (WORK / "results" / "table.md").read_text("utf-8").strip() + (f"\n\nNot run:\n{note}" if note else "")


@cache
def made_sessions() -> Path:
    """The folder of the made sessions: by the peers' own scripts where the shared folder has these, else by ours."""
    try:
        source = shared_folder() / "peers"
    except Skipped:
        return make_own_sessions()
    if not source.is_dir():
        return make_own_sessions()
    make_sessions(prepared_harness(source, WORK), WORK)
    return WORK


def environments() -> Path:
    """A folder with a link to each peer's environment, and to ours."""
    link_venvs(WORK / "venvs")
    (WORK / "home").mkdir(exist_ok=True)
    return WORK / "venvs"


def _environment() -> dict[str, str]:
    """Without network for the scorer's vocabulary, with a home of its own, and with the folders of the npm peers."""
    found = {**os.environ, "TIKTOKEN_CACHE_DIR": str(vocabulary_cache(WORK)), "HOME": str(WORK / "home")}
    if root := os.environ.get("PEERS"):
        place = Path(root).expanduser()
        node = place / "npm" / "node_modules" / ".bin"
        known = {
            "PEERS_NODE": node / "node",
            "PEERS_CM": place / "cm",
            "PEERS_LCM": place / "lcm",
            "PEERS_HEADROOM_BIN": place / "hr2" / "bin" / "headroom",
        }
        found |= {name: str(path) for name, path in known.items() if name not in found and path.exists()}
        found["PATH"] = f"{node}{os.pathsep}{found['PATH']}"
    return found


def peer_rows() -> tuple[dict[str, Row], dict[str, str]]:
    """(peers that can run here, without our own rows; those that cannot, and why)."""
    made_sessions()
    harness = WORK / "harness"
    runnable, missing = split_rows(harness, environments())
    rows = _rows(harness)
    return {name: rows[name] for name in runnable if rows[name][0] != "ours"}, missing


def output(row: Row, session: Path, limit_s: float = 120.0) -> Output:
    """One peer's compacted list of a session, made once and kept until `make clean`: the same comes out every time.

    Raises:
        Skipped: it failed or took longer; with its last words.
    """
    environment, adapter, options, _ = row
    script = WORK / "harness" / "adapters" / f"{adapter}.py"
    root = os.environ.get("PEERS", "")
    told = json.dumps([environment, options, root]).encode() + script.read_bytes() + session.read_bytes()
    kept = WORK / "side" / hashlib.sha256(told).hexdigest()
    if not kept.with_suffix(".timing").exists():
        kept.parent.mkdir(exist_ok=True)
        _compress(environment, script, options, session, kept, limit_s)
    timing = json.loads(kept.with_suffix(".timing").read_bytes())
    messages = json.loads(kept.with_suffix(".out").read_bytes())["messages"]
    return Output(str(timing["version"]), messages, float(timing["compress_s"]), float(timing["rss_mb"]))


def _compress(
    environment: str | None, script: Path, options: list[str], session: Path, kept: Path, limit_s: float
) -> None:
    python = WORK / "venvs" / environment / "bin" / "python" if environment else Path(sys.executable)
    store, timing = kept.with_suffix(".store"), kept.with_suffix(".timing.new")
    shutil.rmtree(store, ignore_errors=True)
    command = [python, script, "compress", "--in", session, "--out", kept.with_suffix(".out")]
    command += ["--timing", timing, "--store", store, *(["--set", *options] if options else [])]
    try:
        done = subprocess.run(
            command, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s, cwd=WORK
        )
    except subprocess.TimeoutExpired:
        raise Skipped(f"not done within {limit_s:.0f} s") from None
    finally:
        shutil.rmtree(store, ignore_errors=True)
    if done.returncode != 0:
        raise Skipped(f"failed: {done.stderr.decode(errors='replace').strip()[-120:]}")
    timing.rename(kept.with_suffix(".timing"))


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
    load = "from palimpsest_mcp.core.palimpsest import Palimpsest"
    rows = "".join(
        f'    "palimpsest-{target}": ("ours", "a_palimpsest", ["target={target}"], "{load}"),\n' for target in TARGETS
    )
    script = harness / "run_all.py"
    text = script.read_text("utf-8")
    if text.count(FIRST_ROW) != 1:
        raise Skipped("the peers' harness has another shape than this benchmark knows")
    script.write_text(text.replace(FIRST_ROW, FIRST_ROW + rows), encoding="utf-8")
    return harness


def _rows(harness: Path) -> dict[str, Row]:
    return runpy.run_path(str(harness / "run_all.py"))["PEERS"]


_NEEDS = {"a_headroom_mcp": "hr2/bin/headroom", "a_contextmode": "cm/node_modules", "a_lcm": "lcm/node_modules"}
"""Adapters without an environment of their own -> what they drive, below PEERS."""


def split_rows(harness: Path, venvs: Path) -> tuple[list[str], dict[str, str]]:
    """Names of the harness's rows that can run here, and why the others cannot."""
    root = Path(os.environ["PEERS"]).expanduser() if "PEERS" in os.environ else None
    runnable: list[str] = []
    missing: dict[str, str] = {}
    for name, (environment, adapter, _, _) in _rows(harness).items():
        if environment == "ours":
            runnable.append(name)
        elif root is None:
            missing[name] = "PEERS names no folder with installed peers"
        elif environment is None and not (root / _NEEDS[adapter]).exists():
            missing[name] = f"PEERS has no {_NEEDS[adapter]}"
        elif environment is not None and not (venvs / environment).exists():
            missing[name] = f"PEERS has no environment {environment}"
        else:
            runnable.append(name)
    return runnable, missing


def make_sessions(harness: Path, work: Path) -> None:
    """Sessions of 100k and a million tokens out of this machine's own tool outputs, and one of uniform rows; once."""
    if not (work / "raw" / "raw.json").exists():
        run_script(harness / "collect_raw.py", "--work", work)
    for name, tokens in SIZES.items():
        if not (target := work / f"session_{name}.json").exists():
            run_script(harness / "make_session.py", "--work", work, "--tokens", tokens, "--out", target)
    if not (target := work / f"session_{SECOND}.json").exists():
        run_script(harness / "make_session.py", "--work", work, "--tokens", 100_000, "--seed", 23, "--out", target)
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
    from palimpsest_mcp.text.tokens.count import URL, by_tiktoken

    folder = work / "tiktoken"
    path = folder / hashlib.sha1(URL.encode()).hexdigest()
    encoding = by_tiktoken()[0]
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        tokens = sorted(encoding.token_byte_values(), key=encoding.encode_single_token)
        lines = (base64.b64encode(token) + b" %d\n" % encoding.encode_single_token(token) for token in tokens)
        path.write_bytes(b"".join(lines))
    return folder
