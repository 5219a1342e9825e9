"""From a slot of a plan to an archive record: redact, digest, and keep what proves both."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, cast

import msgspec

from ...context.budgets import least_budget
from ...digest.proof import shown_in
from ...digest.rank import holds, names_typed, typed_in, words_of
from ...memory.summary.calls import calls_of, strings
from ...memory.summary.talk import MAX_ASKED, ends_of, intent_of, last_asked, one_line, spoken
from ...memory.summary.todos import todos_of
from ...models.events import SessionInfo
from ...models.items import Action, Item, Specific, content_sha256, content_text
from ...models.plans import ContextItem, Policy, Slot
from ...models.records import Digest, DigestRequest, DigestSource, OffloadRecord, Reason, Visible
from ...models.reports import AskedFor
from ...ports.text import Digester, Redacted, Redactor, Registry
from ...text.languages import word_lists
from ...text.specifics.delimited import fields_apart
from ..batch import Above, Made, archived, has_binary, masks_in, original_text
from ..dependencies import ContentCounter, Dependencies
from .prose import ProseAbove

# What the digests of a pass are asked for: its instructions, the newest request, open todos, and what was typed after
MOST = 80
"""Words that one result is asked for."""
_TYPED, _CALLED_FOR, _REQUESTED = 32, 12, 16
"""Of them at most: what was typed after it, the latest first; what its call looked for; what was asked for then."""
_MOST_ARGUMENT = 1_600
"""Characters of an argument beyond which it may give way to its first line, so that it is not sure to stay in view."""
_MOST_TEXT = 20_000
"""Characters of one message, or argument, that are looked at."""
_MOST_INSTRUCTIONS = 2_000
"""Characters of the instructions of a pass that are looked at."""

# "Keep every deadlock line": words whose every line is to be kept, found in instructions.

_DATA: dict[str, Any] = word_lists("focus")
_QUOTED = re.compile(r"[\"“”„«»`「]([^\"“”„«»`「」\n]{2,80})[\"“”„«»`」]|(?<!\w)['‘]([^'‘’\n]{2,80})['’](?!\w)")
_CLAUSE = re.compile(
    rf"[.;!?](?:\s|$)|[。；！？\n]|, (?=(?:{'|'.join(_DATA['clauses'])})\b)| (?=(?:{'|'.join(_DATA['drops'])})\b)",
    re.IGNORECASE,
)
_TERM = re.compile(r"[^\s\"'`“”„«»「」,;]+")
_PLURAL = re.compile(r"[a-zA-Z]{3,}[^s\W]s")
_MOST_WANTED, _MOST_WORDS = 8, 4


class Cues:
    """How one language asks for every line of a kind."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        def any_of(*names: str) -> str:
            return "|".join(one for name in names for one in words.get(name, ())) or "(?!)"

        between = f"(?:{any_of('with')})" + (r"\s+)?" if words.get("bare") else r"\b)")
        self.keep = re.compile(rf"\b(?:{any_of('keep')})\b", re.IGNORECASE)
        self.last = re.compile(rf"\b(?:{any_of('last')})\W*$", re.IGNORECASE)
        self.lines_with = re.compile(rf"\b(?:{any_of('lines')})\s+(?:{between}(.+)", re.IGNORECASE)
        self.every = re.compile(rf"\b(?:{any_of('every')})\b(.*?)\b({any_of('lines', 'kinds')})\b", re.IGNORECASE)
        self.glued = [re.compile(one, re.IGNORECASE) for one in words.get("glued", ())]
        self.also = re.compile(rf"\s*(?:,|/|、|\b(?:{any_of('also')})\b)\s*", re.IGNORECASE)
        self.empty: frozenset[str] = frozenset(words.get("empty", ()))

    def terms(self, clause: str) -> list[str]:
        """The words that a clause wants every line of."""
        found: list[str] = []
        for text in self._named(clause):
            quoted = [one or other for one, other in _QUOTED.findall(text)]
            found += filter(None, (_term(one, self.empty) for one in quoted or self.also.split(text)))
        return found

    def _named(self, clause: str) -> list[str]:
        if self.glued:
            return [found[1] for one in self.glued for found in one.finditer(clause)]
        if (keep := self.keep.search(clause)) is not None:
            rest = clause[keep.end() :]
        elif (last := self.last.search(clause)) is not None:
            rest = clause[: last.start()]
        else:
            return []
        if (lines := self.lines_with.search(rest)) is not None:
            return [lines[1]]
        return [one if _term(one, self.empty) else noun for one, noun in self.every.findall(rest)]


