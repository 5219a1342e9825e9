"""Times, peak memory and tables: what every section of the benchmark uses."""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
BUILD = CHECKOUT / ".build" / "bench"
"""Where sessions that the benchmark makes are kept; not committed."""


class Skipped(Exception):
    """A section's input is missing; the message says which and how to get it."""


@dataclass(frozen=True)
class Run:
    """One process, from start to end."""

    seconds: float
    peak_mb: float
    output: str


def run_process(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> Run:
    """Run a command to its end.

    Raises:
        RuntimeError: it ended with another status than 0; with its own words.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env={**os.environ, **(environment or {})},
            cwd=CHECKOUT,
        )
        watching = _Peak(process.pid)
        # wait4 gives the peak of this very process; RUSAGE_CHILDREN would give the largest of all so far.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            raise RuntimeError(f"{command[:4]} ended with {process.returncode}: {errors.read()[-2000:].decode()}")
        scale = 1 if sys.platform == "darwin" else 1024
        return Run(seconds, watching.mb() or usage.ru_maxrss * scale / 1e6, output.read().decode())


class _Peak:
    """Watches the peak memory of a process on Linux, where what `wait4` says begins with the peak of its starter."""

    def __init__(self, pid: int) -> None:
        self._status = Path(f"/proc/{pid}/status")
        self._mb = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def mb(self) -> float:
        """The largest that was seen; 0 where nothing can be."""
        self._over.set()
        self._thread.join()
        return self._mb

    def _watch(self) -> None:
        while not self._over.wait(0.01):
            try:
                text = self._status.read_text("utf-8")
            except OSError:
                return
            found = next((line for line in text.splitlines() if line.startswith("VmHWM")), None)
            if found is None:
                continue  # it has ended, or has not begun
            self._mb = max(self._mb, int(found.split()[1]) * 1024 / 1e6)


# Figures that are compared with those of an earlier run: CPU in plain loops of the same run, so that a busy or a slower
# machine of the same kind says the same.

WORSE = 1.2
"""A figure that is this much higher than before is printed in red. Nothing fails: a reader decides."""
_FIGURES: dict[str, float] = {}


def plain_loop() -> float:
    """Seconds of CPU of a million additions: what a figure is divided by."""
    started = time.process_time()
    total = 0
    for number in range(1_000_000):
        total += number * number % 7
    return time.process_time() - started


def cpu_of(command: Sequence[str | Path]) -> float:
    """Seconds of CPU of a whole process, its start among them; its modules are compiled, as they are where it is
    installed.

    Raises:
        subprocess.CalledProcessError: it ended with another status than 0.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(BUILD / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(part) for part in command], check=True, capture_output=True, cwd=CHECKOUT, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def note_figure(name: str, ratio: float) -> None:
    """Keep one figure of this run."""
    _FIGURES[name] = ratio


def kind_of_machine() -> str:
    """What two runs must have in common to be compared."""
    python = ".".join(platform.python_version_tuple()[:2])
    return f"{platform.system()} {platform.machine()}, Python {python}, {os.cpu_count()} cores"


def worse(before: Mapping[str, float], now: Mapping[str, float]) -> list[str]:
    """A line for every figure that got a fifth worse, or more."""
    return [
        f"{name}: {ratio:.3g}, {ratio / before[name]:.2f} times what it was ({before[name]:.3g})"
        for name, ratio in now.items()
        if before.get(name) and ratio / before[name] >= WORSE
    ]


def compare_figures(file: Path) -> list[str]:
    """Compare with the figures of the same kind of machine, and write this run's in their place."""
    known: dict[str, dict[str, float]] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    before = known.get(kind_of_machine(), {})
    known[kind_of_machine()] = {**before, **{name: float(f"{ratio:.4g}") for name, ratio in _FIGURES.items()}}
    if _FIGURES:
        file.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", "utf-8")
    return worse(before, _FIGURES)


def spread(values: Iterable[float], digits: int = 2) -> str:
    """`min / median / max`."""
    found = sorted(values)
    return " / ".join(f"{value:.{digits}f}" for value in (found[0], statistics.median(found), found[-1]))


def quantile(values: Sequence[float], share: float) -> float:
    """The value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
