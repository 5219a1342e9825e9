"""A bare JSON-RPC client on a server's pipes: no client library in the measured time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

OLD, NEW = "2025-11-25", "2026-07-28"
SERVER = (sys.executable, "-m", "palimpsest_mcp", "serve")
CLIENT = {"name": "bench", "version": "0"}
META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def timed(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


class StdioServer:
    """The server in one protocol era, from its start until `with` ends."""

    def __init__(
        self,
        home: Path,
        era: str = OLD,
        *,
        trace_imports: Path | None = None,
        options: Sequence[str] = (),
        server: Sequence[str] = SERVER,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        environment = {**environment, "PALIMPSEST_HOME": str(home)}
        if trace_imports is not None:
            environment["PYTHONPROFILEIMPORTTIME"] = "1"
        self._errors = trace_imports.open("wb") if trace_imports else None
        started = time.perf_counter()
        self._process = subprocess.Popen(
            (*server, *options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors or subprocess.DEVNULL,
            env=environment,
        )
        self._era = era
        self._ids = 0
        if era == OLD:
            self.first = self.call("initialize", protocolVersion=OLD, capabilities={}, clientInfo=CLIENT)
        else:
            self.first = self.call("server/discover")
        self.first_reply_s = time.perf_counter() - started
        if era == OLD:
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of one request; notifications in between are skipped.

        Raises:
            RuntimeError: the server answered with an error, or not at all.
        """
        self._ids += 1
        if self._era == NEW:
            params["_meta"] = META
        self._send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._ids:
                if "result" not in answer:
                    raise RuntimeError(f"{method}: {answer}")
                return answer["result"]
        raise RuntimeError(f"the server ended before it answered {method}")

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer of a tool, or its whole result where it has none."""
        result = self.call("tools/call", name=name, arguments=arguments)
        if result.get("isError"):
            raise RuntimeError(f"{name}: {result['content']}")
        return result.get("structuredContent") or result

    def memory_mb(self) -> float:
        """Resident now; Linux only, else 0."""
        try:
            lines = Path(f"/proc/{self._process.pid}/status").read_text("utf-8").splitlines()
        except OSError:
            return 0.0
        return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM"))

    def cpu_s(self) -> float:
        """Used so far; Linux only, else 0."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text("utf-8").rpartition(") ")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()
        if self._errors is not None:
            self._errors.close()
