"""Records of what leaves without a digest: arguments of calls under notes, and what a later result says again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...context.arguments import first_line, long_strings, notes
from ...context.gates import Repeat
from ...context.scene import bare_line
from ...digest.blocks import escaped
from ...digest.choice import outcome_lines
from ...digest.notation import ESCAPE, header, item_note, lines_of
from ...digest.proof import check_part, facts_of
from ...digest.study import Study
from ...digest.verdict import counted
from ...errors import DigestRefused
from ...hosts.pieces import with_arguments
from ...models.events import SessionInfo
from ...models.items import content_sha256, content_text
from ...models.plans import ContextItem
from ...models.records import (
    DigestLine,
    DigestRequest,
    DigestSource,
    OffloadRecord,
    Reason,
    Verification,
)
from ...ports.seams import Redacted
from ..batch import Made, archived, masks_in
from ..dependencies import ContentCounter, Dependencies
from .digests import Sources

DIGESTER = "pointer/1"
"""What records name as theirs that a pass made here."""
_ENOUGH = 1_000_000
_READ = 8_000
"""Characters of an argument that are masked to quote its first line."""
_BRACKETS = str.maketrans("[]", "()")


class Pointers:
    """Makes the batches of one pass that leave without a digest. Nothing is written; not for the event loop."""

    def __init__(
        self, deps: Dependencies, info: SessionInfo, counter: ContentCounter, sources: Sources, reason: Reason
    ) -> None:
        self._deps = deps
        self._info = info
        self._counter = counter
        self._sources = sources
        self._reason: Reason = reason

    def arguments(self, items: Sequence[ContextItem], batch_id: str) -> Made:
        """Calls with notes in the place of their long arguments; those that would not be shorter are not in it.

        Raises:
            DigestRefused: none would be.
        """
        stands: dict[str, str] = {}
        tokens: dict[str, int] = {}
        shapes: dict[str, str] = {}
        way_back = f"restore_batch {self._info.handle} {batch_id}"
        for one in items:
            strings = long_strings(one.item)
            begins = {place: first_line(self._deps.masked(text[:_READ])) for place, text in strings.items()}
            texts = notes(one.item, begins, way_back)
            block = with_arguments(one.item.content, texts) if isinstance(one.item.content, dict) else None
            if block is None or (size := self._counter.count_content(block)) >= one.item.tokens:
                continue
            name = one.item.id
            stands[name], tokens[name] = content_text(block), size
            shapes[name] = _shape(strings)
        left = [one for one in items if one.item.id in stands]
        if not left:
            raise DigestRefused("No call would be shorter.", next="Leave these calls as they are.")
        return self._made(left, batch_id, shapes, tokens, stands)

    def repeated(self, items: Sequence[ContextItem], why: Mapping[str, Repeat], batch_id: str) -> Made:
        """Results that a later one says again, or that are no longer true, each under a pointer that says so.

        Args:
            why: item id -> which later call.

        Raises:
            DigestRefused: the pointers would not be shorter.
        """
        said = {one.item.id: self._deps.masked(why[one.item.id].words).translate(_BRACKETS) for one in items}
        lacks = {one.item.id: lines for one in items if (lines := why[one.item.id].lacks) is not None}
        made = self._made(items, batch_id, said, lacks=lacks)
        if made.record.digest_token_count >= sum(one.item.tokens for one in items):
            raise DigestRefused("The pointers would not be shorter.", next="Leave these items as they are.")
        return made

    def _made(
        self,
        items: Sequence[ContextItem],
        batch_id: str,
        shapes: Mapping[str, str],
        tokens: Mapping[str, int] | None = None,
        stands: Mapping[str, str] | None = None,
        lacks: Mapping[str, frozenset[str]] | None = None,
    ) -> Made:
        masked = self._sources.masked(items)
        sources = self._sources.of(items, masked)
        record = pointer_record(
            self._deps,
            self._info,
            batch_id,
            items,
            masked,
            sources,
            [shapes[one.item.id] for one in items],
            self._counter,
            tokens=tokens or {},
            reason=self._reason,
            digester=DIGESTER,
            outcomes=stands is None,
            lacks=lacks,
        )
        return Made(record=record, texts=tuple(one.text for one in masked), stands=dict(stands or {}))


def _shape(strings: Mapping[tuple[str | int, ...], str]) -> str:
    """Which arguments left, in words."""
    names = list(dict.fromkeys(str(place[-1]) for place in strings))
    return f"{', '.join(names[:3])}{' …' if len(names) > 3 else ''} left the call".translate(_BRACKETS)


_BELOW = ("", "; a line of this one:", "; lines of this one:")
"""Said of none, one and more lines below a note: without it they could be what changed since."""
_ONLY = ("a line that only this one has", "lines that only this one has")
_MOST, _LONGEST = 3, 140
"""Of these so many, none with more characters."""


def pointer_record(
    deps: Dependencies,
    info: SessionInfo,
    batch_id: str,
    items: Sequence[ContextItem],
    masked: Sequence[Redacted],
    sources: Sequence[DigestSource],
    shapes: Sequence[str],
    counter: ContentCounter,
    *,
    tokens: Mapping[str, int],
    reason: Reason,
    digester: str,
    outcomes: bool = False,
    lacks: Mapping[str, frozenset[str]] | None = None,
) -> OffloadRecord:
    """The record of a batch of which nothing is shown but what each item was, and where it is.

    Args:
        shapes: what is said of each item.
        outcomes: and how it went, where a line says that (D17).
        lacks: item id -> `Repeat.lacks`: lines that the later result does not have stand before all others.
        tokens: item id -> what really stands for it, where that is not its part.
    """
    lacks = lacks or {}
    # As every digest counts them, item by item: `verify` counts them again.
    if outcomes:
        with deps.studies().of(sources, keep=False) as studies:
            facts = [one.facts for one in studies]
            only = [_only_here(source, lacks.get(source.item_id, frozenset())) for source in sources]
            lines = [
                _quoted(one, list(dict.fromkeys([*said, *outcome_lines(source, one)])))
                for source, one, said in zip(sources, studies, only, strict=True)
            ]
            checks = [check_part(one, said) for one, said in zip(facts, lines, strict=True)]
    else:
        facts = [facts_of(source, deps.registry) for source in sources]
        lines = [list[DigestLine]() for _ in sources]
        checks = [check_part(one, []) for one in facts]
    counts = counted(facts, checks, 0)
    request = DigestRequest(
        sources=tuple(sources),
        budget_tokens=_ENOUGH,
        ceiling_tokens=_ENOUGH,
        handle=info.handle,
        batch_id=batch_id,
    )
    parts = [
        item_note(
            source,
            number,
            lines_of(source.text),
            shape=f"{shape}{_below(said, lacks.get(source.item_id, frozenset()))}",
        )
        for number, (source, shape, said) in enumerate(zip(sources, shapes, lines, strict=True), 1)
    ]
    parts = ["\n".join([part, *(line.text for line in said)]) for part, said in zip(parts, lines, strict=True)]
    parts[0] = f"{header(request, counts, 0, shows=any(lines))}\n{parts[0]}"
    sizes = [tokens.get(one.item.id, counter.count(part)) for one, part in zip(items, parts, strict=True)]
    archive_items, whole = archived(items, parts, sizes)
    return OffloadRecord(
        ts=deps.now(),
        session_id=info.session_id,
        batch_id=batch_id,
        reason=reason,
        items=archive_items,
        digest_replacing_inline=whole,
        original_token_count=sum(one.tokens for one in items),
        digest_token_count=sum(sizes),
        digest_sha256=content_sha256(whole),
        mode="pointer",
        batch_key=content_sha256(f"{digester} {[(one.item.id, one.item.sha256) for one in items]}"),
        parent=info.parent,
        registry=deps.registry.version,
        digester=digester,
        verification=Verification(passed=True, checks=("pointer",)),
        specifics=counts,
        redaction=masks_in(masked),
        counter=counter.name,
    )


def _below(lines: Sequence[DigestLine], lacks: frozenset[str]) -> str:
    """What is said of the lines below a note."""
    only = sum(bare_line(line.text.removeprefix(ESCAPE)) in lacks for line in lines)
    if not only:
        return _BELOW[min(len(lines), 2)]
    said = _ONLY[only > 1] if only == len(lacks) else f"{only:,} of {len(lacks):,} {_ONLY[True]}"
    more = len(lines) - only
    return f"; {said}{f', and {more} more of it' if more else ''}:"


def _only_here(source: DigestSource, lacks: frozenset[str]) -> list[str]:
    """The first lines of a text that the later one does not have."""
    found = (line for line in source.text.splitlines() if bare_line(line) in lacks and len(line) <= _LONGEST)
    return [escaped(line) for line in dict.fromkeys(line.strip() for line in found)][:_MOST]


def _quoted(study: Study, texts: Sequence[str]) -> list[DigestLine]:
    """Lines of a result, where its checks let them stand."""
    lines = [DigestLine("quote", text) for text in texts]
    bad = check_part(study.facts, lines).bad_lines
    return [line for number, line in enumerate(lines) if number not in bad]
