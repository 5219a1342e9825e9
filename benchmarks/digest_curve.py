"""The curve of the digest alone: how many specifics stay in view at each saving, scored by code of its own.

    python benchmarks/digest_curve.py SESSION.json [--share 0.1 0.2 0.3] [--saved 70 80 90] [--by-need] [--show N]

A session file holds `{"messages": [...]}` in Anthropic form; beside it, `SESSION.truth.json` may name planted strings.
All tool results but the newest three are digested in order, three a batch, each batch knowing what earlier digests
show. `--share` gives every batch that share of its tokens, `--saved` looks for the share that saves so many per cent of
the session; with `--by-need` the same total is shared out by what each batch holds.

The slowness it guards against: reading or counting anything twice. A million tokens must take about two seconds.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from palimpsest_mcp.digest.shares import need_of_spans, share_out
from palimpsest_mcp.digest.engine import ExtractiveDigester
from palimpsest_mcp.errors import DigestRefused
from palimpsest_mcp.models.items import Action, Specific
from palimpsest_mcp.models.records import Digest, DigestRequest, DigestSource, Visible
from palimpsest_mcp.text.specifics.registry import DefaultRegistry
from palimpsest_mcp.text.tokens.count import open_counter

KEPT = 3
BATCH = 3
SMALL = 200
"""Results below this many tokens are left alone, as the policy leaves them."""

# What is scored, written for this file: it shares nothing with the registry.
NATURAL = {
    "url": re.compile(r"https?://[^\s\"'<>()\[\]{}|\\^`]{6,}"),
    "uuid": re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"),
    "date": re.compile(r"\b20\d\d-[01]\d-[0-3]\d(?:[T ][0-2]\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z| ?[+-]\d\d:?\d\d)?)?"),
    "ip": re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5})?(?![\d.])"),
    "version": re.compile(r"(?<![\w.])v?\d+\.\d+\.\d+(?:[-+.]?(?:rc|a|b|post|dev|alpha|beta)[.\d]*\d)?(?![\w.])"),
    "hex": re.compile(r"(?<![0-9A-Za-z])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}(?![0-9A-Za-z])"),
    "file:line": re.compile(r"(?<![\w/])[\w./-]*[\w-]\.(?:py|pyi|ts|tsx|js|rs|go|md|json|toml|c|h):\d+"),
    "code": re.compile(r"\b(?:ERR_[A-Z0-9_]{2,}|E[A-Z]{4,}|CVE-\d{4}-\d{4,}|[A-Z]{2,6}-\d{3,})\b"),
    "integer": re.compile(r"(?<![\w.,-])\d{5,12}(?![\w.,-])"),
}
_WORD = re.compile(r"[A-Za-z]{3,}")
_KEY = re.compile(r"([A-Za-z_][\w.-]*)[\"']?\s*[:=]\s*[\"']?$")


@dataclass
class Result:
    """One tool result of the session."""

    id: str
    name: str
    target: str
    text: str
    tokens: int


Digested: TypeAlias = list[tuple[list[Result], Digest | None]]
"""Batches with their digests; None where none was smaller."""


@dataclass
class Score:
    """One point of the curve; shares in per cent."""

    share: float
    saved: float
    seconds: float
    planted: dict[str, float] = field(default_factory=dict[str, float])
    natural: float = 0.0
    macro: float = 0.0
    per_class: dict[str, str] = field(default_factory=dict[str, str])
    context: float = 0.0
    cut: int = 0
    invented: int = 0
    shown: float = 0.0
    in_view: float = 0.0
    pointers: int = 0
    failed: int = 0

    def __str__(self) -> str:
        planted = "/".join(f"{self.planted[group]:.1f}" for group in ("all", "salient", "plain"))
        return (
            f"share {self.share:.3f}  saved {self.saved:.1f}  planted {planted}  natural {self.natural:.1f} "
            f"(macro {self.macro:.1f})  in context {self.context:.1f}  cut {self.cut}  invented {self.invented}  "
            f"own count: shown {self.shown:.1f}, in view {self.in_view:.1f}  pointers {self.pointers}  "
            f"failed {self.failed}  {self.seconds:.2f} s  {self.per_class}"
        )


def found(text: str) -> dict[str, set[str]]:
    """Scored specifics of a text by class."""
    return {name: {m.group().rstrip(".,;:!?*_") for m in rx.finditer(text)} for name, rx in NATURAL.items()}


def stands(text: str, value: str) -> bool:
    """Whether a value stands in a text, not as part of a longer word or number."""
    at = text.find(value)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(value) : at + len(value) + 1]
        if not (before.isalnum() and value[0].isalnum()) and not (after.isalnum() and value[-1].isalnum()):
            return True
        at = text.find(value, at + 1)
    return False


def blocks_of(messages: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Content blocks in order; a plain string counts as a text block."""
    for message in messages:
        content = message["content"]
        yield from [{"type": "text", "text": content}] if isinstance(content, str) else content


