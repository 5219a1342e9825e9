"""Palimpsest: keeps an AI agent's context window healthy. Loads nothing until a name is asked for."""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` would cost every hook and status line some milliseconds
if TYPE_CHECKING:
    from typing import Any

    from .core.palimpsest import Palimpsest

    __version__: str

__all__ = ["Palimpsest", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "Palimpsest":
        from .core.palimpsest import Palimpsest

        return Palimpsest
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("palimpsest-mcp")
        except PackageNotFoundError:
            return version("palimpsest-core")  # the library alone
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
