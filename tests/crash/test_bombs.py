"""Small files that unfold to a gigabyte, each read in a process of its own: a foreseen error, and memory within twice
the cap.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from palimpsest_mcp.hosts.json_bytes import MAX_BYTES

from ..conftest import first_of
from .conftest import LONG, Tell

pytestmark = [pytest.mark.crash, pytest.mark.slow]
resource = pytest.importorskip("resource", reason="needs getrusage")
MEBI = 1 << 20
BOMBS: dict[str, tuple[bytes, bytes, int, bytes, str]] = {
    "blanks": (b"", b" " * MEBI, 1_100, b"", "file_not_json"),
    "objects": (b"[", b'{"a":1},' * (MEBI >> 3), 45, b"0]", "file_wrong_shape"),
    "one text": (b'[{"role":"user","content":"', b"a" * MEBI, 1_000, b'"}]', "file_wrong_shape"),
    "too much text": (b'[{"role":"user","content":"', b"a" * MEBI, 3_000, b'"}]', "file_not_json"),
    "one line of 200 MB": (b'[{"role":"user","content":"', b"word " * 200_000, 200, b'"}]', "file_wrong_shape"),
    "numbers": (b"[", b"0," * (MEBI >> 1), 1_000, b"0]", "file_wrong_shape"),
    "empty lists": (b"[", b"[]," * (MEBI >> 2), 1_000, b"0]", "file_wrong_shape"),
    "short texts": (b"[", b'"ab",' * (MEBI >> 3), 91, b"0]", "file_wrong_shape"),
    "lines": (b"", b'{"type":"user"}\n' * (MEBI >> 4), 1_000, b"", "file_wrong_shape"),
    "messages": (b"[", b'{"role":"user","content":"x"},' * (MEBI >> 5), 1_000, b"0]", "file_wrong_shape"),
    "nested a million deep": (b"[" * MEBI, b"", 0, b"]" * MEBI, "file_wrong_shape"),
}
"""How a file begins, what is in it how often, how it ends, and the error that it gives."""
READ = """
import asyncio, json, resource, sys
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import PalimpsestError

async def main(home, path):
    said = []
    async with Palimpsest.open(home) as p:
        for read in (lambda: p.compact_file(path, force=True), lambda: p.import_sessions(path)):
            try:
                await read()
                said.append("ok")
            except PalimpsestError as error:
                said.append(error.code)
    print(json.dumps([said, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("name", BOMBS if LONG else first_of(["nested a million deep", "objects", "blanks"]))
def test_what_unfolds_to_a_gigabyte_is_refused_within_twice_the_cap(name: str, tmp_path: Path, tell: Tell) -> None:
    head, unit, times, tail, code = BOMBS[name]
    path = tmp_path / "bomb.gz"
    # A gzip file may have several members, which read as one text: so the unit is packed only once.
    packed_head, packed_unit, packed_tail = (gzip.compress(one, 9) for one in (head, unit, tail))
    with path.open("wb") as file:
        file.write(packed_head)
        file.writelines([packed_unit] * times)
        file.write(packed_tail)
    command = [sys.executable, "-c", READ, str(tmp_path / "home"), str(path)]
    said, peak = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    peak *= 1 if sys.platform == "darwin" else 1024
    assert said == [code, "exchange_refused"]
    assert peak <= 2 * MAX_BYTES, f"{peak:,} bytes for a file of {path.stat().st_size:,}"
    tell(f"bomb of {name}", MB_packed=round(path.stat().st_size / 1e6, 1), peak_MB=peak // 1_000_000)
