"""Check digits and number plans, by well-kept libraries: loaded when first needed."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Any

# Short names that mean other things too (RFC 9110): what follows must have the check digits of one of these.
_NEEDS_CHECK = {
    "rfc": ("mx.rfc",), "sin": ("ca.sin",), "ein": ("us.ein",), "tin": ("us.tin",), "itin": ("us.itin",),
    "dni": ("es.dni", "es.nie"), "nie": ("es.nie",), "nif": ("es.nif", "pt.nif", "fr.nif"), "cif": ("es.cif", "ro.cif"),
    "nir": ("fr.nir",), "oib": ("hr.oib",), "egn": ("bg.egn",), "cnp": ("ro.cnp",), "cpr": ("dk.cpr",),
    "ahv": ("ch.ssn",), "hetu": ("fi.hetu",),
}  # fmt: skip


@lru_cache(maxsize=64)
def _stdnum(module: str) -> Any:
    return importlib.import_module(f"stdnum.{module}")


def _valid(module: str) -> Callable[[str], bool]:
    return _stdnum(module).is_valid


class Checks:
    """Check digits of cards, accounts, national ids and wallets (python-stdnum)."""

    def card(self, text: str) -> bool:
        """An issuer in use, its length, and Luhn's digit."""
        digits = "".join(c for c in text if c.isdigit())
        lengths = next((sizes for heads, sizes in _ISSUERS if digits.startswith(heads)), ())
        return len(digits) in lengths and len(set(digits)) > 1 and _valid("luhn")(digits)

    def named_card(self, text: str) -> bool:
        """A number called a card's: Luhn's digit alone."""
        digits = "".join(c for c in text if c.isdigit())
        return len(set(digits)) > 1 and _valid("luhn")(digits)

    def iban(self, text: str) -> bool:
        """A country that has IBANs, its length, and the check digits."""
        return bool(_stdnum("iban").is_valid(text, check_country=False))

    def formed_id(self, text: str) -> bool:
        """An id whose form alone names its country."""
        compact = "".join(c for c in text if c.isalnum())
        if len(text) == 11 and text[3:7:3] == "--":
            return _valid("us.ssn")(text)
        if len(compact) == 9 and compact[:2].isalpha() and compact[2:8].isdigit():
            return compact[:2] not in ("BG", "GB", "NK", "KN", "TN", "NT", "ZZ") and compact[:1] not in "DFIQUV"
        modules = {11: ("br.cpf", "fi.hetu"), 10: ("fi.hetu",), 13: ("ch.ssn",), 14: ("br.cnpj",), 15: ("fr.nir",)}
        modules |= {16: ("it.codicefiscale",), 18: ("mx.curp",)}
        return any(_valid(module)(text) for module in modules.get(len(compact), ()))

    def named_id(self, name: str, number: str) -> bool:
        """An id after its name: by its check digits where the name means other things too, else by its looks."""
        if modules := _NEEDS_CHECK.get(name.lower()):
            return any(_valid(module)(number) for module in modules)
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


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def _base58_checks(text: str) -> bool:
    number = 0
    for sign in text:
        number = number * 58 + _BASE58.index(sign)
    raw = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return len(raw) > 4 and hashlib.sha256(hashlib.sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:]
