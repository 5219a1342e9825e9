"""Masks secrets and personal data in texts; keeps every hash, id, version and path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import InvalidSettings
from .assignments import Assignments
from .cookies import Cookies
from .checks import Checks, Phones
from .engine import RuleRedactor
from .marks import Marker
from .matching import BadPattern, Pattern, compiled
from .personal import PersonalData
from .private_keys import PrivateKeys
from .rules import combine, default_rules, load_rules
from .ruleset import RuleSet
from .scan import Detector, Scanner

__all__ = ["RuleRedactor", "open_redactor"]


def open_redactor(
    key: bytes, *, rule_files: Sequence[Path] = (), allow: Sequence[str] = (), pii: bool = True
) -> RuleRedactor:
    """A redactor with the built-in rules, the user's rules and exceptions.

    Args:
        key: the store's secret; marks are keyed with it.
        rule_files: further rule files; a later one replaces rules of the same id.
        allow: RE2 patterns; a find that one of them matches whole stays.
        pii: whether personal data is masked too.

    Raises:
        InvalidSettings: a rule file or a pattern cannot be used; it names file, rule and what to do.
    """
    files = [default_rules(), *(load_rules(path) for path in rule_files)]
    names = [f"{file.name}: {len(file.rules)} rules" for file in files]
    detectors: list[Detector] = [PrivateKeys(), RuleSet(combine(files)), Cookies(), Assignments()]
    if pii:
        detectors.append(PersonalData(Checks(), Phones()))
    allowed = [_allowed(pattern, number) for number, pattern in enumerate(allow)]
    return RuleRedactor(Scanner(detectors), Marker(key), allow=allowed, rules=names)


def _allowed(source: str, number: int) -> Pattern:
    try:
        return compiled(source)
    except BadPattern as error:
        raise InvalidSettings(
            f"Entry {number + 1} of redaction_allow is not a pattern that RE2 takes ({error}).",
            next="Escape signs such as + and ( with a backslash, or take the entry out.",
        ) from None
