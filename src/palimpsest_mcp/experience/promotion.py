"""Which patterns are rules: what was counted, what the digest has already, and the thresholds. Values in, values out.

A rule is promoted by votes of the last 30 days only. Once it stands it keeps its counts, and leaves by age, or when
new failures take it below the thresholds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date

import msgspec

from ..models.text import counted
from .events import Correction
from .forms import form_of, in_backticks, key_hash, reads_like_orders, safe_line
from .models import Rule, Section, Waiting, lower_bound
from .tally import Cause, Cluster

MIN_SEEN, MIN_SUCCESS = 3, 2
"""The seed's floor, in votes."""
MIN_FAILED = 2
"""A failure that nobody rejected or corrected is a failure mode from its second vote on."""
ACTIVE_DAYS, PENDING_DAYS = 30, 60
"""Verified up to 30 days ago: active. 31 to 60: pending. Older: gone."""
HOME: Mapping[str, Section] = {"rule": "active", "query": "queries", "correction": "failures"}
LABELS: Mapping[Cause, str] = {
    "correction": "user corrected this: ",
    "rejected": "rejected by user: ",
    "rubric": "failed its rubric: ",
    "relevance": "low relevance: ",
    "": "did not work: ",
}
"""Why a text that reads like a rule is a failure mode."""
CORRECTED, WANTED, ONLY_WANTED = "user corrected: ", "; wanted: ", "user corrected; wanted: "
"""A correction's line keeps its direction: what the user wants never reads as what went wrong."""
_FORMER_CORRECTION = "user correction: "
"""What a correction's line began with in earlier versions."""


