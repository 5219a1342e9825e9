"""Where the store and the settings file are: what even a hook needs, without loading the rest of the settings. A
store may be a URL with a password in it, which `Secret` does not print."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..ports.small_file import read_small

HOME_VARIABLE = "PALIMPSEST_HOME"
CONFIG_VARIABLE = "PALIMPSEST_CONFIG"
FILE_NAME = "config.toml"


def default_home() -> Path:
    """The platform's folder for a user's data."""
    # Only needed where nobody named a home; it takes longer to import than everything else here.
    import platformdirs

    return Path(platformdirs.user_data_dir("palimpsest-mcp", appauthor=False))


def home_folder(argument: Path | str | None = None, *, environ: Mapping[str, str] | None = None) -> Path:
    """The store's folder, absolute: argument, `PALIMPSEST_HOME`, the platform's. It need not exist."""
    variables = os.environ if environ is None else environ
    named = argument or variables.get(HOME_VARIABLE) or default_home()
    return Path(named).expanduser().absolute()


def settings_file(home: Path, *, environ: Mapping[str, str] | None = None) -> Path:
    """The one settings file: `PALIMPSEST_CONFIG`, else `config.toml` in the home folder. It need not exist."""
    variables = os.environ if environ is None else environ
    named = variables.get(CONFIG_VARIABLE)
    return Path(named).expanduser().absolute() if named else home / FILE_NAME


# The one setting that a hook needs before anything else is loaded: whether anything may run on its own.


AUTO_VARIABLE = "PALIMPSEST_AUTO"
_NO = frozenset(("0", "off", "f", "false", "n", "no"))


def is_automatic(home: Path, *, environ: Mapping[str, str] | None = None) -> bool:
    """The setting `auto`, as the settings themselves would read it: variable, then file, then on."""
    variables = os.environ if environ is None else environ
    if told := variables.get(AUTO_VARIABLE):
        return told.strip().lower() not in _NO
    try:
        data = read_small(settings_file(home, environ=variables))
    except OSError:
        return True
    import tomllib  # only where there is a file

    try:
        told_there = tomllib.loads(data.decode("utf-8")).get("auto", True)
    except (ValueError, RecursionError):
        return True
    return told_there is not False and str(told_there).lower() not in _NO


# Which project a folder belongs to: the root of its git repository, else the folder itself.


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


class Secret:
    """A value of a setting that nobody is to read over a shoulder: a text that is not printed."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def get_secret_value(self) -> str:
        """The text."""
        return self._text

    def __str__(self) -> str:
        return "**********" if self._text else ""

    def __repr__(self) -> str:
        return f"Secret({str(self)!r})"
