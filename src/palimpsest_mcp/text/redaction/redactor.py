"""The redactor: marks in the place of what the scanner finds, in one text or over several."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import attrgetter
from pathlib import Path

from ...errors import InvalidSettings
from ...models.text import counted, late
from ...ports.seams import Redacted
from .assignments import Assignments, Cookies
from .columns import Columns
from .patterns import BadPattern, Find, Marker, Pattern, compiled, compiled_now, fits_everything, merged
from .personal import Checks, PersonalData, Phones
from .rules import Rule, RuleFile, RuleSet, combine, default_rules, load_rules
from .scan import Detector, Ranges, Scanner

# Private key blocks, whole or cut: from BEGIN to END, else to the end of what looks like their body.

_BEGIN = compiled(r"-----BEGIN[ +]{1,3}[A-Z0-9 +]{0,40}PRIVATE[ +]{1,3}KEY(?:[ +]{1,3}BLOCK)?[ +]{0,3}-----")
_END_SOURCE = r"-----END[ +]{1,3}[A-Z0-9 +]{0,40}PRIVATE[ +]{1,3}KEY(?:[ +]{1,3}BLOCK)?[ +]{0,3}-----"
_END = late(_END_SOURCE.encode())
_END_LINE = compiled(_END_SOURCE)
_LONGEST = 64 << 10
_LONGEST_LINE = 4 << 10
# What stands before the body in a line: indentation, a diff's sign, a quotation mark, a string's quote, a line's number
# as `grep` or an agent's reader prints it.
_PREFIX = rb"(?:[\w./@-]{1,200}[:-]\d{1,6}[:-])?(?:[ \t\\\"'+>|#*-]|\d{1,6}(?:[:|\t]|\xe2\x86\x92))*"
_LINE = late(_PREFIX + rb"(?:[A-Za-z0-9+/=%_-]{1,4096}|[A-Za-z-]{3,24}: [^\n]{0,200})?[ \t\\\"'+;,]*(?:\r?\n|$)")
_TAIL = late(_PREFIX + rb"[A-Za-z0-9+/=]{16,4096}[ \t\\\"'+;,]*\r?\n")
"""A line of a body of which only the end was read."""
_BODY = late(rb"[A-Za-z0-9+/=%_-]{16}")
_DIGIT = late(rb"\d")
_RANK = 0


class PrivateKeys:
    """Finds PEM and OpenPGP private keys. Public keys and certificates are not secret."""

    gates = ("-----BEGIN[ +]", "-----END[ +]")

    def find(self, gate: int, text: bytes, ranges: Ranges) -> Iterator[Find]:
        """Blocks that begin in these ranges, and what ends there of a block that was not read from its beginning."""
        done = 0
        if gate:
            for start, end in ranges:
                for behind in _END_LINE.finditer(text, max(start, done), max(end, done)):
                    done = behind.end()
                    if (begin := _tail_start(text, behind.start())) < behind.start():
                        yield Find(begin, behind.start(), "private-key", _RANK)
            return
        for start, end in ranges:
            for begin in _BEGIN.finditer(text, max(start, done), max(end, done)):
                done = block_end(text, begin.end())
                body = text[begin.end() : done]
                if (piece := _BODY.search(body)) and _DIGIT.search(body, piece.start(), piece.start() + 80):
                    yield Find(begin.start(), done, "private-key", _RANK)


def block_end(text: bytes, place: int) -> int:
    """Where the body that begins at `place` ends: behind END, else behind its last line of base64."""
    next_block = text.find(b"-----BEGIN", place, place + _LONGEST)
    if end := _END.search(text, place, next_block if next_block >= 0 else place + _LONGEST):
        return end.end()
    last = place
    while (line := _LINE.match(text, place)) and line.end() > place:
        if line.group().strip():
            last = line.start() + len(line.group().rstrip())
        place = line.end()
    return last


def _tail_start(text: bytes, end: int) -> int:
    """Where the lines of base64 begin that stand right before an END; where its own line begins, if none do."""
    start = place = text.rfind(b"\n", max(0, end - _LONGEST_LINE), end) + 1
    while start and end - start < _LONGEST:
        begin = text.rfind(b"\n", max(0, start - _LONGEST_LINE), start - 1) + 1
        line = _TAIL.fullmatch(text, begin, start)
        if line is None:
            break
        start = begin
    body = _BODY.search(text, start, place)
    return start if body and _DIGIT.search(text, body.start(), place) else end


_ROUNDS = 4  # a mark changes what stands beside its neighbours; the second round hardly ever finds anything
_NEAR = 2048  # bytes around a new mark that the next round looks at
_SEAM = 1024  # bytes on both sides of where two texts meet that are looked at together
_FAR = 8192  # and so many where a line, or a secret, is longer
_EDGE = 512  # bytes before the end of what is looked at: a secret that ends there may go on behind it
_OPENED = b"-----BEGIN"  # of a key block, which may be known only by its end, far behind the seam
_LINK = 16  # bytes between a seam and a value whose name ends the text before
_MARK_OF_ANOTHER = late(
    rb"(?i)\[(?:redacted(?::[a-z0-9][a-z0-9_-]{0,63}:[0-9a-z]{8})?|hidden|filtered|masked|removed|censored|secret)\]"
)
_GLUED_BEHIND = late(rb"[\w.!#$%^*~+=?/-]{0,3}[^\W_]|[\x80-\xfe]")
_GLUED_BEFORE = late(rb"[^\W_][\w.!#$%^*~+?-]{0,3}$|[\x80-\xfe]$")
_CONTENT = late(rb"[^\W_]|[\x80-\xff]")


class RuleRedactor:
    """A `Redactor`. It keeps no state, so threads may share one."""

    def __init__(
        self,
        scanner: Scanner,
        marker: Marker,
        *,
        allow: Sequence[Pattern] = (),
        rules: Sequence[str] = (),
        weakened: Sequence[str] = (),
    ) -> None:
        self._scanner = scanner
        self._marker = marker
        self._allow = tuple(allow)
        self._rules = tuple(rules)
        self._weakened = tuple(weakened)

    @property
    def rules(self) -> tuple[str, ...]:
        """What is loaded, for `doctor`: rule files with their counts, then what else is looked for or switched off."""
        return self._rules

    @property
    def weakened(self) -> tuple[str, ...]:
        """Which settings make it mask less than the built-in rules do; empty: none."""
        return self._weakened

    def redact(self, text: str) -> Redacted:
        """The text with its secrets masked. Redact before truncating: half a secret may not look like one."""
        raw = text.encode("utf-8", "surrogatepass")
        if not (finds := self._finds(raw)):  # as nearly always
            return Redacted(text=text, counts={})
        return self._redacted(text, raw, self._marked(raw, finds))

    def redact_all(self, texts: Sequence[str]) -> tuple[Redacted, ...]:
        """Texts that follow one another, each masked; a secret that runs from one into the next is masked in both."""
        raws = [text.encode("utf-8", "surrogatepass") for text in texts]
        return tuple(map(self._redacted, texts, raws, self._found_in_all(raws)))

    def _redacted(self, text: str, raw: bytes, finds: Sequence[tuple[Find, bytes]]) -> Redacted:
        counts: Counter[str] = Counter()
        for _ in range(_ROUNDS):
            if not finds:
                break
            counts.update(find.kind for find, _ in finds)
            raw, places = _masked(raw, finds)
            finds = self._found_near(raw, places)
        return Redacted(text=raw.decode("utf-8", "surrogatepass") if counts else text, counts=dict(counts))

    def _finds(self, raw: bytes) -> list[Find]:
        """Finds in order of place, disjoint, without what is allowed or a mark already."""
        if not raw:
            return []
        return self._finds_beside(raw, self._marker.marks(raw))

    def _finds_beside(self, raw: bytes, marks: Sequence[tuple[int, int]]) -> list[Find]:
        """The finds of a text with marks in it, as if these were not there.

        A mark between separators keeps its place, for what follows it is not the value of the name before it; one that
        other text is glued to is taken out, and whatever reaches its place then counts.
        """
        found = list(self._scanner.finds(_covered(raw, marks)))
        foreign = [found.span() for found in _MARK_OF_ANOTHER.finditer(raw)] if b"[" in raw else []
        if not found and not foreign and not marks:
            return []
        if glued := [mark for mark in sorted({*marks, *foreign}) if _is_glued(mark, raw)]:
            found += self._over_marks(raw, marks, glued)
        if self._allow:
            found = [find for find in found if not any(p.fullmatch(raw[find.start : find.end]) for p in self._allow)]
        return _outside_marks(merged([_on_characters(find, raw) for find in found]), raw, marks)

    def _over_marks(
        self, raw: bytes, marks: Sequence[tuple[int, int]], glued: Sequence[tuple[int, int]]
    ) -> Iterator[Find]:
        """What the text holds without the glued marks, where that reaches to the place of one."""
        covered = _covered(raw, marks)
        kept = b"".join(covered[left:right] for (_, left), (right, _) in pairwise([(0, 0), *glued, (len(raw), 0)]))
        lengths = [0, *accumulate(right - left for left, right in glued)]
        places = [left - gone for (left, _), gone in zip(glued, lengths, strict=False)]
        for find in self._scanner.finds(kept):
            first, last = bisect_left(places, find.start), bisect_right(places, find.end)
            if first < last:
                yield find._replace(
                    start=find.start + lengths[bisect_right(places, find.start)],
                    end=find.end + lengths[bisect_left(places, find.end)],
                )

    def _marked(self, raw: bytes, finds: Sequence[Find]) -> list[tuple[Find, bytes]]:
        return [(find, self._marker.mark(find.kind, raw[find.start : find.end])) for find in finds]

    def _found_near(self, raw: bytes, places: Sequence[int]) -> list[tuple[Find, bytes]]:
        """What a further round finds around places; what touches the edge of the part looked at does not count."""
        finds: list[Find] = []
        for left, right in _joined([(max(0, p - _NEAR), min(len(raw), p + _NEAR)) for p in places]):
            finds += (
                find
                for find in _shifted(self._finds(raw[left:right]), left)
                if (find.start > left or left == 0) and (find.end < right or right == len(raw))
            )
        return self._marked(raw, finds)

    def _found_in_all(self, raws: Sequence[bytes]) -> list[list[tuple[Find, bytes]]]:
        """For each text its finds with their marks, in order; both parts of a find over a seam bear the same mark."""
        alone = [self._finds(raw) for raw in raws]
        starts = [0, *accumulate(map(len, raws))]
        whole = b"".join(raws)
        placed = [find for finds, offset in zip(alone, starts, strict=False) for find in _shifted(finds, offset)]
        over = self._over_seams(whole, starts[1:-1], placed) if whole else []
        if not over:
            return [self._marked(raw, finds) for raw, finds in zip(raws, alone, strict=True)]
        out: list[list[tuple[Find, bytes]]] = [[] for _ in raws]
        for find, mark in self._marked(whole, merged(placed + over)):
            for i in range(bisect_right(starts, find.start) - 1, len(raws)):
                left, right = max(find.start, starts[i]) - starts[i], min(find.end, starts[i + 1]) - starts[i]
                if left < right:
                    out[i].append((find._replace(start=left, end=right), mark))
                if find.end <= starts[i + 1]:
                    break
        return out

    def _over_seams(self, whole: bytes, seams: Sequence[int], placed: Sequence[Find]) -> list[Find]:
        """Finds that begin in one text and end in another, or that what ends the text before makes a secret.

        Args:
            placed: what was found in each text alone. A long secret that is cut by a seam was found up to there.
        """
        over: list[Find] = []
        for left, right in _joined([_around(whole, seam, placed) for seam in seams]):
            finds = self._beginning_at(seams, whole, left, right)
            if finds and finds[-1].end > right - _EDGE and right < len(whole):  # perhaps cut
                finds = self._beginning_at(seams, whole, left, right + _FAR)
            over += finds
        return [_on_characters(find, whole) for find in over]

    def _beginning_at(self, seams: Sequence[int], whole: bytes, left: int, right: int) -> list[Find]:
        finds = _shifted(self._finds(whole[left:right]), left)
        return [find for find in finds if _begins_at_a_seam(find, whole, seams)]


def _around(whole: bytes, seam: int, placed: Sequence[Find]) -> tuple[int, int]:
    """What to look at together: bytes on both sides, on the left the whole line and the secret that stands last; all
    that is ever looked at where a key block begins before the seam."""
    far = max(0, seam - _FAR)
    if whole.rfind(_OPENED, far, seam + len(_OPENED)) >= 0:
        return far, min(len(whole), seam + _FAR)
    left = max(0, seam - _SEAM)
    last = bisect_right(placed, seam, key=attrgetter("start")) - 1
    if last >= 0 and placed[last].end > left:
        left = max(0, placed[last].start - _SEAM)
    return min(left, max(far, whole.rfind(b"\n", far, seam) + 1)), min(len(whole), seam + _SEAM)


def _begins_at_a_seam(find: Find, whole: bytes, seams: Sequence[int]) -> bool:
    before = bisect_right(seams, find.start)
    if before < bisect_right(seams, find.end - 1):
        return True
    seam = seams[before - 1] if before else find.start
    return find.start - seam <= _LINK and b"\n" not in whole[seam : find.start] and before > 0


def _on_characters(find: Find, raw: bytes) -> Find:
    """The find widened to whole characters of UTF-8: a part looked at by itself may begin or end inside one."""
    start, end = find.start, find.end
    while start > 0 and raw[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(raw) and raw[end] & 0xC0 == 0x80:
        end += 1
    return find._replace(start=start, end=end)


def _shifted(finds: Sequence[Find], offset: int) -> list[Find]:
    return [find._replace(start=find.start + offset, end=find.end + offset) for find in finds]


def _joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order, those that touch as one."""
    out: list[tuple[int, int]] = []
    for left, right in ranges:
        if out and left <= out[-1][1]:
            out[-1] = (out[-1][0], max(right, out[-1][1]))
        else:
            out.append((left, right))
    return out


