"""The library: one `Palimpsest` a store."""

from .palimpsest import Palimpsest

__all__ = ["Palimpsest"]
