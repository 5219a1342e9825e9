"""Where the store and the settings file are: what even a hook needs, without loading the rest of the settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

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