def _masked(raw: bytes, finds: Sequence[tuple[Find, bytes]]) -> tuple[bytes, list[int]]:
    """The text with marks, and where in it they stand."""
    out: list[bytes] = []
    places: list[int] = []
    done = size = 0
    for find, mark in finds:
        out += (raw[done : find.start], mark)
        size += find.start - done
        places.append(size)
        size += len(mark)
        done = find.end
    return b"".join((*out, raw[done:])), places


def _covered(raw: bytes, marks: Sequence[tuple[int, int]]) -> bytes:
    """The text with a byte that no UTF-8 has in the place of every byte of a mark."""
    if not marks:
        return raw
    out = bytearray(raw)
    for left, right in marks:
        out[left:right] = b"\xff" * (right - left)
    return bytes(out)


def _is_glued(mark: tuple[int, int], raw: bytes) -> bool:
    """Whether something that may belong to a secret stands beside the mark without a separator."""
    return (
        _GLUED_BEHIND.match(raw, mark[1]) is not None
        or _GLUED_BEFORE.search(raw, max(0, mark[0] - 4), mark[0]) is not None
    )


def _outside_marks(finds: list[Find], raw: bytes, marks: Sequence[tuple[int, int]]) -> list[Find]:
    """The parts of the finds that no mark covers, without those that hold no letter or digit."""
    out: list[Find] = []
    place = 0
    for find in finds:
        while place < len(marks) and marks[place][1] <= find.start:
            place += 1
        start, inside = find.start, place
        while inside < len(marks) and marks[inside][0] < find.end:
            out.append(find._replace(start=start, end=max(start, marks[inside][0])))
            start = marks[inside][1]
            inside += 1
        out.append(find._replace(start=min(start, find.end)))
    return [find for find in out if _CONTENT.search(raw, find.start, find.end)]