_LANGUAGES = [Cues(cast("dict[str, Any]", words)) for words in _DATA.values() if isinstance(words, dict)]


def wanted_in(instructions: str) -> tuple[str, ...]:
    """Words whose every line is to be kept: `deadlock` of "keep every deadlock line", `lock wait` of "behalte alle
    Zeilen mit 'lock wait'" (languages: `text/languages/focus.toml`). Of several words a line has to have all."""
    found: dict[str, None] = {}
    for clause in _CLAUSE.split(instructions):
        found.update(dict.fromkeys(next(filter(None, (one.terms(clause) for one in _LANGUAGES)), ())))
    return tuple(found)[:_MOST_WANTED]


def _term(text: str, empty: Collection[str]) -> str:
    """The words that a line must have; empty where they would fit any line, or are too many to be in one."""
    words = [word.strip("().:-") for word in _TERM.findall(text)]
    words = [word for word in words if word and word.casefold() not in empty]
    words = [word[:-1] if _PLURAL.fullmatch(word) else word for word in words]
    return " ".join(words) if 0 < len(words) <= _MOST_WORDS and len("".join(words)) > 1 else ""


class Asked(NamedTuple):
    """What the digest of some results is asked for."""

    words: tuple[tuple[str, ...], ...]
    """Per result: names as they were typed, the latest first; words of its call, of the request then, of the task."""
    said: frozenset[str]
    """Names of theirs that messages show, and go on showing."""
    wanted: tuple[str, ...] = ()
    """Words whose every line is to be kept."""


class Focus:
    """What a session's messages and calls say of what will be needed. Secrets in it are masked: typed words are only
    given where the masked text of the result has them too."""

    def __init__(self, redactor: Redactor, instructions: str = "") -> None:
        """`instructions`: as they were given with the pass."""
        self._redactor = redactor
        self.asked_for = AskedFor(instructions=one_line(self._mask(instructions[:_MOST_TEXT]), _MOST_INSTRUCTIONS))
        self.wanted = wanted_in(self.asked_for.instructions)
        self.words = tuple(dict.fromkeys(word for word in self.asked_for.instructions.split() if len(word) > 2))
        """Of the instructions, then of everything else that is asked for."""
        self._typed: dict[str, int] = {}
        """Name -> the last row in which somebody typed or said it."""
        self._requests: list[tuple[int, str]] = []
        self._masked = cache(self._mask)
        self._stays: set[str] = set()
        """Names in messages and calls that no pass takes."""
        self._held: dict[str, list[str]] = {}
        """Masked text -> the names in it that somebody typed: a pass digests most texts several times."""

    def look_around(self, items: Iterable[ContextItem]) -> None:
        """Take in what was asked, said and typed."""
        self._held = {}
        present = [one.item for one in items if one.state != "gone"]
        for item in present:
            for text in _said(item):
                names = names_typed(text[:_MOST_TEXT])
                self._typed.update(dict.fromkeys(names, item.position[0]))
                if len(text) <= _MOST_ARGUMENT or item.kind != "tool_call":
                    self._stays.update(names)
        request = last_asked(present, self._mask) or intent_of(present, self._mask)
        todos = tuple(todo.text for todo in todos_of(calls_of(present), self._mask).open)
        self.asked_for = msgspec.structs.replace(self.asked_for, request=one_line(request, MAX_ASKED), todos=todos)
        more = (word for text in (request, *todos) for word in words_of(text))
        self.words = tuple(dict.fromkeys((*self.words, *more)))
        self._requests = [(item.position[0], text) for item, text in spoken(present, "user")]

    def _mask(self, text: str) -> str:
        return self._redactor.redact(text).text if text else ""

    def of(self, items: Sequence[Item], masked: Sequence[Redacted]) -> Asked:
        """What the digest of these results is asked for."""
        words, said = list[tuple[str, ...]](), set[str]()
        for item, text in zip(items, masked, strict=True):
            row = item.position[0]
            if (names := self._held.get(text.text)) is None:
                names = self._held[text.text] = [name for name in typed_in(text.text) if name in self._typed]
            said.update(self._stays.intersection(names))
            typed = sorted((name for name in names if self._typed[name] > row), key=lambda name: -self._typed[name])
            before = next((text for at, text in reversed(self._requests) if at < row), "")
            then = words_of(self._masked(ends_of(before)))[:_REQUESTED]
            asked = (*typed[:_TYPED], *_called_for(item), *then, *self.words)
            words.append(tuple(dict.fromkeys(asked))[:MOST])
        return Asked(tuple(words), frozenset(said), self.wanted)


