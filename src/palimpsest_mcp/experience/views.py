"""Looks at experience: status of all skills, one digest, where a rule comes from; and takes a compaction back."""

from __future__ import annotations

from collections import Counter

import msgspec

from ..errors import InvalidArgument, RuleUnknown, SkillAmbiguous, SkillUnknown
from ..models.advice import Advice, step
from ..models.text import shown
from .document import ADVICE_CHARS, advice_of, read_document, unified_diff, with_later_lines
from .models import LIVE_LOG, ExperienceView, Explanation, RolledBack, Rule, RuleKind, Section, SkillPlace, SkillStatus
from .promotion import Decision, Standing, decide, key_of_line
from .state import (
    KEPT_SNAPSHOTS,
    Counted,
    LearningDependencies,
    Side,
    SkillState,
    Snapshot,
    Witnesses,
    bare_text,
    count_all,
    count_new,
    decode_snapshot,
    encode,
    patterns_of,
    relevance_of,
    standing_of,
    state_of,
)


class ExperienceViews:
    """The use cases of experience that show it, and the one that goes back.

    A skill is named by its folder's name, or more of its path.
    """

    def __init__(self, means: LearningDependencies) -> None:
        self._means = means

    async def experience_status(self) -> tuple[SkillStatus, ...]:
        """Every skill with experience, by name."""
        return tuple([await self._status(place) for place in await self._means.experience.skills()])

    async def experience_show(self, skill: str) -> ExperienceView:
        """A skill's digest, its rules and its status.

        Raises:
            SkillUnknown, SkillAmbiguous: see their sentences.
        """
        place = await self._means.experience.find(skill)
        state = await state_of(self._means, place)
        rules = self._rules(state)
        standing = standing_of(state.document, state.rules, self._means.today())
        held = waiting_of(self._means, await count_all(self._means, state), standing)
        return ExperienceView(
            status=await self._status(place, state),
            text=state.text,
            advice=advice_of(place.name, rules),
            rules=rules,
            waiting=held.waiting,
            waiting_total=held.waiting_total,
        )

    async def experience_advice(self, skill: str, *, most: int = ADVICE_CHARS) -> str:
        """What a skill's uses taught, for an agent that is about to use it; empty where there is nothing, or no such
        skill.

        Args:
            most: characters.
        """
        try:
            place = await self._means.experience.find(skill)
        except (SkillUnknown, SkillAmbiguous, InvalidArgument):
            return ""
        return advice_of(place.name, self._rules(await state_of(self._means, place)), most=most)

    async def experience_explain(self, rule: str, skill: str = "") -> Explanation:
        """The events that speak of a rule, the newest ones whole.

        Raises:
            RuleUnknown: no digest has the rule, or several have and no skill was named.
        """
        places = (await self._means.experience.find(skill),) if skill else await self._means.experience.skills()
        found: list[tuple[SkillState, Rule]] = []
        for place in places:
            state = await state_of(self._means, place)
            found += [(state, one) for one in self._rules(state) if one.id == rule]
        if len(found) != 1:
            raise _no_one_rule(rule, [state.place.name for state, _ in found])
        return await self._explained(*found[0])

    async def experience_rollback(self, skill: str) -> RolledBack:
        """Put the digest back as it was before the last compaction that was not taken back yet; what a person wrote
        into it since stays.

        What was read of the log stays read: new events are needed before a compaction makes the same rules again. The
        text that is replaced is kept as a snapshot too.

        Raises:
            SkillUnknown, SkillAmbiguous, WriteFailed, LockTimeout: the digest is as it was.
        """
        place = await self._means.experience.find(skill)
        async with self._means.experience.lock(place):
            names = await self._means.experience.files.snapshots(place)
            for name in reversed(names):
                snapshot = decode_snapshot(await self._means.experience.files.snapshot(place, name))
                if snapshot is not None and snapshot.why == "compact":
                    return await self._rolled_back(await state_of(self._means, place), name, snapshot, names)
        return RolledBack(skill=place.name, status="nothing_to_do")

    async def _rolled_back(
        self, state: SkillState, name: str, snapshot: Snapshot, names: tuple[str, ...]
    ) -> RolledBack:
        files, place = self._means.experience.files, state.place
        side = state.side or Side(skill=place.name, folder=place.folder)
        current = await files.read(place, "digest")
        kept_as = next_snapshot(names)
        at = self._means.clock().isoformat(timespec="milliseconds")
        replaced = Snapshot(at=at, why="rollback", digest=current, rules=side.rules)
        digest = _with_later_lines(state, snapshot)
        await files.keep_snapshot(place, kept_as, encode(replaced))
        await files.replace(place, "digest", digest)
        await files.replace(place, "side", encode(msgspec.structs.replace(side, rules=snapshot.rules)))
        await files.keep_snapshot(place, name, None)
        for old in names[: max(0, len(names) - KEPT_SNAPSHOTS)]:
            await files.keep_snapshot(place, old, None)
        text = (digest or b"").decode("utf-8", "surrogateescape")
        return RolledBack(
            skill=place.name,
            status="rolled_back",
            snapshot=name,
            diff=unified_diff(state.text, text),
            text=text,
            kept_as=kept_as,
        )

    async def _status(self, place: SkillPlace, state: SkillState | None = None) -> SkillStatus:
        state = state or await state_of(self._means, place)
        new = await count_new(self._means, state)
        rules = Counter(rule.section for rule in self._rules(state))
        return SkillStatus(
            skill=place.name,
            folder=place.folder,
            new_events=new.events,
            new_bytes=state.new_bytes,
            log_bytes=state.live_bytes,
            damaged=new.damaged + state.damaged,
            triggers=new.triggers(state),
            rules=rules["active"],
            queries=rules["queries"],
            failures=rules["failures"],
            pending=rules["pending"],
            not_shown=sum(not rule.shown for rule in state.side.rules) if state.side else 0,
            archives=sum(read.part.name != LIVE_LOG for read in state.reads),
            snapshots=len(await self._means.experience.files.snapshots(place)),
            last_compacted=_last(state),
            lines=state.text.count("\n"),
        )

    def _rules(self, state: SkillState) -> tuple[Rule, ...]:
        """Rules that we know, and what people wrote into the sections of rules."""
        side = state.rules
        standing = standing_of(state.document, side, self._means.today())
        by_hand = [
            self._by_hand(line, part.place)
            for part in state.document.parts
            for line in part.hand
            if part.place in ("active", "failures", "queries", "pending") and bare_text(line)
        ]
        taken = {rule.id for rule in by_hand}
        return (*(rule for rule in standing.rules if rule.id not in taken), *by_hand)

    def _by_hand(self, line: str, section: str) -> Rule:
        today = self._means.today()
        place = msgspec.convert(section, Section)
        kind, key = key_of_line(place, bare_text(line))
        return Rule(
            id=line.rsplit("id=", 1)[-1].strip() if "id=r" in line else "r" + key[:4],
            kind=msgspec.convert(kind, RuleKind),
            section=place,
            text=bare_text(line),
            seen=0,
            first_seen=today,
            last_seen=today,
            last_verified=today,
            keys=(key,),
        )

    async def _explained(self, state: SkillState, rule: Rule) -> Explanation:
        means = self._means
        relevance = await relevance_of(means, state)
        witnesses = Witnesses(rule.kind, rule.keys, means.today().toordinal(), relevance=relevance)
        for read in state.reads:
            async for block in means.experience.log.blocks(state.place, read.part):
                witnesses.add(block)
        rows = tuple({name: means.mask(value) for name, value in row.items()} for row in witnesses.events)
        notes = () if rule.seen else ("this line was written by hand; the events below say the same",)
        if witnesses.total > len(rows):
            notes = (*notes, f"{witnesses.total - len(rows)} older events are not listed")
        return Explanation(skill=state.place.name, rule=rule, events=rows, total=witnesses.total, notes=notes)


