"""How much redaction finds, how much it masks by mistake, and how fast it is.

    python benchmarks/redaction.py [FOLDER_OF_SESSIONS]

With `pip install detect-secrets kingfisher-bin` those two scan the same texts beside ours; neither is needed otherwise.

Quality is on the labelled sets of `tests/text/redaction`, which were written before the rules: a secret counts as found
only when no six characters of it are left; anything masked in a text without a secret is a mistake. Speed is in
processor time of one core, on texts as tools put them out: sources, the same inside JSON, logs, listings. It guards
against a rule that is tried on every text, and against time that grows faster than the text: every keyword of every
rule with three suffixes, ten times as long each time, and the worst of them at a megabyte.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import math
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "redaction"))

from key_material import SEEN_DRAWS, UNSEEN_DRAW, Forge
from labelled_hard_negatives import hard_negatives
from labelled_kinds import bare_keys, named_keys
from labelled_lookalikes import lookalikes
from labelled_negatives import negatives
from labelled_passwords import Password, passwords
from labelled_phrases import ABOUT_PASSWORDS, phrases
from labelled_positives import positives
from surviving import leaks, survives

from palimpsest_mcp.text.redaction.redactor import RuleRedactor, open_redactor
from palimpsest_mcp.text.redaction.rules import default_rules

HOSTILE = (
    "a",
    "password=",
    "password: ",
    "the password is ",
    "passwort lautet ",
    "パスワードは",
    "Mot de passe : «",
    "password=$",
    "mysql -pX ",
    "machine h login u password ",
    "-----BEGIN PRIVATE KEY-----\n",
    "sk-",
    "a@b.co ",
    "%3D",
    "://a:",
    "Cookie: a=b;",
    "\\",
    "token_count=",
    "a\u200bb",
    "\\u0067",
    "'a' + 'b' ",
    "=3D",
    "a\x1b[31m",
    "example",
)
SUFFIXES = ("", "1-", " x ")
CELL = 100
SMALL, LARGE, WORST = 10_000, 100_000, 1_000_000


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


def side_by_side(redactor: RuleRedactor, seed: int) -> Iterator[str]:
    """Keys of 2026 by three scanners: what is gone when everything that one finds is taken out, and what it takes by
    mistake."""
    bare, named, plain = list(bare_keys(seed)), list(named_keys(seed)), [n.text for n in lookalikes(seed)]
    texts = [key.text for key in (*bare, *named)] + plain
    for name, scan in (
        ("palimpsest", _ours(redactor)),
        ("detect-secrets", _detect_secrets),
        ("kingfisher", _kingfisher),
    ):
        started = time.perf_counter()
        try:
            left = scan(texts)
        except ScannerAbsent as reason:
            yield f"{name:15} skipped: {reason}"
            continue
        took = time.perf_counter() - started
        gone = [not leaks(key.secret, key.text, text) for key, text in zip((*bare, *named), left, strict=False)]
        wrong = sum(1 for text, now in zip(plain, left[len(bare) + len(named) :], strict=True) if now != text)
        yield (
            f"{name:15} bare {sum(gone[: len(bare)]) / len(bare):6.1%}, under a secret's name "
            f"{sum(gone[len(bare) :]) / len(named):6.1%}, lookalikes taken {wrong}/{len(plain)}, {took:.1f} s in all"
        )


class ScannerAbsent(Exception):
    """Why a scanner cannot be measured."""


def _ours(redactor: RuleRedactor) -> Callable[[Sequence[str]], list[str]]:
    return lambda texts: [redactor.redact(text).text for text in texts]


def _without(text: str, strings: Sequence[str]) -> str:
    for string in sorted(strings, key=len, reverse=True):
        text = text.replace(string, "*")
    return text


def _detect_secrets(texts: Sequence[str]) -> list[str]:
    if importlib.util.find_spec("detect_secrets") is None:
        raise ScannerAbsent("pip install detect-secrets")
    scan = importlib.import_module("detect_secrets.core.scan")
    settings = importlib.import_module("detect_secrets.settings")
    out: list[str] = []
    with tempfile.TemporaryDirectory() as folder, settings.default_settings():
        for text in texts:
            path = Path(folder) / "text.txt"
            path.write_text(text, "utf-8")
            found = [secret.secret_value for secret in scan.scan_file(str(path)) if secret.secret_value]
            out.append(_without(text, found))
    return out


def _kingfisher(texts: Sequence[str]) -> list[str]:
    program = shutil.which("kingfisher") or shutil.which("kingfisher", path=str(Path(sys.executable).parent))
    if program is None:
        raise ScannerAbsent("pip install kingfisher-bin")
    found: list[list[str]] = [[] for _ in texts]
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(texts):
            (Path(folder) / f"{number}.txt").write_text(text, "utf-8")
        options = ("--no-validate", "--no-update-check", "--confidence", "low", "--format", "jsonl", "--no-dedup")
        done = subprocess.run([program, "scan", folder, *options], capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith('{"rule"'):
            finding = json.loads(line)["finding"]
            found[int(Path(finding["path"]).stem)].append(finding["snippet"])
    return [_without(text, strings) for text, strings in zip(texts, found, strict=True)]


def counted_tokens() -> list[str]:
    """Logs of a service that counts tokens: each line holds names that only look like a secret's."""
    return [
        "\n".join(
            f"2026-11-20T08:12:{i % 60:02}Z INFO done model=m-4 token_count={i} ms={i * 7 % 900} input_tokens: {i}"
            for i in range(start, start + 3000)
        )
        for start in (0, 3000, 6000)
    ]