MOST_WAITING = 10
MOST = 80
"""Rules of a section that are worded and kept; further ones are only counted."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The rules as they stand from now on, and what changed."""

    rules: tuple[Rule, ...]
    left_over: Mapping[Section, int] = {}
    """How many more there are of a section."""
    promoted: tuple[str, ...] = ()
    """Texts, as are the next two; of rules that were not shown before, whether there is room for them or not."""
    expired: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    review: tuple[str, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    """The first `MOST_WAITING`, the nearest to a rule first."""
    waiting_total: int = 0


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What there is before the decision."""

    rules: Sequence[Rule]
    adopted: frozenset[str] = frozenset()
    """Ids of rules that only the file knows: their counts may or may not contain what is in the log."""
    hand_keys: frozenset[str] = frozenset()
    """Key hashes of what people wrote: their line stands for the rule."""
    hand_texts: Sequence[tuple[str, str]] = ()
    """Kind and text of each of those lines."""
    hand_stances: Mapping[str, str] = {}
    """Stance of a hand-written rule -> how to name it."""


def decide(
    clusters: Iterable[Cluster],
    standing: Standing,
    today: date,
    *,
    min_wilson: float,
    mask: Callable[[str], str],
    words: Mapping[str, str] | None = None,
) -> Decision:
    """Judge every pattern and every standing rule.

    Args:
        min_wilson: least lower bound of success; 0 gives the seed's rule exactly.
        mask: takes secrets out of a text; asked only for what may be shown.
        words: key hash -> wording for a new rule; without one its most frequent wording.
    """
    bench = _Bench(standing, today, min_wilson, mask, words or {})
    for cluster in sorted(clusters, key=lambda one: (-one.success, -one.seen, one.key)):
        if standing.hand_keys.isdisjoint(cluster.keys):
            bench.judge(cluster, bench.standing_rule(cluster))
    for rule in standing.rules:
        if rule.id not in bench.judged and standing.hand_keys.isdisjoint(rule.keys):
            bench.judge(None, rule)
    return bench.decision()


class _Bench:
    """One decision while it is made."""

    def __init__(
        self,
        standing: Standing,
        today: date,
        min_wilson: float,
        mask: Callable[[str], str],
        words: Mapping[str, str],
    ) -> None:
        self._standing = standing
        self._today = today
        self._min_wilson = min_wilson
        self._mask = mask
        self._words = words
        self._by_key = {(rule.kind, key): rule for rule in standing.rules for key in rule.keys}
        self._taken = {rule.id for rule in standing.rules}
        self.judged: set[str] = set()
        self._judged: dict[Section, list[tuple[Rule, Cluster | None, Rule | None]]] = {}
        self._removed: list[str] = []
        self._review: list[str] = []
        self._waiting: list[Cluster] = []

    def standing_rule(self, cluster: Cluster) -> Rule | None:
        """The rule that one of its forms belongs to already, if any."""
        return next((found for key in cluster.keys if (found := self._by_key.get((cluster.kind, key)))), None)

    def judge(self, cluster: Cluster | None, old: Rule | None) -> None:
        """Keep, move, add or leave out one rule."""
        if old is not None:
            if old.id in self.judged:
                return
            self.judged.add(old.id)
        stands = old is not None and old.section != "failures"
        rule = self._counted(cluster, old)
        if rule is None:
            return
        section = self._section(cluster, old, rule)
        if section is None:
            if stands:
                self._removed.append(rule.text)
            elif cluster is not None and set(cluster.causes) != {"correction"}:  # its correction is told
                self._waiting.append(cluster)
            return
        rule = self._dated(cluster, msgspec.structs.replace(rule, section=section))
        self._judged.setdefault(section, []).append((rule, cluster, old))

    def decision(self) -> Decision:
        rules = self._with_conflicts([self._worded(*one) for judged in self._judged.values() for one in _best(judged)])
        before = {rule.id: rule for rule in self._standing.rules}
        home = [rule for rule in rules if rule.section in ("active", "queries")]
        was_home = {rule.id for rule in self._standing.rules if rule.section in ("active", "queries")}
        stood = {rule.id for rule in self._standing.rules if rule.section != "failures"}
        return Decision(
            rules=tuple(rules),
            left_over={section: max(0, len(judged) - MOST) for section, judged in self._judged.items()},
            promoted=tuple(rule.text for rule in home if rule.id not in stood or not before[rule.id].shown),
            expired=tuple(
                rule.text for rule in rules if rule.section == "pending" and not rule.conflict and rule.id in was_home
            ),
            removed=(*self._removed, *(before[r.id].text for r in rules if r.section == "failures" and r.id in stood)),
            review=tuple(self._review),
            waiting=tuple(self._told(one) for one in self._nearest()),
            waiting_total=len(self._waiting),
        )

    def _nearest(self) -> list[Cluster]:
        waiting = sorted(self._waiting, key=lambda one: (-one.success, -one.seen, -one.last_day, one.key))
        return waiting[:MOST_WAITING]

    def _told(self, cluster: Cluster) -> Waiting:
        said = self._safe(cluster.members[0])
        return Waiting(
            kind=cluster.kind,
            text=in_backticks(said) if cluster.kind == "query" else said,
            why=self._why(cluster),
            seen=cluster.seen,
            success=cluster.success,
            failed=cluster.failed,
        )

    def _why(self, cluster: Cluster) -> str:
        """What is missing, of the first condition that is not met."""
        seen, success = cluster.seen, cluster.success
        if not success:
            return "it failed once; a second failure makes it a failure mode" if cluster.failed else "no success yet"
        if seen < MIN_SEEN or success < MIN_SUCCESS:
            votes = f"{counted(seen, 'vote')} of {MIN_SEEN}"
            return votes if success == seen else f"{votes}, {counted(success, 'success')} of {MIN_SUCCESS}"
        if not self._passes(success, seen):
            more = next(n for n in range(1, 1_000) if self._passes(success + n, seen + n))
            bound = lower_bound(success, seen)
            return (
                f"worked in {success} of {seen}, lower bound {bound:.2f} of {self._min_wilson:.2f}: "
                f"{counted(more, 'further success')} would do"
            )
        return "it reads like orders to an agent"

    def _counted(self, cluster: Cluster | None, old: Rule | None) -> Rule | None:
        """The rule with its counts: those of the window, or for one that stands its own and what came since."""
        if cluster is None:
            return old
        first, last = date.fromordinal(cluster.first_day), date.fromordinal(cluster.last_day)
        verified = date.fromordinal(cluster.last_success or cluster.first_day)
        if old is None or old.section == "failures" and not self._fails(cluster):
            return Rule(
                id=old.id if old else self._new_id(cluster.key),
                kind=cluster.kind,
                section="failures",
                text="",
                seen=cluster.seen,
                success=cluster.success,
                failed=cluster.failed,
                first_seen=first,
                last_seen=last,
                last_verified=verified,
                keys=cluster.keys,
            )
        seen, success, failed = self._summed(cluster, old)
        return msgspec.structs.replace(
            old,
            seen=seen,
            success=success,
            failed=failed,
            first_seen=min(old.first_seen, first),
            last_seen=max(old.last_seen, last),
            last_verified=max(old.last_verified, verified) if cluster.last_success else old.last_verified,
            keys=tuple(dict.fromkeys([*old.keys, *cluster.keys])),
        )

    def _summed(self, cluster: Cluster, old: Rule) -> tuple[int, int, int]:
        if old.id in self._standing.adopted:
            return max(old.seen, cluster.seen), max(old.success, cluster.success), max(old.failed, cluster.failed)
        seen = old.seen + cluster.seen - cluster.seen_before
        success = max(0, old.success + cluster.success - cluster.success_before)
        return seen, min(success, seen), max(0, old.failed + cluster.failed - cluster.failed_before)

    def _section(self, cluster: Cluster | None, old: Rule | None, rule: Rule) -> Section | None:
        if rule.kind == "correction":
            return "failures"
        stands = old is not None and old.section != "failures"
        if self._holds(cluster, old if stands else None, rule):
            age = (self._today - rule.last_verified).days
            if age <= ACTIVE_DAYS:
                return HOME[rule.kind]
            return "pending" if stands and age <= PENDING_DAYS else None
        if cluster is not None and self._fails(cluster):
            return "failures"
        if old is not None and old.section == "failures" and (cluster is None or not cluster.success):
            return "failures" if (self._today - rule.last_verified).days <= PENDING_DAYS else None
        return None

    def _holds(self, cluster: Cluster | None, old: Rule | None, rule: Rule) -> bool:
        """Whether the votes carry it. One that stands needs no new proof while nothing new speaks against it."""
        if old is None:
            if cluster is None or not self._passes(cluster.success, cluster.seen):
                return False
            if any(reads_like_orders(text) for text in cluster.members):
                self._review.append(f"not promoted, it reads like orders to an agent: {self._safe(cluster.members[0])}")
                return False
            return True
        new_failures = cluster is not None and cluster.failed > (
            0 if rule.id in self._standing.adopted else cluster.failed_before
        )
        return not new_failures or self._passes(rule.success, rule.seen)

    def _passes(self, success: int, seen: int) -> bool:
        return seen >= MIN_SEEN and success >= MIN_SUCCESS and lower_bound(success, seen) >= self._min_wilson

    def _fails(self, cluster: Cluster) -> bool:
        """Whether it is a failure mode: said so by the user once, else failing more often than not, and twice. For
        what was only ever corrected the correction stands, which also says what is wanted."""
        if cluster.kind != "correction" and set(cluster.causes) == {"correction"} and not cluster.named_failure:
            return False
        return cluster.rejected or (cluster.failed >= MIN_FAILED and cluster.failed > cluster.success)

    def _dated(self, cluster: Cluster | None, rule: Rule) -> Rule:
        """A failure mode is as new as its newest failure; a bound belongs to every rule."""
        bound = round(lower_bound(rule.success, rule.seen), 6)
        if cluster is not None and rule.section == "failures":
            newest = date.fromordinal(cluster.last_failure or cluster.last_day)
            rule = msgspec.structs.replace(rule, last_verified=newest, failed=max(1, rule.failed))
        return msgspec.structs.replace(rule, lower_bound=bound, conflict="", shown=True)

    def _worded(self, rule: Rule, cluster: Cluster | None, old: Rule | None) -> Rule:
        """A rule keeps its words for as long as it stays on its side of the fence."""
        same_side = old is not None and old.text and (old.section == "failures") == (rule.section == "failures")
        text = old.text if old is not None and same_side else self._text(cluster, rule)
        members = rule.members or tuple(map(self._safe, cluster.members[:5] if cluster else ()))
        return msgspec.structs.replace(rule, text=text, members=members)

    def _text(self, cluster: Cluster | None, rule: Rule) -> str:
        if cluster is None:
            return rule.text
        said = self._safe(self._words.get(cluster.key, cluster.members[0]))
        if rule.kind == "query":
            said = in_backticks(said)
        if rule.section != "failures":
            return said
        if rule.kind == "correction":
            return self._directed(cluster, said)
        if cluster.rejected:
            return LABELS["rejected"] + said
        if cluster.named_failure:
            return said if rule.kind == "rule" else LABELS[""] + said
        return LABELS[cluster.causes[0] if cluster.causes else ""] + said

    def _directed(self, cluster: Cluster, said: str) -> str:
        """A correction with its two sides, as far as they were told."""
        told = cluster.corrections[0] if cluster.corrections else Correction("", said)
        if not told.wanted:
            return CORRECTED + said
        return f"{CORRECTED}{self._safe(told.corrected)}{WANTED}{said}" if told.corrected else ONLY_WANTED + said

    def _safe(self, text: str) -> str:
        return safe_line(self._mask(text)) or "(no words)"

    def _new_id(self, key: str) -> str:
        length = 4
        while (name := "r" + key[:length]) in self._taken and length < len(key):
            length += 1
        self._taken.add(name)
        return name

    def _with_conflicts(self, rules: Sequence[Rule]) -> list[Rule]:
        """Rules that say the opposite of one another are pending until a person decides."""
        live = [rule for rule in rules if rule.kind == "rule" and rule.section == "active"]
        forms = {rule.id: form_of(rule.text) for rule in live}
        stances = {**self._standing.hand_stances, **{form.stance: rule_id for rule_id, form in forms.items()}}
        out: list[Rule] = []
        for rule in rules:
            other = stances.get(forms[rule.id].opposite) if rule.id in forms else None
            if other is not None:
                self._review.append(f"{rule.id} says the opposite of {other}: {rule.text}")
                rule = msgspec.structs.replace(rule, section="pending", conflict=other)
            out.append(rule)
        return out


def _best(judged: list[tuple[Rule, Cluster | None, Rule | None]]) -> list[tuple[Rule, Cluster | None, Rule | None]]:
    """Those that may be shown: wording costs time, and a log may have thousands of failures."""

    def worth(one: tuple[Rule, Cluster | None, Rule | None]) -> tuple[object, ...]:
        rule = one[0]
        votes = rule.failed if rule.section == "failures" else rule.success
        return (rule.kind != "correction", -votes, -rule.seen, -rule.last_verified.toordinal(), rule.id)

    return sorted(judged, key=worth)[:MOST]


def label_free(text: str) -> str:
    """A failure mode's text without the label that code put before it; of a correction what names it."""
    if _is_correction(text):
        _, both, wanted = text.partition(WANTED)
        return wanted if both else text.removeprefix(CORRECTED).removeprefix(_FORMER_CORRECTION)
    for label in LABELS.values():
        text = text.removeprefix(label)
    return text


def _is_correction(text: str) -> bool:
    return text.startswith((CORRECTED, ONLY_WANTED, _FORMER_CORRECTION))


def key_of_line(section: Section, text: str) -> tuple[str, str]:
    """Kind and key hash of a line of the digest."""
    bare = label_free(text).strip()
    kind = "rule"
    if _is_correction(text):
        kind = "correction"
    elif section == "queries" or (bare.startswith("`") and bare.endswith("`") and len(bare) > 1):
        kind, bare = "query", bare.strip("`")
    return kind, key_hash(kind, form_of(bare).key)