class Bench:
    """A session with what is scored in it."""

    def __init__(self, path: Path) -> None:
        self.counter = open_counter("gpt-5")
        self.results: list[Result] = []
        rest: list[str] = []
        calls: dict[str, tuple[str, str]] = {}
        for block in blocks_of(json.loads(path.read_text(encoding="utf-8"))["messages"]):
            if block["type"] == "tool_use":
                target = next((str(v) for v in block["input"].values() if isinstance(v, str)), "")
                calls[block["id"]] = (block["name"], target)
                rest.append(json.dumps(block["input"], ensure_ascii=False))
            elif block["type"] == "tool_result":
                inner = block.get("content") or ""
                text = inner if isinstance(inner, str) else "\n".join(str(b.get("text", "")) for b in inner)
                name, target = calls.get(block["tool_use_id"], ("tool", ""))
                self.results.append(Result(block["tool_use_id"], name, target, text, self.counter.count(text)))
            else:
                rest.append(str(block.get("text", "")))
        self.rest_tokens = sum(map(self.counter.count, rest))
        self.total = self.rest_tokens + sum(r.tokens for r in self.results)
        self.old = self.results[:-KEPT]
        truth = path.with_name(path.name.replace(".json", ".truth.json"))
        needles: list[dict[str, Any]] = (
            json.loads(truth.read_text(encoding="utf-8"))["needles"] if truth.exists() else []
        )
        old_ids = {result.id for result in self.old}
        self.needles: list[dict[str, Any]] = [n for n in needles if n["tool_use_id"] in old_ids]
        outside = found("\n".join([*rest, *(r.text for r in self.results[-KEPT:])]))
        inside = found("\n".join(r.text for r in self.old))
        self.source = {name: inside[name] | outside[name] for name in NATURAL}
        self.natural = {name: sorted(values - outside[name]) for name, values in inside.items()}

    def run(self, share: float, *, by_need: bool = False) -> tuple[Score, Digested]:
        """Digest everything old at one share of its tokens, and score what is left in the context."""
        started = time.process_time()
        large = [r for r in self.old if r.tokens >= SMALL]
        batches = [large[at : at + BATCH] for at in range(0, len(large), BATCH)]
        registry = DefaultRegistry()
        digester = ExtractiveDigester(registry, self.counter)
        holders: dict[Specific, str] = {}
        done: Digested = []
        budgets = self._budgets(batches, registry, share) if by_need else [int(share * _size(b)) for b in batches]
        for number, (batch, budget) in enumerate(zip(batches, budgets, strict=True), 1):
            digest = self._digest(digester, batch, budget, f"offload_{number:04d}", holders)
            for shown in digest.shown if digest else ():
                for spec in shown:
                    holders.setdefault(spec, f"offload_{number:04d}")
            done.append((batch, digest))
        seconds = time.process_time() - started
        return self._scored(share, seconds, done), done

    def _budgets(self, batches: Sequence[list[Result]], registry: DefaultRegistry, share: float) -> list[int]:
        seen: set[tuple[str, str, str]] = set()
        needs = [sum(need_of_spans(registry.spans(r.text), seen) for r in batch) for batch in batches]
        sizes = [_size(batch) for batch in batches]
        return share_out(int(share * sum(sizes)), needs, sizes)

    def _digest(
        self, digester: ExtractiveDigester, batch: list[Result], budget: int, name: str, holders: dict[Specific, str]
    ) -> Digest | None:
        sources = tuple(
            DigestSource(
                item_id=r.id,
                kind="tool_result",
                text=r.text,
                tokens=r.tokens,
                tool_name=r.name,
                action=Action(verb="other", target=r.target),
            )
            for r in batch
        )
        request = DigestRequest(
            sources=sources,
            budget_tokens=budget,
            ceiling_tokens=budget,
            handle="s7f3k",
            batch_id=name,
            visible=Visible(holders),
            values_first=False,
        )
        try:
            return digester.compute(request)
        except DigestRefused:
            return None

    def _scored(self, share: float, seconds: float, done: Digested) -> Score:
        texts = [part.text for _, digest in done if digest for part in digest.parts]
        texts += [r.text for batch, digest in done if not digest for r in batch]
        texts += [r.text for r in self.old if r.tokens < SMALL]
        shown = "\n".join(texts)
        after = self.rest_tokens + sum(map(self.counter.count, texts)) + _size(self.results[-KEPT:])
        score = Score(share, 100 * (1 - after / self.total), seconds)
        for group in ("all", "salient", "plain"):
            values = [n["value"] for n in self.needles if group == "all" or n["salient"] == (group == "salient")]
            score.planted[group] = _percent(sum(stands(shown, v) for v in values), len(values))
        self._score_natural(score, shown)
        score.cut, score.invented = self._strangers(done)
        score.context = _context(done)
        digests = [digest for _, digest in done if digest]
        total = sum(d.specifics.total for d in digests)
        score.shown = _percent(sum(d.specifics.shown for d in digests), total)
        score.in_view = _percent(sum(d.specifics.shown + d.specifics.elsewhere for d in digests), total)
        score.pointers = sum("became a pointer" in note for d in digests for note in d.notes)
        score.failed = sum(not d.verification.passed for d in digests)
        return score

    def _score_natural(self, score: Score, shown: str) -> None:
        inside = found(shown)
        shares: list[float] = []
        kept = 0
        for name, values in self.natural.items():
            hit = sum(1 for v in values if v in inside[name] or stands(shown, v))
            kept += hit
            shares += [_percent(hit, len(values))] if len(values) >= 8 else []
            score.per_class[name] = f"{hit}/{len(values)}"
        score.natural = _percent(kept, sum(map(len, self.natural.values())))
        score.macro = sum(shares) / max(1, len(shares))

    def _strangers(self, done: Digested) -> tuple[int, int]:
        """Scored specifics of shown lines that no source holds: beginnings of a longer one, and all others."""
        cut = invented = 0
        for batch, digest in done:
            own = "\n".join(r.text for r in batch)
            own += own.replace("\\/", "/").replace('\\"', '"').replace("\\n", "\n") if "\\" in own else ""
            for part in digest.parts if digest else ():
                lines = "\n".join(line.text for line in part.lines if line.kind != "note")
                for name, values in found(lines).items():
                    for value in sorted(values - self.source[name]):
                        if not stands(own, value):
                            longer = any(whole.startswith(value) for whole in self.source[name])
                            cut, invented = cut + longer, invented + (not longer)
        return cut, invented


