"""A digester whose work is done in a thread, so that the event loop answers other calls meanwhile."""

from __future__ import annotations

import asyncio
from typing import Protocol

from ..models.digests import Digest, DigestRequest


class Computes(Protocol):
    """A digester that works out a digest in one go."""

    @property
    def name(self) -> str: ...

    def compute(self, request: DigestRequest) -> Digest: ...


class InThread:
    """Implements `ports.text.Digester`.

    Whoever is cancelled while waiting leaves the thread to finish the one batch it is at; its digest goes nowhere.
    """

    def __init__(self, inner: Computes) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """That of the digester inside."""
        return self._inner.name

    async def digest(self, request: DigestRequest) -> Digest:
        """Digest a batch.

        Raises:
            DigestRefused: nothing smaller than the originals could be made.
        """
        return await asyncio.to_thread(self._inner.compute, request)


__all__ = ["InThread"]
