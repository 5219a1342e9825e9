"""How unlikely letters, digits and signs follow one another, in bits."""

from __future__ import annotations

import re
import string
import tomllib
from importlib import resources

PAIRS = {
    first + second: int(bits)
    for first, row in zip(
        string.ascii_lowercase,
        tomllib.loads(resources.files(__package__ or "").joinpath("letters.toml").read_text("utf-8"))["pairs"],
        strict=True,
    )
    for second, bits in zip(string.ascii_lowercase, row, strict=True)
}
"""What the second letter of a pair says behind the first one, in words."""
_PIECE = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+|\d+|[^A-Za-z0-9]")


def bits(value: str) -> int:
    """How much a value says; what a machine drew says more than five bits a character."""
    said = 0
    for piece in _PIECE.findall(value):
        if piece.isdigit():
            said += 5 + 2 * len(piece)
        elif piece.isascii() and piece.isalpha():
            low = piece.lower()
            said += 7 + sum(PAIRS[low[i : i + 2]] for i in range(len(low) - 1))
        else:
            said += 4
    return said
