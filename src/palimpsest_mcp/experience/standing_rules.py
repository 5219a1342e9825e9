"""What stands before a decision: rules of the side file, rules that only the digest has, and what people wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date

import msgspec

from .document import Document, RuleInFile
from .models import Rule, RuleKind
from .promotion import ACTIVE_DAYS, HOME, PENDING_DAYS, Standing, key_of_line, label_free
from .tally import Tally
from .votes import Cluster
from .wording import form_of, near_groups, safe_line

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
    texts: list[tuple[str, str]] = []
    for part in document.parts:
        if part.place in ("foreign", "last"):
            continue
        for line in part.hand:
            if not (text := bare_text(line)):
                continue
            kind, key = key_of_line(part.place, text)
            keys.add(key)
            texts.append((kind, label_free(text).strip("`")))
            if (match := _ID.search(line)) and match[1] in by_id:
                keys.update(by_id[match[1]].keys)
            if part.place == "active":
                stances[form_of(text).stance] = "a line written by hand"
    return Standing(
        rules=[*rules, *adopted],
        adopted=frozenset(rule.id for rule in adopted),
        hand_keys=frozenset(keys),
        hand_texts=texts,
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


def _rule(written: RuleInFile, kind: str, key: str, rule_id: str, document: Document, today: date) -> Rule:
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


# Near-equal wordings are one pattern.


_MOST_NEAR = 2_000
"""Patterns of a kind that are compared, the most telling first: a log may have twenty thousand."""
_WORDINGS = 3
"""Of each that are compared."""


def one_pattern(clusters: Iterable[Cluster], standing: Standing) -> tuple[list[tuple[str, ...]], frozenset[str]]:
    """Key hashes that are one pattern each, standing rules included; and those that a hand-written line says."""
    groups: list[tuple[str, ...]] = []
    by_hand: set[str] = set()
    rules = {rule.id for rule in standing.rules}
    ranked = sorted(clusters, key=lambda one: (-one.success, -one.seen, one.key))
    for kind in HOME:
        keys: dict[str, tuple[str, ...]] = {}
        texts: dict[str, Sequence[str]] = {}
        for at, (its_kind, text) in enumerate(standing.hand_texts):
            if its_kind == kind:
                keys[f"hand {at}"], texts[f"hand {at}"] = (), (text,)
        for rule in standing.rules:
            if rule.kind == kind:
                keys[rule.id], texts[rule.id] = rule.keys, (label_free(rule.text).strip("`"), *rule.members)[:_WORDINGS]
        taken = {key for some in keys.values() for key in some}
        for cluster in [one for one in ranked if one.kind == kind and taken.isdisjoint(one.keys)][:_MOST_NEAR]:
            keys[cluster.key], texts[cluster.key] = cluster.keys, cluster.members[:_WORDINGS]
        for first, names in near_groups(texts.items()).items():
            if first.startswith("hand "):
                by_hand.update(key for name in names for key in keys[name])
                continue
            apart = [name for name in names if name != first and name in rules]  # two rules that stand stay two
            together = [key for name in names if name not in apart for key in keys[name]]
            groups += [
                tuple(dict.fromkeys(some)) for some in (together, *(keys[name] for name in apart)) if len(some) > 1
            ]
    return groups, frozenset(by_hand)


def patterns_of(tally: Tally, standing: Standing) -> tuple[Standing, list[Cluster], list[tuple[str, ...]]]:
    """What was counted with near-equal wordings as one pattern, what stands with what a hand-written line says nearly,
    and the key hashes that are one."""
    groups, by_hand = one_pattern(tally.clusters(rule.keys for rule in standing.rules if len(rule.keys) > 1), standing)
    told = msgspec.structs.replace(standing, hand_keys=standing.hand_keys | by_hand)
    return told, tally.clusters(groups), groups
