"""Digests around summaries that somebody else wrote: a model, or the calling agent. Code checks them and adds the rest.

A summary stands in the part of its item, below the note that names the item, under a label that says whose wording it
is. Header, ledger, manifest and every shown line are made by the extractive engine, with what the budget leaves it. A
summary that breaks a rule is not used, and the notes of the digest say why; with none left the digest is the extractive
one, byte for byte.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from ..models.records import Digest, DigestLine, DigestRequest, Prose
from ..text.languages import word_lists
from .blocks import escaped
from .engine import Attempt, ExtractiveDigester
from .notation import prose_note
from .proof import prose_violation
from .records import plain
from .verdict import PROSE_SHARE

# Texts that are no summary: errors of an API or a program, refusals. One of these must never become a digest.
#
# Erring on this side is cheap: a summary that is taken for an error leaves the extractive digest.


_MOST_WORDS, _FEW_WORDS = 40, 10
"""Of an excuse, and of one that may be the beginning of a summary. What says more is a summary of what failed."""
_EAST = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts in which a word is about two characters, without spaces."""
_EXCUSES = word_lists("excuses")
_BEGINS = tuple(sorted(_EXCUSES["no_summary"]))
_BEGINS_TERSE = tuple(sorted(_EXCUSES["went_wrong"]))
_PLACEHOLDERS = frozenset(_EXCUSES["placeholders"])
_REFUSAL = re.compile(
    r"(?:i'?m|i am|we are|we're) (?:very |so |really |truly )?(?:sorry|afraid|unable)\b"
    r"|sorry\b(?!-)|apologies\b|my apologies\b|unfortunately,? (?:i|we)\b|as an? (?:ai|large language|language)\b"
    r"|no (?:summary|content|output|text) (?:is |was )?(?:available|provided|possible)"
    r"|(?:i|we) (?:can ?not|can'?t|could ?n[o']?t|won'?t|will not|do ?n[o']t|must|(?:am|are) not able to)"
    r" (?:\w+ ){0,2}?(?:help|assist|provide|summari[sz]e|comply|access|process|fulfill?|complete|generate|create"
    r"|produce|continue|write|answer|respond|discuss|share|see|read|view|open|decline|refuse|engage|follow|do that"
    r"|do this|have)\b",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"(?:api |http |server |request |internal |fatal |unexpected |connection |network |rate limit |timeout |syntax )*"
    r"(?:error|exception|failure)\b\s*(?:[.!:({\[]|\d|$)|[\w.]{1,80}(?:error|exception): "
    r"|(?:http(?:/\d(?:\.\d)?)?\s+)?[45]\d\d\b(?:\s+[\w-]+){0,4}\s*$"
    r"|(?:request )?timed? ?out\b|too many requests\b|rate limit(?:ed| exceeded)\b|overloaded\b"
    r"|(?:internal server|service unavailable|bad gateway|gateway timeout|unauthori[sz]ed|forbidden)\b"
    r"|(?:prompt|input|request) (?:is )?too (?:long|large)\b|<!doctype html|<html\b",
    re.IGNORECASE,
)
_JSON = re.compile(r"[{\[]\s*(?:[\"'{\[\]}]|$)")
_ERROR_NAMES = re.compile(
    r"\b(?:overloaded_error|rate_limit_error|invalid_request_error|authentication_error|permission_error|not_found_error"
    r"|api_error|timeout_error|billing_error|request_too_large|context_length_exceeded|insufficient_quota)\b"
)
_TRACE = re.compile(
    r"^\s*(?:Traceback \(most recent call last\)|File \"[^\"\n]{1,300}\", line \d"
    r"|at [^\n]{1,300}:\d{1,9}(?::\d{1,9})?\)?$|Caused by: "
    r"|goroutine \d+ \[|thread '[^'\n]{1,100}' panicked|stack backtrace:|panic: )",
    re.MULTILINE,
)
_WORDS = re.compile(r"[^\W_]+")
_OPENING = re.compile(r"[\s\"'`*#>_\u2026.\u26a0\ufe0f\u274c-]*(?:json\s+)?(?:[(\u3010](?=[^\W\d]))?")
_LABEL = re.compile(r"(?:(?:summary|result|note|status) ?: *)?(?:\[(?=[^\W\d])(?!redacted:))?", re.IGNORECASE)
"""What may stand before an excuse: a bracket around all of it, or the name of what is missing."""


def looks_like_a_failure(text: str) -> bool:
    """Whether a text is, or holds, an error message, a stack trace or a refusal; or is JSON. Linear in the text.

    A summary that tells of errors is none: it says more than the excuse, or begins otherwise.
    """
    start = text[_OPENING.match(text).end() :] if text else ""  # pyright: ignore[reportOptionalMemberAccess]  # it matches nothing too
    start = start[:2000].replace("\u2019", "'")
    first = start.split("\n", 1)[0]
    return bool(
        _JSON.match(start)
        or _REFUSAL.match(first)
        or _ERROR.match(first)
        or _ERROR_NAMES.search(text)
        or _TRACE.search(text)
        or _is_excuse(start, text)
    )


