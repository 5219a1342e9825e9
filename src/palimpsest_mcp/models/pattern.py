"""Regular expressions that are compiled when they are first used: a command that looks for nothing need not wait."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Late:
    """Stands for a pattern until somebody uses it; from then on its methods are the pattern's own."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source, self._flags = source, flags
        self.pattern = source
        """Others are put together of it, which is no use."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = re.compile(self._source, self._flags)
        self.__dict__.update({one: getattr(found, one) for one in dir(found) if not one.startswith("__")})
        return self.__dict__[name]


def late(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, save that a mistake in it shows at its first use.

    It is no `re.Pattern` by type: call its methods, hand it to no function of `re`.
    """
    return cast("re.Pattern[AnyStr]", _Late(source, flags))
