"""What the tests of the digest share: a registry, a counter that needs no vocabulary, a short way to a request."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from palimpsest_mcp.digest.engine import ExtractiveDigester
from palimpsest_mcp.models.records import Digest, DigestRequest, DigestSource, Visible
from palimpsest_mcp.text.specifics.registry import DefaultRegistry

_TOKEN = re.compile(r"\w{1,4}|[^\w\s]|\s+")


class PlainCounter:
    """Counts pieces of words and marks: close to a real vocabulary, and the same everywhere."""

    name = "pieces of four"

    def count(self, text: str) -> int:
        return len(_TOKEN.findall(text))


class Bench:
    """Makes requests and digests them."""

    def __init__(self) -> None:
        self.counter = PlainCounter()
        self.registry = DefaultRegistry()
        self.digester = ExtractiveDigester(self.registry, self.counter)

    def source(self, text: str, number: int = 1, **fields: object) -> DigestSource:
        known: dict[str, object] = {"kind": "tool_result", "tool_name": "Bash", **fields}
        return DigestSource(item_id=f"i{number}", text=text, tokens=self.counter.count(text), **known)  # pyright: ignore[reportArgumentType]

    def request(
        self,
        *texts: str,
        share: float = 0.3,
        ceiling: float | None = None,
        focus: tuple[str, ...] = (),
        **fields: object,
    ) -> DigestRequest:
        sources = tuple(self.source(text, n, focus=focus) for n, text in enumerate(texts, 1))
        tokens = sum(source.tokens for source in sources)
        known: dict[str, object] = {"handle": "s7f3k", "batch_id": "offload_0007", "visible": Visible(), **fields}
        return DigestRequest(
            sources=sources,
            budget_tokens=int(share * tokens),
            ceiling_tokens=int((ceiling or share) * tokens),
            **known,  # pyright: ignore[reportArgumentType]
        )

    def digest(self, *texts: str, share: float = 0.3, **fields: object) -> Digest:
        return self.digester.compute(self.request(*texts, share=share, **fields))  # pyright: ignore[reportArgumentType]


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def log() -> Callable[[int], str]:
    """A log of n ordinary lines with different values."""

    def make(n: int) -> str:
        return "\n".join(
            f"2026-11-{i % 28 + 1:02d} 08:{i % 60:02d}:07 info worker {i * 7919 % 100_000:05d} "
            f"took {i % 900 + 10} ms for /srv/app/job_{i}.json"
            for i in range(n)
        )

    return make
