"""The one setting that a hook needs before anything else is loaded: whether anything may run on its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..ports.small_file import read_small
from .places import settings_file

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
    except ValueError:
        return True
    return told_there is not False and str(told_there).lower() not in _NO
