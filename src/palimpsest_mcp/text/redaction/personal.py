"""Personal data with a form or a check digit. Names and addresses have neither: they need a model, and stay."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import ipaddress
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any, NamedTuple, TypeAlias

from ...models.text import late
from .patterns import Find, Pattern, PatternMatch, compiled
from .scan import Ranges

# Check digits and number plans, by well-kept libraries: loaded when first needed.


# Short names that mean other things too (RFC 9110): what follows must have the check digits of one of these.
_NEEDS_CHECK = {
    "rfc": ("mx.rfc",), "sin": ("ca.sin",), "ein": ("us.ein",), "tin": ("us.tin",), "itin": ("us.itin",),
    "dni": ("es.dni", "es.nie"), "nie": ("es.nie",), "nif": ("es.nif", "pt.nif", "fr.nif"), "cif": ("es.cif", "ro.cif"),
    "nir": ("fr.nir",), "oib": ("hr.oib",), "egn": ("bg.egn",), "cnp": ("ro.cnp",), "cpr": ("dk.cpr",),
    "ahv": ("ch.ssn",), "hetu": ("fi.hetu",),
}  # fmt: skip


@lru_cache(maxsize=64)
def _valid(module: str) -> Callable[[str], bool]:
    return importlib.import_module(f"stdnum.{module}").is_valid


def _luhn(digits: str) -> bool:
    twice = (int(digit) * 2 for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(one - 9 if one > 9 else one for one in twice)) % 10 == 0


def _mod_97(text: str) -> bool:
    """ISO 13616: country and check digits go to the end, letters count from A = 10."""
    compact = "".join(text.split()).upper()
    if not (15 <= len(compact) <= 34 and compact.isascii() and compact.isalnum()):
        return False
    return int("".join(str(int(sign, 36)) for sign in compact[4:] + compact[:4])) % 97 == 1


class Checks:
    """Check digits of cards, accounts, national ids and wallets; of national ids by python-stdnum (the extra `pii`).

    Without it a national id is found by its form (US, GB) or after a name of its own, and not where only check digits
    tell it from other numbers: `123.456.789-09`, `RFC …`, `SIN …`.
    """

    @property
    def present(self) -> bool:
        """Whether the library is installed; a module of it is loaded when a number of its country is checked."""
        return importlib.util.find_spec("stdnum") is not None

    @cached_property
    def _by_library(self) -> bool:
        return self.present

    def card(self, text: str) -> bool:
        """An issuer in use, its length, and Luhn's digit."""
        digits = "".join(c for c in text if c.isdigit())
        lengths = next((sizes for heads, sizes in _ISSUERS if digits.startswith(heads)), ())
        return len(digits) in lengths and len(set(digits)) > 1 and _luhn(digits)

    def named_card(self, text: str) -> bool:
        """A number called a card's: Luhn's digit alone."""
        digits = "".join(c for c in text if c.isdigit())
        return len(set(digits)) > 1 and _luhn(digits)

    def iban(self, text: str) -> bool:
        """The check digits; the country and its length where python-stdnum knows them."""
        if not _mod_97(text):
            return False
        return not self._by_library or bool(importlib.import_module("stdnum.iban").is_valid(text, check_country=False))

    def formed_id(self, text: str) -> bool:
        """An id whose form alone names its country."""
        compact = "".join(c for c in text if c.isalnum())
        if len(text) == 11 and text[3:7:3] == "--":
            return _valid("us.ssn")(text) if self._by_library else text[:3] not in ("000", "666") and text[:1] != "9"
        if len(compact) == 9 and compact[:2].isalpha() and compact[2:8].isdigit():
            return compact[:2] not in ("BG", "GB", "NK", "KN", "TN", "NT", "ZZ") and compact[:1] not in "DFIQUV"
        if not self._by_library:
            return False
        modules = {11: ("br.cpf", "fi.hetu"), 10: ("fi.hetu",), 13: ("ch.ssn",), 14: ("br.cnpj",), 15: ("fr.nir",)}
        modules |= {16: ("it.codicefiscale",), 18: ("mx.curp",)}
        return any(_valid(module)(text) for module in modules.get(len(compact), ()))

    def named_id(self, name: str, number: str) -> bool:
        """An id after its name: by its check digits where the name means other things too, else by its looks."""
        if modules := _NEEDS_CHECK.get(name.lower()):
            return self._by_library and any(_valid(module)(number) for module in modules)
        digits = sum(c.isdigit() for c in number)
        if digits < 5 or len({c for c in number if c.isalnum()}) < 3 or _DATE.fullmatch(number):
            return False
        return not (digits == 9 and number[3:4] == "-") or number[6:7] == "-"

    def wallet(self, text: str) -> bool:
        """A Bitcoin address or private key: known by its beginning and length, or by its checksum."""
        if text.startswith("bc1"):
            return len(text) in (42, 62)
        return text[1:4] == "prv" or _base58_checks(text)


