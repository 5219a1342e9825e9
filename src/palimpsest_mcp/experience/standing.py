"""What stands before a decision: rules of the side file, rules that only the digest has, and what people wrote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

import msgspec

from .document import Document, Written
from .forms import form_of, safe_line
from .models import Rule, RuleKind
from .promotion import ACTIVE_DAYS, PENDING_DAYS, Standing, key_of_line

_BULLET = re.compile(r"^\s*[-*+]\s+(?:\[pin(?:ned)?\]\s*)?", re.IGNORECASE)
_FOOTER = re.compile(r"\s+(?:—|--)\s+seen=.*$")
_ID = re.compile(r"\bid=(r[0-9a-f]{3,64})\s*$")


def standing_of(document: Document, rules: Sequence[Rule], today: date) -> Standing:
    """Bring together what the side file and the digest say.

    Args:
        rules: of the side file.
    """
    by_id = {rule.id: rule for rule in rules}
    adopted = _adopted(document, rules, today)
    keys: set[str] = set()
    stances: dict[str, str] = {}
    for part in document.parts:
        if part.place in ("foreign", "last"):
            continue
        for line in part.hand:
            if not (text := bare_text(line)):
                continue
            keys.add(key_of_line(part.place, text)[1])
            if (match := _ID.search(line)) and match[1] in by_id:
                keys.update(by_id[match[1]].keys)
            if part.place == "active":
                stances[form_of(text).stance] = "a line written by hand"
    return Standing(
        rules=[*rules, *adopted],
        adopted=frozenset(rule.id for rule in adopted),
        hand_keys=frozenset(keys),
        hand_stances=stances,
    )


def crosses_a_limit(rule: Rule, today: date) -> bool:
    """Whether time alone moves it to another section, or out."""
    age = (today - rule.last_verified).days
    if rule.kind == "correction":
        return False
    if rule.section in ("active", "queries"):
        return age > ACTIVE_DAYS
    return age > PENDING_DAYS


def bare_text(line: str) -> str:
    """A line of the digest without bullet, pin and footer."""
    return _FOOTER.sub("", _BULLET.sub("", line)).strip()


def _adopted(document: Document, rules: Sequence[Rule], today: date) -> list[Rule]:
    """Lines with a footer that the side file does not know: another program's, or ours after the side file was lost."""
    taken = {rule.id for rule in rules}
    known = {key for rule in rules for key in rule.keys}
    out: list[Rule] = []
    for written in document.rules:
        kind, key = key_of_line(written.section, written.text)
        if written.id in taken or key in known:
            continue
        rule = _rule(written, kind, key, _free_id(written.id or "r" + key[:4], key, taken), document, today)
        taken.add(rule.id)
        known.add(key)
        out.append(rule)
    return out


def _free_id(wanted: str, key: str, taken: set[str]) -> str:
    length = 4
    while wanted in taken and length < len(key):
        length += 1
        wanted = "r" + key[:length]
    return wanted


def _rule(written: Written, kind: str, key: str, rule_id: str, document: Document, today: date) -> Rule:
    fallback = document.last_compacted.date() if document.last_compacted else today
    day = written.last_verified or fallback
    failing = written.section == "failures"
    return Rule(
        id=rule_id,
        kind=msgspec.convert(kind, RuleKind),
        section=written.section,
        text=safe_line(written.text),
        seen=written.seen,
        success=0 if failing else written.seen if written.success is None else written.success,
        failed=written.seen if failing else 0,
        first_seen=day,
        last_seen=day,
        last_verified=day,
        keys=(key,),
    )
