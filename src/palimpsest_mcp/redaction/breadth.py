"""Whether a user's pattern fits everything: as an exception it would turn masking off, as a rule mask all that is."""

from __future__ import annotations

from .matching import Pattern

_SHAPES = (
    b"k7Qz9XvB2mWc8RtY4nHp6LdJ3sGf5TbN1aVe0UiKoQyZ",  # letters and digits
    b"7f3a9c0e41b8d62557ce90af13bd846209e7d1f5c3a8",  # hexadecimal
    b"+x/9Q=b+/7w==Kd/2+Z=h/5T+=m/8R+c=/4Y+n=/6L+p",  # base64 and the like
    b"!t#9&b%2*w@7^k$4~m?8(r)1{y}5[n]3<h>6|p;0,l:z",  # signs
    b"four plain words or more that say not anything",  # a sentence
)
"""Texts that have nothing in common but their length."""
_LENGTHS = (8, 16, 40)
_MOST = 3
"""Shapes of one length that a pattern may fit; the keys of two services rarely share more than two."""


def fits_everything(pattern: Pattern, *, whole: bool) -> bool:
    """Whether a pattern fits the empty text, or nearly all texts of some length whatever they look like.

    Args:
        whole: it must fit from end to end, as an exception does; else somewhere.
    """
    fits = pattern.fullmatch if whole else pattern.search
    return fits(b"") is not None or any(
        sum(fits(shape[:length]) is not None for shape in _SHAPES) > _MOST for length in _LENGTHS
    )


__all__ = ["fits_everything"]
