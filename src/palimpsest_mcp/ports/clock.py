"""Time and chance come in from outside, so that rules stay pure and checks need no waiting."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

Clock: TypeAlias = Callable[[], datetime]
"""Now, with its offset from UTC."""

RandomHex: TypeAlias = Callable[[int], str]
"""`n` random bytes as lower-case hex."""
