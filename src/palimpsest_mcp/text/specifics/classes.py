"""The classes of specifics: what each is worth, and which come first when a digest runs short."""

from __future__ import annotations

import msgspec


class SpecificClass(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of string that must survive verbatim."""

    name: str
    weight: float
    """What showing one is worth to a digest, 0.5-6: what an agent cannot guess and would act on wrongly weighs most."""
    first_rank: bool
    """Before one of these is left out, the budget of the batch grows (design §9.1)."""
    description: str
    example: str


class UserClass(msgspec.Struct, frozen=True, kw_only=True):
    """A class that a user adds in the settings."""

    name: str
    pattern: str
    """RE2 syntax: no look-around, no back references. Matched inside one line; `^` and `$` are the line's ends."""
    weight: float = 3.0
    first_rank: bool = False
    description: str = "added in the settings"
    example: str = ""


def _c(name: str, weight: float, first: bool, description: str, example: str) -> SpecificClass:
    return SpecificClass(name=name, weight=weight, first_rank=first, description=description, example=example)


CLASSES: tuple[SpecificClass, ...] = (
    _c("error", 6, True, "error types and symbolic error codes", "ENOENT"),
    _c("status", 6, True, "exit codes, HTTP status and signals, with the word that says so", "exit code 2"),
    _c("url", 5, True, "addresses with a scheme, whole", "https://example.org/a?b=1"),
    _c("path", 4, False, "files and folders, with :line(:column)", "src/app/main.py:12:5"),
    _c("issue", 4, True, "issues, pull requests, tickets, CVE and advisory ids", "owner/repo#12"),
    _c("uuid", 3, False, "UUIDs", "6f1e2c4a-0b7d-4c1e-9a55-2f6f0c3d9b10"),
    _c("hash", 3, False, "hexadecimal of 7 digits or more, a letter and a digit among them", "6e62183"),
    _c("date", 3, False, "dates, times, and both together", "2026-11-20T10:00:00.123Z"),
    _c("host", 4, False, "IP addresses, host names, with port", "10.0.0.7:5432"),
    _c("version", 3, True, "versions, version ranges, package@version", "2.0.0-beta.1"),
    _c("money", 3, True, "amounts with a currency", "$12.50"),
    _c("score", 2.5, True, "percentages, and shares written with a decimal point", "92.2 %"),
    _c("quantity", 2, True, "numbers with their unit", "3.4GB"),
    _c("number", 2, True, "decimals, grouped numbers, and integers of 5 digits or more", "48213"),
    _c("integer", 0.5, False, "integers of 2 to 4 digits", "1593"),
    _c("id", 4, False, "identifiers that mix letters and digits", "HAT069"),
    _c("constant", 1, False, "UPPER_SNAKE names", "MAX_RETRIES"),
    _c("name", 1.8, False, "qualified, snake_case and camelCase names", "os.path.join"),
    _c("handle", 1.5, False, "@names; an e-mail address is none", "@octocat"),
    _c("email", 1, False, "e-mail addresses, whole", "ada@example.org"),
    _c("command", 2, False, "shell commands after a `$ ` prompt", "$ npm run build"),
)
"""In the order that decides where one string could be of two classes."""
