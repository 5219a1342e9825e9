"""Personal data with a form or a check digit. Names and addresses have neither: they need a model, and stay."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Callable, Iterator
from importlib import resources
from typing import NamedTuple, TypeAlias

from .checks import Checks, Phones
from .emails import is_a_persons
from .matching import Find, Found, Pattern, compiled
from .scan import Ranges

_RANK = 7000

Check: TypeAlias = Callable[[bytes, Found], bool]
"""Whether a match in its text is what its form says."""


class Form(NamedTuple):
    """What one sort of personal data looks like, and what must hold besides."""

    kind: str
    gate: str
    pattern: Pattern
    check: Check


class PersonalData:
    """Finds e-mail addresses, phone numbers, cards, bank accounts, national ids, birth dates, the addresses on the net
    that people came from, wallets."""

    def __init__(self, checks: Checks, phones: Phones) -> None:
        known = _checks(checks, phones)
        text = resources.files(__package__ or "").joinpath("personal.toml").read_text("utf-8")
        self._forms = [
            Form(form["kind"], form.get("gate", form["regex"]), compiled(form["regex"]), known[form["check"]])
            for form in tomllib.loads(text)["forms"]
        ]

    @property
    def gates(self) -> tuple[str, ...]:
        """The forms themselves, or what is quicker to look for."""
        return tuple(form.gate for form in self._forms)

    def find(self, gate: int, text: bytes, ranges: Ranges) -> Iterator[Find]:
        """Personal data of one form in these ranges."""
        form = self._forms[gate]
        for place, end in ranges:
            while match := form.pattern.search(text, place, end):
                left, right = match.span(form.pattern.groups)
                if form.check(text, match):
                    yield Find(left, right, form.kind, _RANK)
                    place = right
                else:  # what follows its first piece may still fit: a card behind an order's number
                    place = _behind_first_piece(text, left, right)


def _checks(checks: Checks, phones: Phones) -> dict[str, Check]:
    return {
        "": lambda text, match: True,
        "email": is_a_persons,
        "card": lambda text, match: (
            _stands_alone(text, match) and not _counts(text, match) and checks.card(_text(match))
        ),
        "named-card": lambda text, match: checks.named_card(_text(match, 1)),
        "iban": lambda text, match: checks.iban(_text(match)),
        "formed-id": lambda text, match: _stands_alone(text, match) and checks.formed_id(_text(match)),
        "named-id": lambda text, match: checks.named_id(_text(match, 1), _text(match, 2)),
        "persons-ip": _is_persons_ip,
        "wallet": lambda text, match: checks.wallet(_text(match)),
        "international-phone": lambda text, match: _is_dialled(text, match) and phones.international(_text(match)),
        "local-phone": lambda text, match: phones.local(_text(match, 1)),
    }


def _text(match: Found, group: int = 0) -> str:
    return match.group(group).decode("utf-8", "replace")


def _around(text: bytes, match: Found) -> tuple[bytes, bytes]:
    """The byte before a match, and two behind it."""
    return text[max(0, match.start() - 1) : match.start()], text[match.end() : match.end() + 2]


_GOES_ON = re.compile(rb"[-_/.][0-9A-Za-z]|[_/=%]")
_COUNTS_ON = re.compile(rb"[.,:/_-]\d|[A-Za-z_%]")
_COUNTER = re.compile(
    rb"(?i)(?:id|ts|time|timestamp|seq|no|nr|trace|span|order|offset|size|count|bytes|[nmu]s|index|rows?|hash|#)"
    rb"[\"']?[ \t]{0,3}[=:#]?[ \t]{0,3}[\"']?$"
)
_FIRST_PIECE = re.compile(rb"\+?[A-Za-z0-9]+")


def _stands_alone(text: bytes, match: Found) -> bool:
    """Not a part of a longer number, identifier, path or version."""
    before, after = _around(text, match)
    return before not in (b".", b"-", b"/", b"_", b"+", b"#", b"$") and not _GOES_ON.match(after)


def _counts(text: bytes, match: Found) -> bool:
    """Whether a number without gaps is called an id, a time, a size."""
    return match.group().isdigit() and bool(_COUNTER.search(text, max(0, match.start() - 32), match.start()))


def _is_dialled(text: bytes, match: Found) -> bool:
    """Its plus sign is neither arithmetic, nor a time zone's, nor that of a line added in a diff."""
    before, after = _around(text, match)
    if before.isalnum() or before in (b".", b"+", b"-", b"/", b"_", b")", b"@") or _COUNTS_ON.match(after):
        return False
    starts_line = not before or before == b"\n"
    return not starts_line or any(sign in match.group() for sign in b" -(/")


# What speaks of somebody in front of an address, and what makes four numbers a version.
_OF_SOMEBODY = re.compile(
    rb"(?i)(?<![a-z])(?:client|visitor|caller|user|customer|peer|remote|login|logged in|session|request|connection|"
    rb"connected|accepted|forwarded|forwarded-for|real-ip|connecting-ip|client-ip|addr|address|ip)(?![a-z])[^\n]{0,44}$"
)
_OF_A_VERSION = re.compile(
    rb"(?i)(?:versions?|upgraded?|release|build|[a-z]/|ssl|==|>=|<=|~|\^|\bv)[ \t]?(?:[\d.]+ to )?$"
)
_COLONS = 7  # of an address that is written in full


def _is_persons_ip(text: bytes, match: Found) -> bool:
    """A public address that somebody came from; that of a server is a fact to keep."""
    address = match.group(1)
    if b"." not in address and b"::" not in address and address.count(b":") != _COLONS:
        return False  # a time of day
    before = text[max(0, match.start(1) - 64) : match.start(1)]
    if not _OF_SOMEBODY.search(before) or _OF_A_VERSION.search(before):
        return False
    try:
        return ipaddress.ip_address(address.decode()).is_global
    except ValueError:
        return False


def _behind_first_piece(text: bytes, start: int, end: int) -> int:
    piece = _FIRST_PIECE.match(text, start, end)
    return piece.end() if piece else start + 1
