"""The scorer: what counts as a specific here, whether it stands in a text, whether its context stands beside it.

Written for the benchmark alone; nothing of it is shared with the registry, the digest or its verification.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping

CLASSES = {
    "url": re.compile(r"https?://[^\s\"'<>()\[\]{}|\\^`]{5,}"),
    "uuid": re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"),
    "date": re.compile(r"\b20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z| ?[+-]\d\d:?\d\d)?)?"),
    "ip": re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5})?(?![\d.])"),
    "file:line": re.compile(r"(?<![\w/])[\w./-]*[\w-]\.(?:py|pyi|ts|tsx|js|rs|go|md|json|toml|c|h):\d+"),
    "version": re.compile(r"(?<![\w.])v?\d+\.\d+\.\d+(?:[-+.]?(?:rc|a|b|post|dev|alpha|beta)[.\d]*\d)?(?![\w.])"),
    "hex": re.compile(r"(?<![0-9A-Za-z])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}(?![0-9A-Za-z])"),
    "code": re.compile(r"\b(?:ERR_[A-Z0-9_]{2,}|E[A-Z]{4,}|CVE-\d{4}-\d{4,}|[A-Z]{2,6}-\d{3,})\b"),
    "integer": re.compile(r"(?<![\w.,-])\d{5,12}(?![\w.,-])"),
}
"""The classes of the peers' scorer, found again by patterns of our own."""
_MARK = re.compile(r"\[redacted:[\w-]+(?::\w+)?\]")
"""What stands where a secret or an e-mail address stood: it says so, and is no claim about the source."""
_DIGIT = re.compile(r"\d")
_WITHOUT_DIGITS = ("url", "code")
"""Only these find anything in a text that has no digit."""
_TRAILING = ".,;:!?*_"


def specifics(text: str) -> dict[str, set[str]]:
    """Scored specifics of a text, by class; what is masked in it is none."""
    text = _MARK.sub(" ", text)
    digits = _DIGIT.search(text)
    return {
        name: {_trimmed(name, m.group()) for m in rx.finditer(text)} if digits or name in _WITHOUT_DIGITS else set()
        for name, rx in CLASSES.items()
    }


def _trimmed(name: str, value: str) -> str:
    return value.rstrip(_TRAILING) if name == "url" else value


def stands(text: str, value: str) -> bool:
    """Whether a value stands in a text as a whole: not inside a longer word or number."""
    return next(places(text, value), -1) >= 0


def places(text: str, value: str) -> Iterator[int]:
    """Where a value stands in a text as a whole."""
    at = text.find(value)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(value) : at + len(value) + 1]
        if not (before.isalnum() and value[0].isalnum()) and not (after.isalnum() and value[-1].isalnum()):
            yield at
        at = text.find(value, at + 1)


_RUN = re.compile(r"[^\W_]+")


class View:
    """A text in which many values are looked for: most that are missing are settled without a search."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._runs = set(_RUN.findall(text))

    def has(self, value: str) -> bool:
        """The same answer as `stands`: a value that stands has all its runs of letters and digits there as wholes."""
        return all(run in self._runs for run in _RUN.findall(value)) and stands(self.text, value)


def share(hits: int, total: int) -> float:
    """Per cent; 100 of nothing."""
    return 100 * hits / total if total else 100.0


class Source:
    """All text that a view may draw from; tells what of a view is strange to it.

    JSON escapes are undone for the comparison: a decoded string leaf is a form of the source.
    """

    def __init__(self, text: str) -> None:
        decoded = text.replace("\\/", "/").replace('\\"', '"').replace("\\n", "\n").replace("\\t", "\t")
        self._known = specifics(text)
        self._sorted = {name: sorted(values) for name, values in self._known.items()}
        self._texts = View(text), View(decoded)

    def strangers(self, shown: Mapping[str, set[str]]) -> tuple[list[str], list[str]]:
        """Specifics of a view that the source does not have: (beginnings of a longer one, made up)."""
        cut: list[str] = []
        invented: list[str] = []
        for name, values in shown.items():
            whole = self._sorted[name]
            for value in sorted(values - self._known[name]):
                if any(text.has(value) for text in self._texts):
                    continue
                at = bisect_left(whole, value)
                longer = at < len(whole) and whole[at].startswith(value)
                (cut if longer and len(value) >= 6 else invented).append(value)
        return cut, invented


def strangers(source: str, view: str) -> tuple[list[str], list[str]]:
    """The same for one view of one text."""
    return Source(source).strangers(specifics(view))
