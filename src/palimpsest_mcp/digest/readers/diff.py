"""Diffs, patches and what git says about commits: each changed line under its hunk, its file and its commit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..records import Kind, Reading, Record
from .code_lines import defines

_COMMIT = re.compile(r"commit [0-9a-f]{7,40}\b")
COMMITTED = re.compile(r"\[[\w./-]{1,100}(?: \(root-commit\))? [0-9a-f]{7,40}\] ")
"""What `git commit` says when it is done: it stands behind what its hooks printed, and below none of their headings."""
_MAIL = re.compile(r"From [0-9a-f]{40} ")
"""A commit as `git format-patch` writes it."""
_SHORT = re.compile(r"[0-9a-f]{7,12} \S.{0,200}?[g-zG-Z]")
_STAT = re.compile(r" \S.{0,300}? \| +(?:\d+ [-+]*$|\d+ ?$|Bin\b)")
_BARS = re.compile(r" \S.{0,300}? \| +(?:\d+ [-+]+$|Bin )")
"""Of these, what no two-column table shows."""
_TOTALS = re.compile(r" ?\d+ files? changed(?:, \d|$)")
_HUNK = re.compile(r"@@@? -\d{1,9}(?:,(\d{1,9}))? (?:-\d{1,9}(?:,\d{1,9})? )?\+\d{1,9}(?:,(\d{1,9}))? @@")
_PATCH = re.compile(r"\*\*\* (?:Begin|End) Patch|\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: ")
_HEAD = re.compile(
    rf"diff --git |{_MAIL.pattern}|{_HUNK.pattern}|{_PATCH.pattern}|{COMMITTED.pattern}|"
    r" ?\d+ files? changed, \d+ (?:insertion|deletion)"
)
_BETWEEN = re.compile(
    r"diff |index [0-9a-f]+\.\.|--- |\+\+\+ |(?:old|new|deleted file|new file) mode |"
    r"(?:similarity|dissimilarity) index |(?:rename|copy) (?:from|to) |Binary files |GIT binary patch|={20,}$|"
    r"\\ No newline| \S.{0,300}? \| +(?:\d+ [-+]*$|Bin )| (?:create|delete) mode \d| rename .{1,300}\(\d+%\)$|"
    r" mode change |(?:Author|Date|Merge|AuthorDate|Commit|CommitDate|From|Subject|Index): |---$|[AMDTRC]\d{0,3}\t\S"
)
"""Lines of a diff or log that are in no hunk."""
_GONE = re.compile(r"\s(?:delete mode|rename) ")
_GONE_WORTH = 6.0
"""Of an entry that says that a file went away: without it its lines look as if they had been taken out of others."""
_NEWEST, _NEW_WORTH = 8, 6.0
"""Commits of a log, a line each, that tell where the work stands: it begins with the newest."""
_HEAD_WORTH = 20.0
"""Of the newest: where the second stands alone it is taken for it."""
_STATUS = re.compile(r" (?:create|delete|mode change|rename) |[AMDTRC]\d{0,3}\t")
_PERSON = re.compile(r"(?:Author|AuthorDate|Commit|CommitDate|Date|From): ")
_TELLING = re.compile(r"(?:deleted file|new file) mode |(?:rename|copy) (?:from|to) |Binary files ")
_GENERATED = re.compile(r"(?:lock|lock\.json|lock\.yaml|\.min\.(?:js|css)|\.svg|\.map|\.snap|go\.sum)$")
_LITTLE = re.compile(
    r"[-+]\s*(?:$|[\W_]+$|(?:import|from|use|using|require|alias|include|#include|package)\b|//|#|\*|/\*|--)"
)
_LARGE = 30
"""Added lines in a row from which on a hunk is a new piece of code: its outline tells more than its lines."""


def claims(lines: Sequence[str], start: int) -> int:
    """From the head of a commit, a file or a hunk to the last line that belongs to one."""
    if not _opens(lines, start):
        return start
    end = at = start
    patch = mail = commit = False
    short = _SHORT.match(lines[start]) is not None
    while at < len(lines):
        text = lines[at]
        commit = commit or _COMMIT.match(text) is not None
        mail = text != "---" and (mail or _MAIL.match(text) is not None)
        hunk = _HUNK.match(text)
        if hunk:
            end = at = _hunk_end(lines, at, hunk)
        elif _PATCH.match(text):
            patch = not text.startswith("*** End")
            end = at = at + 1
        elif not text.strip() and not patch:
            at += 1
        else:
            inside = mail or (patch and text[:1] in "+- @") or (commit and text.startswith("    "))
            if not (inside or _BETWEEN.match(text) or (short and _SHORT.match(text)) or _opens(lines, at)):
                break
            end = at = at + 1
    return end


def _opens(lines: Sequence[str], at: int) -> bool:
    """Whether this line can be the first of a diff, a commit or its totals."""
    text = lines[at]
    if not text or text[0] not in "dI-@c*[ 0123456789abefF":
        return False
    after = lines[at + 1] if at + 1 < len(lines) else ""
    if text.startswith("--- "):
        return after.startswith("+++ ")
    if _SHORT.match(text):  # one such line may be anything
        return (bool(_SHORT.match(after)) or bool(_STAT.match(after))) and _hashes(lines, at)
    if text.startswith("Index: "):
        return after.startswith("=====")
    if text[0] == " " and not _TOTALS.match(text):
        return _BARS.match(text) is not None and (_BARS.match(after) or _TOTALS.match(after)) is not None
    if _COMMIT.match(text):
        return re.match(r"Author: |Merge: |AuthorDate: |tree |$", after) is not None
    return _HEAD.match(text) is not None


def _hashes(lines: Sequence[str], at: int) -> bool:
    """Whether first words are hashes: no column of numbers and no words of the letters a to f."""
    found = [line.split(" ", 1)[0] for line in lines[at : at + 3] if _SHORT.match(line)]
    return len({len(word) for word in found}) == 1 and any(not w.isdigit() and not w.isalpha() for w in found)


def _hunk_end(lines: Sequence[str], at: int, hunk: re.Match[str]) -> int:
    """The end of a hunk, by the counts in its head: what its lines look like does not matter."""
    old, new = int(hunk[1] or 1), int(hunk[2] or 1)
    i = at + 1
    while i < len(lines) and (old > 0 or new > 0):
        if (sign := lines[i][:1] or " ") not in " +-\\":
            break  # cut, or edited by hand
        old -= sign in " -"
        new -= sign in " +"
        i += 1
    while i > at + 1 and not lines[i - 1].strip():
        i -= 1
    return i


def _named(lines: Sequence[str], at: int) -> int:
    """Which line of a file's head names the file: `+++ b/path`, but the first where the head says more than a path."""
    for i in range(at + 1, min(len(lines), at + 12)):
        if _TELLING.match(lines[i]) or lines[i].startswith(("diff ", "commit ", "@@ ")):
            break
        if lines[i].startswith("+++ "):
            return i - 1 if lines[i].startswith("+++ /dev/null") else i
    return at