def _called_for(item: Item) -> list[str]:
    """Words of what a call looked for, as it says itself."""
    action, args = item.action, item.args or {}
    looked = action.target if action is not None and action.verb in ("search", "run") else ""
    why = args.get("description")
    return words_of(f"{looked[:_MOST_ARGUMENT]} {why[:_MOST_ARGUMENT] if isinstance(why, str) else ''}")[:_CALLED_FOR]


def _said(item: Item) -> Iterator[str]:
    """Texts of a message or a call."""
    if item.kind == "tool_call":
        yield from strings(item.args)
    elif item.kind in ("message", "original_query", "clarify_verification"):
        yield content_text(item.content)


# What the digests of a pass are made of: the texts of items, masked, and what is known of them already.


class Sources:
    """The sources of one pass. Not for the event loop: masking and looking for specifics take their time."""

    def __init__(self, redactor: Redactor, registry: Registry) -> None:
        self._redactor = redactor
        self._registry = registry
        self._masked: dict[tuple[str, ...], Sequence[Redacted]] = {}
        """Ids of items -> their texts: kept to the end of the pass, since batches may be made again, and what was made
        holds the texts anyway."""

    def masked(self, items: Sequence[ContextItem]) -> Sequence[Redacted]:
        """Their texts redacted, one after the other: a secret may run over the end of one."""
        ids = _ids(items)
        if ids not in self._masked:
            larger = next((known for known in self._masked if set(ids) < set(known)), None)
            if larger is not None:
                # Masked together with more before: what runs over the end of one is masked there too.
                by_id = dict(zip(larger, self._masked[larger], strict=True))
                return [by_id[name] for name in ids]
            self._masked[ids] = self._redactor.redact_all([original_text(one.item) for one in items])
        return self._masked[ids]

    def of(self, items: Sequence[ContextItem], masked: Sequence[Redacted]) -> tuple[DigestSource, ...]:
        """What a digester is given of items with these texts."""
        return tuple(self._source(one, text) for one, text in zip(items, masked, strict=True))

    def _source(self, one: ContextItem, masked: Redacted) -> DigestSource:
        item = one.item
        action = item.action
        if action is not None:
            action = Action(verb=action.verb, target=self._without_secrets(action.target))
        return DigestSource(
            item_id=item.id,
            kind=item.kind,
            text=masked.text,
            tokens=item.tokens,
            tool_name=item.tool_name,
            action=action,
            title=self._without_secrets(item.title),
            url=self._without_secrets(item.url),
            is_error=item.is_error,
            redacted=sum(masked.counts.values()),
            binary=has_binary(item.content),
            arguments=self._arguments(item),
        )

    def _arguments(self, item: Item) -> tuple[tuple[str, str], ...]:
        if item.args is None or (item.action is not None and item.action.target):
            return ()
        plain = (one for one in item.args.items() if isinstance(one[1], (str, int)) and not isinstance(one[1], bool))
        told = [(name, str(one)) for name, one in plain]
        short = [(name, one) for name, one in told if one.isprintable() and 0 < len(one) <= _SHORT_ARGUMENT]
        return tuple((name, self._without_secrets(one)) for name, one in short[:_ARGUMENTS])

    def _without_secrets(self, text: str) -> str:
        return self._redactor.redact(text).text if text else ""


def _ids(items: Sequence[ContextItem]) -> tuple[str, ...]:
    return tuple(one.item.id for one in items)


_SHORT_ARGUMENT, _ARGUMENTS = 60, 8
"""Characters of an argument that names what a call acted on, and how many of one call do."""
_BESIDE = 2
"""Tokens beside a value: a word that it shares with others, what keeps it apart from the next."""
NEVER_LEAVES = ("original_query", "clarify_verification", "system_prompt")
"""Kinds that no pass takes, beside the policy's own: what they show is in view for good (D8)."""