_ISSUERS: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...] = (
    (("34", "37", "2131"), (15,)),
    (("36", "38", "39", "300", "301", "302", "303", "304", "305"), (14, 16)),
    (("4",), (16, 19)),
    (("51", "52", "53", "54", "55", "22", "23", "24", "25", "26", "27"), (16,)),
    (("6011", "64", "65", "60", "81", "82"), (16, 19)),
    (("35",), (16, 19)),
    (("62",), (16, 17, 18, 19)),
    (("50", "56", "57", "58", "59", "6"), (14, 15, 16, 17, 18, 19)),
)
"""First digits and lengths by issuer (ISO/IEC 7812 and the networks' own tables); the first row that fits decides."""


class Phones:
    """Number plans, by phonenumbers (the extra `pii`); without it only the length is checked."""

    _REGIONS = ("US", "GB", "DE", "FR", "ES", "IT", "IN", "BR", "AU", "JP", "CN")

    @cached_property
    def _library(self) -> Any:
        return importlib.import_module("phonenumbers") if self.present else None

    @property
    def present(self) -> bool:
        """Whether the library is installed; it is loaded when the first number is checked."""
        return importlib.util.find_spec("phonenumbers") is not None

    def international(self, text: str) -> bool:
        """A number with its country's code; without gaps one of ten digits or more."""
        return self._is_one(text, (None,))

    def local(self, text: str) -> bool:
        """A number that its name announces, with or without a country's code."""
        return self._is_one(text, (None,) if "+" in text[:2] else self._REGIONS)

    def _is_one(self, text: str, regions: Sequence[str | None]) -> bool:
        library = self._library
        if library is None:  # ITU-T E.164: at most 15 digits
            return 8 <= sum(c.isdigit() for c in text) <= 15
        if text[1:].isdigit() and len(text) < 11 and not regions[0]:
            return False
        for region in regions:
            with suppress(library.NumberParseException):
                if library.is_possible_number(library.parse(text, region)):
                    return True
        return False


_DATE = late(r"\d{4}-\d{2}-\d{2}")
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def _base58_checks(text: str) -> bool:
    number = 0
    for sign in text:
        number = number * 58 + _BASE58.index(sign)
    raw = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return len(raw) > 4 and hashlib.sha256(hashlib.sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:]


# Which of the texts around an @ sign are a person's address.


# RFC 2606 and RFC 6761: domains nobody has. People do write them for real ones, so only stand-ins stay.
_RESERVED = late(
    rb"(?i)(?:@|\.)(?:example\.(?:com|org|net|edu)|example|test|invalid|localhost|local|internal|localdomain)$"
)
_STAND_IN = late(
    rb"(?i)(?:users?|user-?name|some(?:one|body)|any(?:one|body)|name|your?|you|me|my|e-?mail|mail|test(?:er|ing|user)?|"
    rb"foo|bar|baz|qux|admin|root|info|support|contact|hello|help|dev|demo|example|sample|alice|bob|carol|charlie|dave|"
    rb"eve|john|jane|joe|jdoe|(?:john|jane)[._-]?doe|[a-z]|.*no-?reply.*)$"
)
_NOBODY = late(rb"(?i)(?:git|hg|svn|.*no-?reply|do-?not-?reply|donotreply|mailer-daemon)$")
_PATH_FOLLOWS = late(rb":[\w~./-]")
_NOT_A_DOMAIN = late(
    rb"(?i)\.(?:png|jpe?g|gif|svg|webp|ico|css|s?css|m?js|tsx?|jsx|json|py|rb|go|rs|md|txt|html?|xml|ya?ml|toml|lock|"
    rb"service|socket|timer|mount|target|conf|cfg|ini|log|length|value|name|map|filter|each|md5|sha|sh|exe|dll|so|t?gz|zip|tar|whl|jar|deb|rpm)$"
)


