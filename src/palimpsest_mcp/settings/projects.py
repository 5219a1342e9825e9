"""Which project a folder belongs to: the root of its git repository, else the folder itself."""

from __future__ import annotations

import os


def project_root(folder: str = "") -> str:
    """The nearest folder upwards with a `.git` in it (a folder, or a worktree's file); else the folder itself.

    Args:
        folder: absolute; empty, or not on this machine: the working folder of this process.
    """
    start = folder if folder and os.path.isdir(folder) else _working_folder()
    here = start
    while here and not os.path.lexists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return start
        here = above
    return here or start


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""  # it was removed under us