def _size(batch: Iterable[Result]) -> int:
    return sum(result.tokens for result in batch)


def _percent(part: float, whole: float) -> float:
    return 100 * part / max(1, whole)


def _context(done: Digested) -> float:
    """Share of shown specifics that somewhere stand whole-line, or with their key or their line's rarest word."""
    good = total = 0
    for batch, digest in done:
        for result, part in zip(batch, digest.parts if digest else (), strict=digest is not None):
            words = Counter(_WORD.findall(result.text))
            homes: dict[str, str] = {}
            for line in result.text.split("\n"):
                for value in {v for values in found(line).values() for v in values}:
                    homes.setdefault(value, line)
            told: dict[str, bool] = {}
            for line in part.lines:
                if line.kind != "note":
                    for value in {v for values in found(line.text).values() for v in values} & homes.keys():
                        near = line.kind == "quote" or _near(line.text, value, homes[value], words)
                        told[value] = told.get(value, False) or near
            total += len(told)
            good += sum(told.values())
    return _percent(good, total)


def _near(line: str, value: str, home: str, words: Counter[str]) -> bool:
    at = home.find(value)
    key = _KEY.search(home[max(0, at - 60) : at])
    if key and key.group(1) in line:
        return True
    around = _WORD.findall(home)
    return not around or min(around, key=lambda word: words[word]) in line


def at_saving(bench: Bench, saved: float, *, by_need: bool) -> Score:
    """The largest share that still saves `saved` per cent, to within half a per cent."""
    low, high = 0.01, 0.6
    best, _ = bench.run(low, by_need=by_need)
    for _ in range(7):
        share = (low + high) / 2
        score, _ = bench.run(share, by_need=by_need)
        best, low, high = (score, share, high) if score.saved >= saved else (best, low, share)
        if 0 <= best.saved - saved < 0.5:
            break
    return best


def main() -> None:
    """Print a line for each point asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("session", type=Path)
    parser.add_argument("--share", type=float, nargs="*", default=[])
    parser.add_argument("--saved", type=float, nargs="*", default=[])
    parser.add_argument("--by-need", action="store_true")
    parser.add_argument("--show", type=int, default=0, help="print so many digests of each share")
    args = parser.parse_args()
    bench = Bench(args.session)
    print(f"{args.session.name}: {bench.total:,} tokens, {len(bench.results)} results, {len(bench.needles)} planted")
    for saved in args.saved:
        print(at_saving(bench, saved, by_need=args.by_need), flush=True)
    for share in args.share:
        score, done = bench.run(share, by_need=args.by_need)
        print(score, flush=True)
        for _, digest in done[: args.show]:
            if digest:
                print("\n".join(f"----- {part.item_id}\n{part.text}" for part in digest.parts), "\n")


if __name__ == "__main__":
    main()
