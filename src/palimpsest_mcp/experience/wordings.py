"""What a model may say about rules, and the check that it adds nothing.

A proposal is taken only if every word of it stands in the wordings that it is about, none of its numbers is new, its
polarity is theirs, and it keeps at least half of what each of them says. Anything else is left aside, rule by rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from ..ports.experience import RuleDraft, WordedRule
from .forms import content_of, form_of
from .safe_text import safe_line
from .votes import Cluster

MOST_DRAFTS = 40
_TEXTS_EACH = 3
_LEAST_SHARE = 0.5
_GLUE = frozenset(("and", "or", "with", "to", "in", "on", "for", "of", "when", "then", "at", "from", "by", "as", "if"))
"""Words that join and say nothing by themselves; the only ones that a proposal may add."""


class Accepted(msgspec.Struct, frozen=True):
    """What was taken over."""

    groups: tuple[tuple[str, ...], ...]
    """Key hashes that are one rule each."""
    words: dict[str, str]
    """First key hash of a group -> its wording."""
    refused: int


def drafts_of(clusters: Sequence[Cluster], standing: frozenset[str], mask: Callable[[str], str]) -> list[RuleDraft]:
    """New rules that may be promoted, the most successful first.

    Args:
        standing: keys of rules that stand; those keep their words.
    """
    new = [one for one in clusters if one.kind == "rule" and one.success and standing.isdisjoint(one.keys)]
    new.sort(key=lambda one: (-one.success, -one.seen, one.key))
    return [
        RuleDraft(one.key, tuple(safe_line(mask(text)) for text in one.members[:_TEXTS_EACH]))
        for one in new[:MOST_DRAFTS]
    ]


def accepted(proposals: Sequence[WordedRule], drafts: Sequence[RuleDraft]) -> Accepted:
    """Those proposals that add nothing; a draft is used once."""
    by_id = {draft.id: draft for draft in drafts}
    groups: list[tuple[str, ...]] = []
    words: dict[str, str] = {}
    used: set[str] = set()
    for proposal in proposals:
        ids = tuple(dict.fromkeys(proposal.ids))
        about = [by_id[one] for one in ids if one in by_id]
        if len(about) != len(ids) or not ids or not used.isdisjoint(ids) or not adds_nothing(proposal.text, about):
            continue
        used.update(ids)
        groups.append(ids)
        words[ids[0]] = safe_line(proposal.text)
    return Accepted(tuple(groups), words, len(proposals) - len(groups))


def adds_nothing(text: str, about: Sequence[RuleDraft]) -> bool:
    """Whether a wording is made of what it is about, means the same way, and leaves no draft half unsaid."""
    if not text.strip() or text != safe_line(text) or not about:
        return False
    said = set(content_of(text))
    sources = [set(content_of(" ".join(draft.texts))) for draft in about]
    if not said <= set().union(*sources, _GLUE) or not said - _GLUE:
        return False
    signs = {form_of(one).key[:1] for draft in about for one in draft.texts}
    if signs != {form_of(text).key[:1]}:
        return False
    firsts = [set(content_of(draft.texts[0])) - _GLUE for draft in about]
    return all(len(first & said) >= _LEAST_SHARE * len(first) for first in firsts)
