"""Loopback between client and database, which takes answers away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

_COMMIT, _SYNC = b"COMMIT\0", b"S\0\0\0\x04"


def commits(data: bytes) -> bool:
    """Whether the server ends a transaction after this: one that was begun, or an append that is a statement alone."""
    return data.endswith(_COMMIT) or (data.endswith(_SYNC) and b".add_" in data)


class Wire:
    """On demand it takes the answer to a commit away and the connection with it, or ends altogether.

    Args:
        port: of the server.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self.cut = 0
        """So many acknowledgements more are lost."""
        self.were_cut = 0
        self.trips = 0
        """So often a client sent something."""
        self.last = b""
        """What it sent then."""
        self._left: int | None = None
        self._reached = self._dead = False
        self._open: set[asyncio.StreamWriter] = set()

    def ends_at(self, write: int, *, reached: bool) -> None:
        """From the so-manieth commit on nothing gets through; that one reaches the server, or does not."""
        self._left, self._reached = write, reached

    def revive(self) -> None:
        """Everything gets through again."""
        self._left, self._dead = None, False

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[int]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()

    def _end(self) -> None:
        self._dead = True
        for one in self._open:
            one.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._dead:
            writer.transport.abort()
            return
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self._port)
        self._open.add(writer)
        doomed = asyncio.Event()
        back = asyncio.create_task(self._back(from_server, writer, doomed))
        try:
            while data := await reader.read(1 << 16):
                self.trips += 1
                self.last = data
                if commits(data) and self._is_last():
                    if not self._reached:
                        self._end()
                        break
                    doomed.set()
                elif self.cut and commits(data):
                    self.cut -= 1
                    self.were_cut += 1
                    doomed.set()
                to_server.write(data)
                await to_server.drain()
        except ConnectionError:
            pass
        finally:
            self._open.discard(writer)
            if not doomed.is_set():
                back.cancel()
            else:
                await back
            for one in (to_server, writer):
                one.close()

    def _is_last(self) -> bool:
        if self._left is not None:
            self._left -= 1
        return self._left == 0

    async def _back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, doomed: asyncio.Event) -> None:
        while data := await reader.read(1 << 16):
            if doomed.is_set():  # the answer came: the server has it, the client never hears
                if self._left is not None:
                    self._end()
                writer.transport.abort()
                return
            writer.write(data)
        writer.close()  # as the server did