def _with_later_lines(state: SkillState, snapshot: Snapshot) -> bytes | None:
    """The digest of a snapshot, with what a person wrote since."""
    text = (snapshot.digest or b"").decode("utf-8", "surrogateescape")
    earlier = read_document(text, state.place.name, {rule.id: rule.text for rule in snapshot.rules})
    whole = with_later_lines(text, earlier, state.document)
    only_a_title = snapshot.digest is None and whole == state.document.title
    return snapshot.digest if whole == text or only_a_title else whole.encode("utf-8", "surrogateescape")


def waiting_of(means: LearningDependencies, counted: Counted, standing: Standing) -> Decision:
    """What would be decided now, for its patterns that wait."""
    told, clusters, _ = patterns_of(counted.tally, standing)
    return decide(clusters, told, means.today(), min_wilson=means.min_wilson, mask=means.mask)


def next_snapshot(names: tuple[str, ...]) -> str:
    """The name that comes after all others."""
    numbers = [int(stem) for name in names if (stem := name.removesuffix(".json")).isdigit()]
    return f"{max(numbers, default=0) + 1:06d}.json"


def _last(state: SkillState) -> str:
    if state.side and state.side.compacted_at:
        return state.side.compacted_at
    last = state.document.last_compacted
    return last.isoformat() if last else ""


def _no_one_rule(rule_id: str, skills: list[str]) -> RuleUnknown:
    if skills:
        return RuleUnknown(
            f"{len(skills)} skills have a rule {rule_id[:40]}: {', '.join(skills)}.", next="Name the skill too."
        )
    return RuleUnknown(
        f"No digest has a rule {shown(rule_id)}.",
        next=Advice(
            "Take the id at the end of a rule's line; the skills that have rules: {}", step("experience_status")
        ),
    )