# Masks secrets and personal data in texts; keeps every hash, id, version and path.


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
    phones, ids = Phones().present, Checks().present
    exceptions = [_allowed(pattern, number) for number, pattern in enumerate(allow, 1)]
    loaded = (*map(_described, files), *_further(pii=pii, phones=phones, ids=ids, exceptions=len(exceptions)))
    return RuleRedactor(
        _scanner(combine(files), pii=pii, phones=phones, ids=ids),
        Marker(key),
        allow=exceptions,
        rules=loaded,
        weakened=_weakened(files, exceptions=len(exceptions), pii=pii),
    )


@lru_cache(maxsize=4)  # what RE2 builds of the rules serves every redactor of a process
def _scanner(rules: tuple[Rule, ...], *, pii: bool, phones: bool, ids: bool) -> Scanner:
    """All detectors; `phones`, `ids`: what checks them is installed, and is looked for by whoever checks a number."""
    detectors: list[Detector] = [PrivateKeys(), RuleSet(rules), Cookies(), Assignments(), Columns()]
    return Scanner([*detectors, PersonalData(Checks(), Phones())] if pii else detectors)


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


def _further(*, pii: bool, phones: bool, ids: bool, exceptions: int) -> list[str]:
    if not pii:
        personal = ["personal data: off (redaction_pii)"]
    else:
        personal = [
            "personal data by form and check digits"
            if ids
            else "personal data by form, national ids without check digits: install palimpsest-mcp[pii] for them",
            "phone numbers by number plans"
            if phones
            else "phone numbers by length only: install palimpsest-mcp[pii] for number plans",
        ]
    return [
        "values by their names, cookies, private keys",
        *personal,
        *([f"{exceptions} exceptions"] if exceptions else []),
    ]


def _allowed(source: str, number: int) -> Pattern:
    try:
        pattern = compiled_now(source)
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
