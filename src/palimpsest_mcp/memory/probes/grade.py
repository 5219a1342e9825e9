"""From answers to a verdict: what passed, what is asked to do about the rest, and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set

import msgspec

from ...models.items import Item
from ...models.probes import MAX_FAILED, FailedProbe, ProbeCount, ProbeReport, ProbeState, net_share
from ...models.text import counted
from .answers import TYPES, Original, Probe, Stays, probe, stood_whole
from .questions import Texts, conversation_probes, distractors, result_probes

PASS = 0.90
"""At least this share passes, where no critical probe failed (seed 003; its code has it inclusive)."""
RED = 0.70
"""Below this share the pass is not to be trusted."""
LEAST_ASKED = 10
"""The share of fewer probes says little: they are not judged, and only critical failures stop anything."""
WEAK = 0.80
"""Below this share of the probes that are not critical there is a note."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The questions about one state of a context: made once, answered as often as its digests change."""

    probes: tuple[Probe, ...]
    distractors: tuple[Probe, ...]
    emptied: int = 0
    """The control: so many of the probes are answered, in pieces at least, by what stays with every digest emptied."""
    known: int = 0
    """Questions that were left out because what is kept answers them."""


class Graded(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the questions."""

    total: int
    critical_total: int
    """Of these, critical ones."""
    by_type: dict[str, ProbeCount]
    failed: tuple[Probe, ...]
    distractors: int
    taken: tuple[Probe, ...]
    """Distractors that were answered "yes"."""
    emptied: int = 0
    """Answered with every digest emptied."""
    known: int = 0
    """Questions that what is kept answers; they are not asked."""

    @property
    def asked(self) -> int:
        """Questions that count: all probes, and the distractors that were taken."""
        return self.total + len(self.taken)

    @property
    def passed(self) -> int:
        return self.total - len(self.failed)

    @property
    def missed(self) -> int:
        """Probes that failed, and distractors that were taken."""
        return len(self.failed) + len(self.taken)

    @property
    def score(self) -> float | None:
        """Share that the digests answer beyond the control; None where nothing was asked of them."""
        return net_share(self.passed, self.asked, self.emptied)

    @property
    def critical(self) -> tuple[Probe, ...]:
        """Critical probes that failed."""
        return tuple(one for one in self.failed if one.critical)

    @property
    def red(self) -> bool:
        """Whether the digests answer so little that the verdict is a red flag."""
        return self.score is not None and self.score < RED and self.asked >= LEAST_ASKED

    @property
    def lost(self) -> bool:
        """Whether the whole context, with what is kept, answers so little that the pass is not to be used (seed 003).

        Of a very tight target the verdict on digests may be red where most of what anybody asks still stands in the
        context: then the target is met and the report says how little the digests hold.
        """
        return self.red and 1 - self.missed / (self.asked + self.known) < RED

    @property
    def weak(self) -> bool:
        """Whether too few passed, and nothing is to be stopped for it: what can be mended is mended."""
        return self.score is not None and self.score < PASS and not self.lost and not self.critical

    @property
    def state(self) -> ProbeState:
        """The verdict; of fewer than `LEAST_ASKED` only a critical failure says something."""
        if self.score is None:
            return "not validated"
        if self.critical:
            return "failed"
        if self.asked < LEAST_ASKED:
            return "not enough to judge"
        if self.score < RED:
            return "failed"
        return "passed" if self.score >= PASS else "passed with a warning"


def ask(
    originals: Sequence[Original],
    kept: Stays | None = None,
    damaged: Sequence[Item] = (),
    read: Texts | None = None,
) -> Asked:
    """The probes of a context as it was, and distractors beside them. Deterministic.

    What its own original does not answer is no question: a cut or escaped value would fail whatever a digest keeps.
    What is kept as it was answers nothing of interest either: such questions pass whatever a digest says.

    Args:
        kept: what stays with every digest and summary emptied.
        damaged: items whose originals cannot be read: each is a question that nothing answers.
        read: what was read of them for an earlier round.
    """
    read = read or Texts()
    texts = {one.item.id: one.text for one in originals}
    made = dict.fromkeys((*conversation_probes(originals, read), *result_probes(originals, read)))
    found = [one for one in made if all(stood_whole(texts[one.item_id], value, read.stood) for value in one.expected)]
    stays = kept or Stays({})
    open_ones = [one for one in found if not _answered(one, stays)]
    known = len(found) - len(open_ones)
    lost = [probe("recall", "What did it say? Its record cannot be read.", (), item) for item in damaged]
    return Asked(
        probes=(*open_ones, *lost),
        distractors=tuple(distractors(open_ones, originals)),
        emptied=sum(stays.scattered(one.expected) for one in open_ones),
        known=known,
    )


def _answered(one: Probe, kept: Stays) -> bool:
    """Whose a value is, is no question either where the value stands in what is kept: somebody has said it already."""
    return kept.holds(one.expected[:1]) if one.type == "owner" else kept.answers(one)


def grade(asked: Asked, stays: Stays) -> Graded:
    """Answer every question from what stays."""
    failed = tuple(one for one in asked.probes if not stays.answers(one))
    missing, grave = Counter(one.type for one in failed), Counter(one.type for one in failed if one.critical)
    totals = Counter(one.type for one in asked.probes)
    return Graded(
        total=len(asked.probes),
        critical_total=sum(one.critical for one in asked.probes),
        by_type={
            name: ProbeCount(passed=totals[name] - missing[name], total=totals[name], critical_failed=grave[name])
            for name in TYPES
            if totals[name]
        },
        failed=failed,
        distractors=len(asked.distractors),
        taken=tuple(one for one in asked.distractors if stays.holds(one.expected)),
        emptied=asked.emptied,
        known=asked.known,
    )


def concerned(graded: Graded, batch_of: Mapping[str, str]) -> set[str]:
    """Batches whose originals a failed probe was made from."""
    return {batch for one in graded.failed if (batch := batch_of.get(one.item_id))}


def untrusted(graded: Graded, batch_of: Mapping[str, str]) -> set[str]:
    """Batches that must not be used: those of critical failures; and of a pass that is lost, those with the most
    failures, as many as it takes to come above `RED`."""
    grave = {batch for one in graded.critical if (batch := batch_of.get(one.item_id))}
    return worst(graded, batch_of, RED, grave, known=graded.known) if graded.lost else grave


def worst(
    graded: Graded, batch_of: Mapping[str, str], share: float, chosen: Set[str] = frozenset(), *, known: int = 0
) -> set[str]:
    """The batches with the most failures, on top of those chosen already: as many as must go for a share to pass.

    Args:
        known: questions that count as passed beside those that were asked.
    """
    by_batch = Counter(batch for one in graded.failed if (batch := batch_of.get(one.item_id)))
    missing = graded.missed - sum(by_batch[batch] for batch in chosen)
    found = set(chosen)
    for batch, count in sorted(by_batch.items(), key=lambda pair: (-pair[1], pair[0])):
        if 1 - missing / (graded.asked + known) >= share:
            break
        if batch not in found:
            found.add(batch)
            missing -= count
    return found


def report(graded: Graded, batch_of: Mapping[str, str], mask: Callable[[str], str]) -> ProbeReport:
    """The report, without retries and times; expected values go through `mask` first."""
    order = sorted((*graded.failed, *graded.taken), key=lambda one: not one.critical)
    return ProbeReport(
        state=graded.state,
        passed=graded.passed,
        total=graded.asked,
        emptied=graded.emptied,
        by_type=graded.by_type,
        failed=tuple(_told(one, batch_of, mask) for one in order[:MAX_FAILED]),
        distractors=graded.distractors,
        distractors_taken=len(graded.taken),
        notes=tuple(_notes(graded)),
    )


def _told(one: Probe, batch_of: Mapping[str, str], mask: Callable[[str], str]) -> FailedProbe:
    return FailedProbe(
        type=one.type,
        question=one.question,
        expected=tuple(map(mask, one.expected)),
        critical=one.critical,
        item_id=one.item_id,
        batch_id=batch_of.get(one.item_id, ""),
    )


def _notes(graded: Graded) -> Iterable[str]:
    if graded.red:
        yield f"red flag: under {RED:.0%} of the probes passed"
    elif graded.score is not None and graded.asked < LEAST_ASKED:
        yield f"{counted(graded.asked, 'probe')} could be asked of what left: not enough to judge"
    if unread := sum(not one.expected for one in graded.failed):
        yield f"{counted(unread, 'original')} cannot be read, each counts as a miss; `verify` says which and why"
    if graded.critical:
        yield f"{counted(len(graded.critical), 'critical probe')} failed"
    lesser, lost = graded.total - graded.critical_total, len(graded.failed) - len(graded.critical)
    if lesser >= LEAST_ASKED and 1 - lost / lesser < WEAK:
        yield f"of the probes that are not critical, under {WEAK:.0%} passed"
