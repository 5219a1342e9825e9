"""The extractive digester: route, reduce, select under a budget, ledger, manifest, verify; no model, no network."""

from __future__ import annotations

from collections.abc import Iterable

from ..models.digests import Digest, DigestRequest
from ..ports.text import Registry, TokenCounter
from ..specifics.classes import CLASSES, SpecificClass
from .attempt import Attempt
from .ranking import ranks_of

VERSION = "1"
"""Counts up with every release that changes the bytes a digest has."""


class ExtractiveDigester:
    """Implements `ports.text.Digester`. Pure: the same request gives the same bytes in every process.

    It computes for as long as the batch is big (about 2 s for a million tokens); callers put it in a thread.
    """

    def __init__(self, registry: Registry, counter: TokenCounter, classes: Iterable[SpecificClass] = CLASSES) -> None:
        """`classes`: ranks of what the registry finds; pass the registry's own where users added some."""
        self._registry = registry
        self._counter = counter
        self._ranks = ranks_of(classes)

    @property
    def name(self) -> str:
        """`extractive/1`."""
        return f"extractive/{VERSION}"

    async def digest(self, request: DigestRequest) -> Digest:
        """Digest a batch (`ports.text.Digester`)."""
        return self.compute(request)

    def compute(self, request: DigestRequest) -> Digest:
        """The same for callers that are in a thread of their own.

        Raises:
            DigestRefused: no form of it is smaller than its source.
        """
        return Attempt(request, self._registry, self._counter, self._ranks, self.name).run()


__all__ = ["VERSION", "ExtractiveDigester"]
