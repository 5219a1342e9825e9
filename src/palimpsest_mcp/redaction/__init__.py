"""Masks secrets and personal data in texts; keeps every hash, id, version and path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import InvalidSettings
from ..models.nouns import counted
from .assignments import Assignments
from .breadth import fits_everything
from .checks import Checks, Phones
from .cookies import Cookies
from .engine import RuleRedactor
from .marks import Marker
from .matching import BadPattern, Pattern, compiled
from .personal import PersonalData
from .private_keys import PrivateKeys
from .rules import RuleFile, combine, default_rules, load_rules
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
    phones = Phones()
    detectors: list[Detector] = [PrivateKeys(), RuleSet(combine(files)), Cookies(), Assignments()]
    if pii:
        detectors.append(PersonalData(Checks(), phones))
    exceptions = [_allowed(pattern, number) for number, pattern in enumerate(allow, 1)]
    loaded = (*map(_described, files), *_further(pii=pii, phones=phones, exceptions=len(exceptions)))
    return RuleRedactor(
        Scanner(detectors),
        Marker(key),
        allow=exceptions,
        rules=loaded,
        weakened=_weakened(files, exceptions=len(exceptions), pii=pii),
    )


def _weakened(files: Sequence[RuleFile], *, exceptions: int, pii: bool) -> list[str]:
    """Whatever makes fewer texts masked than without the user's settings."""
    own = {rule.id for rule in files[0].rules}
    said: list[str] = []
    for file in files[1:]:
        if file.disabled:
            said.append(f"{file.name} turns off {', '.join(sorted(file.disabled))}")
        if replaced := sorted(own & {rule.id for rule in file.rules}):
            said.append(f"{file.name} replaces {', '.join(replaced)}")
    if exceptions:
        said.append(f"redaction_allow lets {counted(exceptions, 'pattern')} through")
    return said if pii else [*said, "redaction_pii is off: personal data is shown"]


def _described(file: RuleFile) -> str:
    off = f", turns off {', '.join(sorted(file.disabled))}" if file.disabled else ""
    unusable = f", {len(file.unusable)} for file names only: not used" if file.unusable else ""
    return f"{file.name}: {counted(len(file.rules), 'rule')}{off}{unusable}"


def _further(*, pii: bool, phones: Phones, exceptions: int) -> list[str]:
    if not pii:
        personal = ["personal data: off (redaction_pii)"]
    elif phones.present:
        personal = ["personal data by form and check digits", "phone numbers by number plans"]
    else:
        personal = [
            "personal data by form and check digits",
            "phone numbers by length only: install palimpsest-mcp[pii] for number plans",
        ]
    return [
        "values by their names, cookies, private keys",
        *personal,
        *([f"{exceptions} exceptions"] if exceptions else []),
    ]


def _allowed(source: str, number: int) -> Pattern:
    try:
        pattern = compiled(source)
    except BadPattern as error:
        raise InvalidSettings(
            f"Entry {number} of redaction_allow is not a pattern that RE2 takes ({error}).",
            next="Escape signs such as + and ( with a backslash, or take the entry out.",
        ) from None
    if fits_everything(pattern, whole=True):
        raise InvalidSettings(
            f"Entry {number} of redaction_allow matches every text or the empty one: it would turn masking off.",
            next="Write the exact text that may stay, or what it begins and ends with.",
        )
    return pattern