class BatchDigests:
    """Makes the batches of one pass, in order; each may refer to what the ones before it show."""

    def __init__(
        self,
        deps: Dependencies,
        info: SessionInfo,
        policy: Policy,
        counter: ContentCounter,
        *,
        focus: str = "",
        reason: Reason = "token_budget_exceeded",
    ) -> None:
        self._deps = deps
        self._info = info
        self._policy = policy
        self._counter = counter
        self.focus = Focus(deps.redactor, focus)
        """What the digests of this pass are asked for."""
        self._asked_for: dict[str, tuple[str, ...]] = {}
        """Item id -> words that its digest was found to lack."""
        self._reason: Reason = reason
        self._digester: Digester = deps.digester_for(counter)
        self.wording = ProseAbove(deps.redactor, deps.writer, self.focus.words)
        """Summaries above the digests of this pass."""
        self.sources = Sources(deps.redactor, deps.registry)
        """What the digests are made of."""
        self._holders: dict[Specific, str] = {}
        self._prepared: dict[str, OffloadRecord] = {}
        self.unshown: dict[str, set[tuple[str, str]]] = {}
        """By batch and hash the values of its originals that it does not show, once somebody looked for them."""

    @property
    def digester(self) -> str:
        """Name and version of what makes the digests."""
        return self._digester.name

    def look_around(
        self, items: Sequence[ContextItem], records: Sequence[OffloadRecord], standing: Mapping[str, bool]
    ) -> None:
        """Take in what the context shows for good, and what earlier passes prepared but never committed. Not for the
        event loop.

        Args:
            records: every record of the session.
            standing: batch id -> whether its digest stands in the context now; a missing one was never committed.
        """
        self.focus.look_around(items)
        forever = {*NEVER_LEAVES, *self._policy.never_compact}
        for one in items:
            if one.item.kind in forever and one.item.content is not None:
                text = self._deps.masked(content_text(one.item.content))
                self._hold(
                    (Specific(s.cls, s.text, s.key) for s in self._deps.registry.spans(fields_apart(text))),
                    one.item.id,
                )
        for record in records:
            if record.batch_id not in standing:
                self._prepared[record.batch_key] = record
            elif standing[record.batch_id]:
                for item in record.items:
                    self._hold(shown_in(record.part(item), self._deps.registry), record.batch_id)

    def _hold(self, specifics: Iterable[Specific], holder: str) -> None:
        for specific in specifics:
            self._holders.setdefault(specific, holder)

    def forget(self, batches: Collection[str]) -> None:
        """Batches of this pass that are not used: nothing is left to them from now on."""
        self._holders = {one: holder for one, holder in self._holders.items() if holder not in batches}

    def held(self) -> dict[Specific, str]:
        """Specific -> what shows it, for `hold_again`."""
        return dict(self._holders)

    def hold_again(self, held: Mapping[Specific, str]) -> None:
        """Come back to what `held` said before."""
        self._holders = dict(held)

    async def write_ahead(self, batches: Sequence[tuple[Slot, Sequence[ContextItem]]]) -> None:
        """Have the summaries of batches written before their digests are made: side by side, while those follow one
        another."""
        wanted: list[tuple[Slot, tuple[DigestSource, ...]]] = []
        for slot, items in batches:
            ids = tuple(one.item.id for one in items)
            if not items or slot.pointer or not self._policy.prefer_compact_over_drop:
                continue
            if not self.wording.wants(slot, ids):
                continue
            masked, asked = await asyncio.to_thread(self._asked, items)
            if self._batch_key(slot, items, asked) not in self._prepared:
                wanted.append((slot, self.sources.of(items, masked)))
        await self.wording.write_ahead(wanted)

    def _asked(self, items: Sequence[ContextItem]) -> tuple[Sequence[Redacted], Asked]:
        """Their masked texts, and what their digest is asked for."""
        masked = self.sources.masked(items)
        asked = self.focus.of([one.item for one in items], masked)
        words = tuple(
            tuple(dict.fromkeys((*self._asked_for.get(one.item.id, ()), *known)))
            for one, known in zip(items, asked.words, strict=True)
        )
        return masked, asked._replace(words=words)

    async def make(
        self,
        slot: Slot,
        items: Sequence[ContextItem],
        batch_id: str,
        standing: Mapping[str, bool],
        *,
        above: Above | None = None,
    ) -> Made:
        """Digest one slot, or adopt the record that an interrupted pass left for the very same items.

        Args:
            standing: batch or item -> whether it stands in the context.
            above: what it takes the place of, where it is of a higher level.

        Raises:
            DigestRefused: nothing smaller than the originals could be made.
        """
        masked, asked = await asyncio.to_thread(self._asked, items)
        key = self._batch_key(slot, items, asked)
        prepared = self._prepared.get(key)
        if prepared is not None and all(
            standing.get(holder, holder == prepared.batch_id) for holder in prepared.specifics.holders
        ):
            shown = tuple(tuple(shown_in(prepared.part(item), self._deps.registry)) for item in prepared.items)
            made = Made(record=prepared, shown=shown, notes=("adopted from an interrupted pass",), adopted=True)
        else:
            made = await self._digest(slot, items, masked, asked, batch_id, key, above)
        if above is not None:
            self.forget(above.replaces)
        for specifics in made.shown:
            self._hold(specifics, made.record.batch_id)
        return made

    async def _digest(
        self,
        slot: Slot,
        items: Sequence[ContextItem],
        masked: Sequence[Redacted],
        asked: Asked,
        batch_id: str,
        key: str,
        above: Above | None,
    ) -> Made:
        sources = self.sources.of(items, masked)
        lines = asked.wanted and (line for one in masked for line in one.text.splitlines())
        wanted = any(holds(line, words) for line in lines for words in asked.wanted)
        request = DigestRequest(
            sources=tuple(
                msgspec.structs.replace(source, focus=words, wanted=asked.wanted)
                for source, words in zip(sources, asked.words, strict=True)
            ),
            budget_tokens=max(slot.budget_tokens, least_budget(len(items)) if wanted else 0),
            ceiling_tokens=slot.ceiling_tokens,
            wanted_tokens=self._policy.max_digest_tokens if wanted else 0,
            most_tokens=self._policy.max_digest_tokens,
            handle=self._info.handle,
            batch_id=batch_id,
            level=above.level if above else 1,
            replaces=above.replaces if above else (),
            carried=above.carried if above else frozenset(),
            visible=self._visible(above),
            said=asked.said,
            min_shown=above.min_shown if above else self._policy.min_shown,
            pointer_only=(slot.pointer and not wanted) or not self._policy.prefer_compact_over_drop,
            prose=() if above else self.wording.of(slot, tuple(one.item.id for one in items)),
        )
        digest = await self._digester.digest(request)
        record = self._record(items, masked, digest, key)  # hashes, and counts that are known: under a millisecond
        if above is not None:
            record = msgspec.structs.replace(record, level=above.level, replaces=above.replaces)
        texts = tuple(one.text for one in masked)
        return Made(record=record, shown=digest.shown, texts=texts, notes=digest.notes)

    def price_of(self, texts: Iterable[str]) -> int:
        """Tokens of these values, each with what stands beside it."""
        return sum(self._counter.count(text) + _BESIDE for text in texts)

    def ask_for(self, item_id: str, words: Iterable[str]) -> None:
        """From now on, these words, and lines with them, count for more in the digest of an item."""
        known = self._asked_for.get(item_id, ())
        self._asked_for[item_id] = tuple(dict.fromkeys((*known, *words)))

    def _visible(self, above: Above | None) -> Visible:
        """What this digest may leave to others: nothing to those it replaces, and nothing that it must show itself."""
        if above is None:
            return Visible(self._holders)
        return Visible(
            {
                one: holder
                for one, holder in self._holders.items()
                if holder not in above.replaces and (one.cls, one.text) not in above.carried
            }
        )

    def _record(
        self, items: Sequence[ContextItem], masked: Sequence[Redacted], digest: Digest, key: str
    ) -> OffloadRecord:
        parts = {part.item_id: part.text for part in digest.parts}
        own = [parts[one.item.id] for one in items]
        archive_items, whole = archived(items, own, [self._counter.count(part) for part in own])
        return OffloadRecord(
            ts=self._deps.now(),
            session_id=self._info.session_id,
            batch_id=digest.batch_id,
            reason=self._reason,
            items=archive_items,
            digest_replacing_inline=whole,
            original_token_count=sum(one.tokens for one in items),
            digest_token_count=digest.tokens,
            digest_sha256=content_sha256(whole),
            mode=digest.mode,
            batch_key=key,
            parent=self._info.parent,
            registry=digest.registry,
            digester=digest.digester,
            policy=msgspec.to_builtins(self._policy),
            verification=digest.verification,
            specifics=digest.specifics,
            redaction=masks_in(masked),
            counter=self._counter.name,
        )

    def _batch_key(self, slot: Slot, items: Sequence[ContextItem], asked: Asked) -> str:
        """Equal only where an adopted digest would be the digest that this pass makes (L10)."""
        parts = [
            [[one.item.id, one.item.sha256] for one in items],
            msgspec.to_builtins(self._policy),
            [slot.budget_tokens, slot.ceiling_tokens, slot.pointer, asked.words, sorted(asked.said), *asked.wanted],
            [self._digester.name, self._deps.registry.version, self._counter.name],
            *self.wording.key(slot),
        ]
        return content_sha256(json.dumps(parts, sort_keys=True))