def _is_excuse(start: str, text: str) -> bool:
    """Whether a short text begins as one that stands where a summary should."""
    if len(text) > 2000:
        return False
    said = start.lower()
    said = said[_LABEL.match(said).end() :]  # pyright: ignore[reportOptionalMemberAccess]  # it matches nothing too
    most = _MOST_WORDS if said.startswith(_BEGINS) else _FEW_WORDS if said.startswith(_BEGINS_TERSE) else 0
    return 0 < len(_WORDS.findall(text)) + len(_EAST.findall(text)) // 2 <= most


def says_nothing(text: str) -> bool:
    """Whether a text is blank, or a placeholder for one: no word at all, or one of those that stand for none."""
    words = _WORDS.findall(text[:2000].lower())
    return not words or len(words) < 4 and "".join(words) in _PLACEHOLDERS


NOT_USED = "summary by "
"""How a note about a summary that was not used begins."""
_BULLET = re.compile(r"(?:[-*•–]|\d{1,2}[.)])\s+")
_SPACE = re.compile(r"\s+")


class HandedDigester(ExtractiveDigester):
    """Implements `ports.seams.Digester`: the extractive digest, with those summaries of the request that hold.

    Pure like the engine below it: the same request, summaries included, gives the same bytes.
    """

    def compute(self, request: DigestRequest) -> Digest:
        """The same for callers that are in a thread of their own.

        Raises:
            DigestRefused: no form of it is smaller than its source.
        """
        if not request.prose:
            return super().compute(request)
        with self._studies.of(request.sources) as studies:
            attempt = _Composing(request, self._registry, self._counter, self._classes, self.name, studies)
            digest = attempt.composed() or attempt.run()
        return msgspec.structs.replace(digest, notes=(*digest.notes, *attempt.unused()))


class _Composing(Attempt):
    """An attempt that leaves room for summaries."""

    def composed(self) -> Digest | None:
        """The digest with every summary that may be used; None where none may, or where they would cost too much."""
        self._reasons = Counter[tuple[str, str]]()
        used = self._accepted()
        if not used:
            return None
        draft = self._filled()
        if draft is not None and not self._violations(draft):
            return msgspec.structs.replace(self._finished(draft, "digest", ()), digester=used[0].digester)
        self._drafts.above.clear()
        self._prose_tokens = 0
        for one in used:
            self._reasons[one.author, "too little of the results would stay in view beside it"] += 1
        return None

    def unused(self) -> tuple[str, ...]:
        """A note for each reason why summaries were not used."""
        return tuple(
            f"{NOT_USED}{author} not used: {reason}; extractive instead" for author, reason in sorted(self._reasons)
        )

    def _accepted(self) -> list[Prose]:
        """Summaries in order, each checked; those that hold are put into their parts."""
        used: list[Prose] = []
        for one in self._request.prose:
            numbers = [n for n, source in enumerate(self._request.sources) if source.item_id in one.item_ids]
            lines = _lines(one.text)
            reason = one.failure or self._reason(numbers, lines, one.text)
            if reason or not numbers:
                self._reasons[one.author, reason or "it is about no item of this batch"] += 1
                continue
            about = f"items {numbers[0] + 1} to {numbers[-1] + 1}" if len(numbers) > 1 else ""
            label = DigestLine("note", prose_note(one.author, len(lines), about=about))
            block = [label, *(DigestLine("prose", line) for line in lines)]
            tokens = self._counter.count("\n".join(line.text for line in block)) + 1
            if numbers[0] in self._drafts.above:
                self._reasons[one.author, "there is a summary of its item already"] += 1
            elif self._prose_tokens + tokens > PROSE_SHARE * self._request.budget_tokens:
                self._reasons[one.author, f"longer than {PROSE_SHARE:.0%} of the digest may be"] += 1
            else:
                self._drafts.above[numbers[0]] = block
                self._prose_tokens += tokens
                used.append(one)
        return used

    def _reason(self, numbers: Sequence[int], lines: Sequence[str], text: str) -> str:
        """Why a summary may not be used; empty when it may."""
        if not lines or says_nothing(text):
            return "it is blank"
        if self._request.pointer_only:
            return "a pointer is wanted here"
        if looks_like_a_failure(text):
            return "it is an error or a refusal, no summary"
        if sum(map(len, lines)) > sum(len(self._request.sources[n].text) for n in numbers):
            return "it is longer than its source"  # told before it is counted, which takes long
        tokens = self._counter.count("\n".join(lines))
        if tokens >= sum(self._request.sources[n].tokens for n in numbers):
            return "it is longer than its source"
        return prose_violation([self._facts[n] for n in numbers], lines, self._registry)


def _lines(text: str) -> list[str]:
    """The lines of a summary as they will stand: fit to be shown, no bullets, none that poses as one of ours."""
    lines = (_SPACE.sub(" ", line).strip() for line in plain(text).split("\n"))
    return [escaped(_BULLET.sub("", line, count=1) if _BULLET.match(line) else line) for line in lines if line]