def read(lines: Sequence[str]) -> Reading:
    """Commits, files, hunks and changed lines, each under the one before it in that order."""
    records: list[Record] = []
    lone = sum(_TOTALS.match(line) is not None for line in lines) == 1
    commit = file = hunk = named = -1
    until, patch, subject, headed, scale = 0, False, False, False, 1.0
    for i, line in enumerate(lines):
        text = line.strip()
        if not text:
            continue
        kind: Kind = "line"
        worth, under, head = 1.0, commit, _HUNK.match(line)
        if i < until or (patch and line[0] in " +-"):
            kind, worth = _changed(line)
            worth, under = worth * scale, hunk if hunk >= 0 else file
        elif head or (patch and line.startswith("@@")):
            kind, under, hunk = "heading", file if file >= 0 else commit, len(records)
            until, headed = _hunk_end(lines, i, head) if head else 0, False
            grown = until - i > _LARGE and all(row[:1] == "+" for row in lines[i + 1 : until] if row)
            scale = (0.2 if file >= 0 and _GENERATED.search(records[file].text) else 1.0) * (0.5 if grown else 1.0)
        elif COMMITTED.match(line) or _COMMIT.match(line) or _MAIL.match(line):
            kind, worth, under = ("outcome", 4.0, -1) if COMMITTED.match(line) else ("heading", 1.0, -1)
            commit, file, hunk, patch, subject, headed = len(records), -1, -1, False, True, False
        elif line.startswith(("diff ", "Index: ")) or (line.startswith("--- ") and not headed):
            named, headed = _named(lines, i), True
            kind, worth = "noise", 0.0
        elif _PATCH.match(line):
            patch = not line.startswith("*** End")
            kind, worth = ("noise", 0.0) if line.endswith(" Patch") else ("heading", 1.0)
            named = i if kind == "heading" else named
        elif _TOTALS.match(line):
            kind, worth = ("outcome", 4.0) if lone else ("line", 1.5)
        elif _TELLING.match(line):
            kind, under = "change", file
        elif _STAT.match(line) or _STATUS.match(line):
            kind, worth = "entry", _GONE_WORTH if _GONE.match(line) else worth
        elif line.startswith(("    ", "Subject: ")):
            worth, subject = (3.0 if subject else 1.2), False
        elif _PERSON.match(line):
            worth = 0.7
        elif _SHORT.match(line):
            kind, under, commit = "entry", -1, -1
            worth = _HEAD_WORTH if not i else _NEW_WORTH if i < _NEWEST else 2.0
            if i + 1 < len(lines) and not _SHORT.match(lines[i + 1]):
                kind, commit, file = "heading", len(records), -1
        elif _BETWEEN.match(line):
            kind, worth = "noise", 0.0
        if i == named:
            kind, worth, file, hunk = "heading", 1.0, len(records), -1
        records.append(Record(text, kind, worth, under, at=i))
    return Reading(records)


def _changed(line: str) -> tuple[Kind, float]:
    """What a line of a hunk is worth: what it changes, before what stands around it."""
    if line[0] not in "+-" or len(line.strip()) == 1:
        return ("line", 0.2) if line[0] not in "+-" else ("noise", 0.0)
    if _LITTLE.match(line):
        return "change", 0.5
    return "change", 2.4 if defines(line[1:].strip()) else 2.0
