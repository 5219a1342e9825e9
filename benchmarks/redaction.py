"""How much redaction finds, how much it masks by mistake, and how fast it is.

    python benchmarks/redaction.py [FOLDER_OF_SESSIONS]

Quality is on the labelled sets of `tests/redaction`, which were written before the rules: a secret counts as found
only when no six characters of it are left; anything masked in a text without a secret is a mistake. Speed is in
processor time of one core, on texts as tools put them out: sources, the same inside JSON, logs, listings. It guards
against a rule that is tried on every text, and against time that grows faster than the text.
"""

from __future__ import annotations

import gzip
import json
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "redaction"))

from key_material import Forge
from labelled_hard_negatives import hard_negatives
from labelled_negatives import negatives
from labelled_positives import positives
from surviving import survives

from palimpsest_mcp.redaction import RuleRedactor, open_redactor

HOSTILE = (
    "a",
    "password=",
    "password: ",
    "-----BEGIN PRIVATE KEY-----\n",
    "sk-",
    "a@b.co ",
    "%3D",
    "://a:",
    "Cookie: a=b;",
    "\\",
)


def quality(redactor: RuleRedactor, seed: int) -> str:
    rows, without = positives(seed), negatives(seed)
    found = sum(1 for p in rows if not survives(p.secret, redactor.redact(p.text).text))
    wrong = sum(1 for n in without if redactor.redact(n.text).counts)
    hard = hard_negatives(seed)
    masked = sum(1 for n in hard if redactor.redact(n.text).counts)
    return (
        f"draw {seed}: recall {found}/{len(rows)} = {found / len(rows):.1%}, false {wrong}/{len(without)}, "
        f"precision {found / (found + wrong):.1%}, hard negatives masked {masked}/{len(hard)}"
    )


def tool_output() -> list[str]:
    """About eight megabytes of sources, JSON, logs and hexadecimal, in pieces of 1 to 60 kB."""
    forge, texts = Forge(1), list[str]()
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        text = path.read_text("utf-8", "replace")[:60_000]
        texts += [text, json.dumps({"path": str(path), "content": text[:20_000]})]
    for _ in range(60):
        texts.append(
            "\n".join(
                f"2026-11-20T08:12:{i % 60:02}Z INFO [{forge.hex(8)}] GET /v1/jobs/{forge.uuid()} {i}"
                for i in range(200)
            )
        )
        texts.append("\n".join(f"{forge.hex(40)} {i:6} src/module_{i}/test_file.py" for i in range(100)))
    return texts


def speed(redactor: RuleRedactor, texts: list[str]) -> str:
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    rates: list[float] = []
    for _ in range(3):
        started = time.process_time()
        for text in texts:
            redactor.redact(text)
        rates.append(size / (time.process_time() - started) / 1e6)
    return f"{size / 1e6:.1f} MB in {len(texts)} texts: {rates[0]:.0f} MB/s at first, {max(rates):.0f} MB/s warm"


def hostile(redactor: RuleRedactor) -> Iterator[str]:
    for piece in HOSTILE:
        times: list[float] = []
        for size in (1 << 18, 1 << 20):
            started = time.process_time()
            redactor.redact(piece * (size // len(piece)))
            times.append(time.process_time() - started)
        growth = times[1] / max(times[0], 1e-9)
        yield f"{piece[:16]!r:22} {times[1]:5.2f} s for 1 MiB, {growth:.1f} times that of a quarter"


def sessions(folder: Path) -> list[str]:
    texts: list[str] = []
    for source in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(source, "rt", encoding="utf-8") as lines:
            for line in lines:
                for message in json.loads(line)["messages"]:
                    texts += _texts(message["content"])
    return texts


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    blocks = cast("list[dict[str, Any]]", content or [])
    return [text for block in blocks for text in _texts(block.get("content") or block.get("text") or "")]


def main() -> None:
    redactor = open_redactor(b"k" * 32)
    print("\n".join(redactor.rules))
    for seed in (20261120, 1, 2, 3):
        print(quality(redactor, seed))
    print("tool output:", speed(redactor, tool_output()))
    for line in hostile(redactor):
        print("hostile:", line)
    if len(sys.argv) > 1:
        texts = sessions(Path(sys.argv[1]))
        print("sessions:", speed(redactor, texts))
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(redactor.redact(text).counts)
        print("sessions, masked:", dict(counts))


if __name__ == "__main__":
    main()
