"""Made-up secrets from seeded randomness, so that no key stands in the repository and every run has the same ones."""

from __future__ import annotations

import base64
import json
import random
import string

LETTERS = string.ascii_letters
DIGITS = string.digits
LOWER = string.ascii_lowercase + DIGITS
UPPER = string.ascii_uppercase + DIGITS
ALNUM = LETTERS + DIGITS
HEX = "0123456789abcdef"
URLSAFE = ALNUM + "-_"
BASE32 = string.ascii_uppercase + "234567"
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

SEEN_DRAWS = (20261123, 20261124)
"""Seeds of the sets made for the attack of 2026 that rules may be tuned with."""
UNSEEN_DRAW = 20261125
"""A third of their draws: run when the rules are done, and what it shows is mended by class, not by draw."""


class Forge:
    """Draws secrets. Two forges with one seed draw the same, in the same order."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def of(self, length: int, alphabet: str = ALNUM) -> str:
        """`length` characters; from eight on at least one digit and one letter where the alphabet has both."""
        while True:
            drawn = "".join(self.random.choice(alphabet) for _ in range(length))
            mixed = any(c.isdigit() for c in drawn) and any(c.isalpha() for c in drawn)
            both = any(c.isdigit() for c in alphabet) and any(c.isalpha() for c in alphabet)
            if mixed or length < 8 or not both:
                return drawn

    def hex(self, length: int) -> str:
        return self.of(length, HEX)

    def base64(self, size: int) -> str:
        return base64.b64encode(self.random.randbytes(size)).decode()

    def urlsafe(self, size: int) -> str:
        return base64.urlsafe_b64encode(self.random.randbytes(size)).decode().rstrip("=")

    def uuid(self) -> str:
        raw = self.hex(32)
        return f"{raw[:8]}-{raw[8:12]}-4{raw[13:16]}-a{raw[17:20]}-{raw[20:]}"

    def password(self) -> str:
        """What a person with a policy to obey makes up: a word, digits, a sign."""
        word = self.of(5, string.ascii_lowercase)
        return f"{word.capitalize()}{self.of(2, DIGITS)}{self.random.choice('!#%^*_-')}{self.of(3, LOWER)}"

    def jwt(self) -> str:
        claims = {"sub": self.of(10, DIGITS), "name": self.of(6, LETTERS), "iat": 1763600000}
        parts = [json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, claims)]
        encoded = [base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts]
        return ".".join([*encoded, self.urlsafe(32)])

    def pem(self, kind: str, lines: int = 8, *, end: bool = True) -> str:
        body = "\n".join(self.base64(48) for _ in range(lines))
        return f"-----BEGIN {kind}-----\n{body}" + (f"\n-----END {kind}-----" if end else "")

    def luhn(self, prefix: str, length: int) -> str:
        """A card number: ISO/IEC 7812 check digit at the end."""
        body = prefix + self.of(length - len(prefix) - 1, DIGITS)
        doubled = (int(c) * (2 if i % 2 == 0 else 1) for i, c in enumerate(reversed(body)))
        return body + str(-sum(d - 9 if d > 9 else d for d in doubled) % 10)

    def iban(self, country: str, bban: str) -> str:
        """ISO 13616 check digits before the given account part."""
        value = int("".join(str(int(c, 36)) for c in f"{bban}{country}00"))
        return f"{country}{98 - value % 97:02d}{bban}"