def is_a_persons(text: bytes, match: PatternMatch) -> bool:
    """Whether the match is an e-mail address of somebody: no host, package, file, decorator, stand-in or robot."""
    person, _, domain = match.group().rpartition(b"@")
    after = text[match.end() : match.end() + 1]
    if _NOT_A_DOMAIN.search(domain) or after in (b"(", b"@") or _NOBODY.match(person):
        return False
    if _RESERVED.search(b"@" + domain) and _STAND_IN.match(person):
        return False
    return not _names_a_host(text, match)


def _names_a_host(text: bytes, match: PatternMatch) -> bool:
    """Whether it is `user@host` of a URL or of scp."""
    before = text[max(0, match.start() - 80) : match.start()].rsplit(b" ", 1)[-1]
    if b"://" in before and not re.search(rb"[?&=,]", before):
        return True
    return _PATH_FOLLOWS.match(text, match.end()) is not None


_RANK = 7000

Check: TypeAlias = Callable[[bytes, PatternMatch], bool]
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


def _text(match: PatternMatch, group: int = 0) -> str:
    return match.group(group).decode("utf-8", "replace")


def _around(text: bytes, match: PatternMatch) -> tuple[bytes, bytes]:
    """The byte before a match, and two behind it."""
    return text[max(0, match.start() - 1) : match.start()], text[match.end() : match.end() + 2]


_GOES_ON = late(rb"[-_/.][0-9A-Za-z]|[_/=%]")
_COUNTS_ON = late(rb"[.,:/_-]\d|[A-Za-z_%]")
_COUNTER = late(
    rb"(?i)(?:id|ts|time|timestamp|seq|no|nr|trace|span|order|offset|size|count|bytes|[nmu]s|index|rows?|hash|#)"
    rb"[\"']?[ \t]{0,3}[=:#]?[ \t]{0,3}[\"']?$"
)
_FIRST_PIECE = late(rb"\+?[A-Za-z0-9]+")


def _stands_alone(text: bytes, match: PatternMatch) -> bool:
    """Not a part of a longer number, identifier, path or version."""
    before, after = _around(text, match)
    return before not in (b".", b"-", b"/", b"_", b"+", b"#", b"$") and not _GOES_ON.match(after)


def _counts(text: bytes, match: PatternMatch) -> bool:
    """Whether a number without gaps is called an id, a time, a size."""
    return match.group().isdigit() and bool(_COUNTER.search(text, max(0, match.start() - 32), match.start()))


def _is_dialled(text: bytes, match: PatternMatch) -> bool:
    """Its plus sign is neither arithmetic, nor a time zone's, nor that of a line added in a diff."""
    before, after = _around(text, match)
    if before.isalnum() or before in (b".", b"+", b"-", b"/", b"_", b")", b"@") or _COUNTS_ON.match(after):
        return False
    starts_line = not before or before == b"\n"
    return not starts_line or any(sign in match.group() for sign in b" -(/")


# What speaks of somebody in front of an address, and what makes four numbers a version.
_OF_SOMEBODY = late(
    rb"(?i)(?<![a-z])(?:client|visitor|caller|user|customer|peer|remote|login|logged in|session|request|connection|"
    rb"connected|accepted|forwarded|forwarded-for|real-ip|connecting-ip|client-ip|addr|address|ip)(?![a-z])[^\n]{0,44}$"
)
_OF_A_VERSION = late(rb"(?i)(?:versions?|upgraded?|release|build|[a-z]/|ssl|==|>=|<=|~|\^|\bv)[ \t]?(?:[\d.]+ to )?$")
_COLONS = 7  # of an address that is written in full


def _is_persons_ip(text: bytes, match: PatternMatch) -> bool:
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