def under_attack(redactor: RuleRedactor, seed: int) -> Iterator[str]:
    """What the sets made for the attack of 2026 give: keys bare and named, passwords, lookalikes."""
    for name, keys in (("bare keys", list(bare_keys(seed))), ("named keys", list(named_keys(seed)))):
        missed = Counter(key.kind for key in keys if leaks(key.secret, key.text, redactor.redact(key.text).text))
        share = 1 - missed.total() / len(keys)
        yield f"draw {seed}: {name}: {share:.1%} of {len(keys)}, most missed {dict(missed.most_common(5))}"
    drawn = list(passwords(seed))
    leaked = _leaked(redactor, drawn)
    yield f"draw {seed}: passwords: {leaked.total()} of {len(drawn)} leak, {dict(leaked.most_common(5))}"
    drawn = list(phrases(seed))
    yield f"draw {seed}: phrases within sentences: {_leaked(redactor, drawn).total()} of {len(drawn)} leak"
    rows = lookalikes(seed)
    masked = Counter(n.kind for n in rows if redactor.redact(n.text).counts)
    yield f"draw {seed}: lookalikes: {masked.total()} of {len(rows)} masked, {dict(masked)}"


def _leaked(redactor: RuleRedactor, drawn: Sequence[Password]) -> Counter[tuple[str, str]]:
    return Counter((p.making, p.context) for p in drawn if leaks(p.secret, p.text, redactor.redact(p.text).text))


def by_cell(redactor: RuleRedactor, seed: int) -> Iterator[str]:
    """Passwords of every making in every format, so many that a share of one in a hundred shows in each."""
    drawn = list(passwords(seed, draws=CELL))
    cells, leaked = {(p.making, p.context) for p in drawn}, _leaked(redactor, drawn)
    over = {cell: n for cell, n in leaked.most_common() if n > 0.01 * CELL}
    yield (
        f"{leaked.total()} of {len(drawn)} leak; of {len(cells)} cells of {CELL} draws {len(over)} above one in 100, "
        f"by making {dict(Counter(making for making, _ in leaked.elements()).most_common())}"
    )
    yield f"the most: {dict(list(over.items())[:6])}"
    masked = sum(1 for sentence in ABOUT_PASSWORDS if redactor.redact(sentence).counts)
    yield f"sentences about passwords: {masked} of {len(ABOUT_PASSWORDS)} masked"


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


def growth(redactor: RuleRedactor) -> Iterator[str]:
    """By what power of its length the time grows for every keyword of every rule with every suffix."""
    words = sorted({word for rule in default_rules().rules for word in rule.keywords})
    rows = [
        (_seconds(redactor, piece, LARGE), _power(redactor, piece, LARGE), piece)
        for piece in (word + suffix for word in words for suffix in SUFFIXES)
    ]
    rows.sort(reverse=True)
    most = max((row[1] for row in rows if row[0] > 0.05), default=0.0)
    over = [piece for seconds, power, piece in rows if power > 1.1 and seconds > 0.05]
    still = [piece for piece in over if _power(redactor, piece, WORST) > 1.1]
    yield (
        f"{len(rows)} pieces: from {SMALL} to {LARGE} bytes {len(over)} above the power 1.1, at most {most:.2f}; "
        f"of those from {SMALL} to {WORST} bytes {len(still)}: {still}"
    )
    for _, _, piece in rows[:5]:
        seconds, tenth = _seconds(redactor, piece, WORST), _seconds(redactor, piece, LARGE)
        yield f"{piece!r:22} {seconds:5.2f} s for {WORST / 1e6:.0f} MB, {seconds / tenth:.1f} times that of a tenth"


def _power(redactor: RuleRedactor, piece: str, size: int) -> float:
    small = min(_seconds(redactor, piece, SMALL) for _ in range(3))
    return math.log(_seconds(redactor, piece, size) / small) / math.log(size / SMALL)


def _seconds(redactor: RuleRedactor, piece: str, size: int) -> float:
    text = piece * (size // len(piece) + 1)
    started = time.process_time()
    redactor.redact(text)
    return max(time.process_time() - started, 1e-4)


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

    for line in side_by_side(redactor, 20261122):
        print("keys of 2026:", line)
    print("logs that count tokens:", speed(redactor, counted_tokens()))

    for seed in (*SEEN_DRAWS, UNSEEN_DRAW):
        print("\n".join(under_attack(redactor, seed)))

    for line in by_cell(redactor, UNSEEN_DRAW + 1):
        print("passwords:", line)

    print("tool output:", speed(redactor, tool_output()))
    for line in hostile(redactor):
        print("hostile:", line)
    for line in growth(redactor):
        print("growth:", line)
    if len(sys.argv) > 1:
        texts = sessions(Path(sys.argv[1]))
        print("sessions:", speed(redactor, texts))
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(redactor.redact(text).counts)
        print("sessions, masked:", dict(counts))


if __name__ == "__main__":
    main()
