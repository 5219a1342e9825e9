"""What is out of date in a store that an older program or a hand changed."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..models.maintenance import Migration
from ..models.text import counted
from .disk import Found, read_from
from .flaws import GARBLED, Comparison
from .home import FORMAT_VERSION, VERSION, Home

_OTHERS = 0o077
"""Bits by which anybody but the owner may do anything."""


def migrate(home: Home, *, dry_run: bool) -> Migration:
    """Each step can be repeated, and a crash between two of them leaves a store that works.

    Raises:
        OSError: what was done stays done.
    """
    home.check()
    disk, changes = home.disk, list[str]()
    path = os.path.join(home.root, VERSION)
    if disk.look(home.root) is None or disk.look(path) is None:
        return Migration(dry_run=dry_run, version=FORMAT_VERSION, changes=())
    if loose := [name for name, found in _everything(home) if os.name == "posix" and found.mode & _OTHERS]:
        changes.append(f"{counted(len(loose), 'entry')} open to other users: for the owner only")
        for name in () if dry_run else loose:
            disk.tighten(os.path.join(home.root, name) if name else home.root)
    comparison = Comparison(home)
    lacks = ("has no witness", GARBLED)  # garbled: a migration, or a writer, that was killed in the write of it
    without = [one for one in comparison.flaws() if one.acceptable and one.what.startswith(lacks)]
    if without:
        changes.append(f"{counted(len(without), 'file')} without a whole witness: each gets one")
        for one in () if dry_run else without:
            home.witnesses.put_again(os.path.join(home.root, one.where))
    version = int(read_from(disk, path))
    if version < FORMAT_VERSION:
        changes.append(f"format {version}: now {FORMAT_VERSION}")
        if not dry_run:
            home.witnesses.strike(path)  # a crash before the new one must not make the new version look like a swap
            home.replace(path, b"%d\n" % FORMAT_VERSION)
    return Migration(dry_run=dry_run, version=FORMAT_VERSION, changes=tuple(changes))


def _everything(home: Home, folder: str = "") -> Iterator[tuple[str, Found]]:
    """Files and folders of the store by their paths from the root, the root itself as the empty one."""
    if not folder and (root := home.disk.look(home.root)) is not None:
        yield "", root
    for name, found in home.disk.scan(os.path.join(home.root, folder)):
        path = os.path.join(folder, name)
        if found.kind != "other":
            yield path, found
        if found.kind == "folder":
            yield from _everything(home, path)
