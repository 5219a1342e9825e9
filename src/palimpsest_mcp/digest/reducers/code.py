"""Code by its outline, each line below the function or class it is in; diffs by files, hunks, changed lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..lines import Place
from .commands import LEGAL, is_command, legal, legal_head

_WORDS = (
    r"(?:export|default|declare|public|private|protected|internal|static|abstract|async|pub(?:\([\w: ]+\))?|unsafe"
    r"|final|virtual|override|inline|constexpr|extern(?: \"C\")?|sealed|partial|readonly|open|data|suspend"
    r"|template ?<[^>]*>) +"
)
_NAMED = (
    r"(?:def[pm]?\w*|class|function\*?|func|fun|fn|interface|struct|enum|trait|impl|type|module|namespace"
    r"|object|record|protocol|macro_rules!|package|sub|proc)\b[ *(<]*[\w(<&'\"*:]"
)
_KEYWORD = re.compile(rf"(?:{_WORDS})*{_NAMED}")
_DEFINES = re.compile(r"(?:[({:]|\bdo|\bthen|\bis|=)\s*$|\)")
_STATEMENT = re.compile(
    r"(?:if|else|elif|for|while|switch|case|return|catch|try|do|with|when|match|new|throw|raise|yield|await|assert|delete"
    r"|and|or|not|in|is|from|import|using|typeof|sizeof|defer|go|select|loop|until|unless|print|lock|fixed)\b"
)
_SIGNATURE = re.compile(
    rf"(?:{_WORDS})*(?:[A-Za-z_][\w:<>,.*&\[\]?~]* +[*&]*|[*&~])*[A-Za-z_~][\w:~.]*(?:<[^<>()]*>)? ?\([^;=]*$"
)
"""`static bool parse(const char* text) {`, `render(props) {`: a name and arguments, and no statement's end."""
_FUNCTION = r"(?:const|let|var) \w+(?:: [^=]+)? = (?:async )?(?:\([^)]*\)?|\w+)(?:: [^=]+)? ?(?:=>|$)"
_OUTLINE = re.compile(rf"(?:{_WORDS})*(?:{_NAMED}|{_FUNCTION})")
"""What is named by a keyword, or a function given a name."""
_RULE_SET = re.compile(r"[.#@:*\[\]\w][^;{}]*\{$")
_CONST = re.compile(rf"(?:{_WORDS})*(?:const|let|var|val|#define|@)? ?(?:\w+ )*[A-Z][A-Z0-9_]{{2,}}\b.*(?:[=:]|\d)")
_IMPORT = re.compile(
    r"(?:import\b|from \S+ import|use |using |# ?(?:include|pragma)\b|package |alias |require |export .* from )"
)
_REQUIRE = re.compile(r"\brequire\(")
IMPORT = 0.15
"""What an import tells: it is shown for what it names."""
_RAISE = re.compile(r"\b(?:raise|throw|panic!?|TODO|FIXME|XXX|HACK|deprecated)\b", re.IGNORECASE)
_DOC = re.compile(r"(?:\"\"\"|'''|/\*\*|//[/!]|@(?:module)?doc \"+|/\*+)\s*(?P<text>\w.*)")
_COMMENT = re.compile(
    r"(?://+[/!]?|#(?!include|define|if|el|endif|pragma|undef|!)|/?\*+(?!/)|--|;;|\"\"\"|''')\s*(?P<text>[^\W\d_].*)?"
)
_MARKS = frozenset("/#*-;\"'@")
"""What such lines begin with; looked at first."""
_CLOSING = re.compile(r"[)}\]>]|end\b|[;,\s]*$")


def is_code(texts: Sequence[str]) -> bool:
    """Whether functions and classes stand in it, and most lines inside of them."""
    lines = [text for text in texts if text.strip()]
    outline = sum(bool(_KEYWORD.match(text.lstrip()) and _DEFINES.search(text)) for text in lines)
    inside = sum(text[0].isspace() for text in lines)
    return outline >= max(2, 0.03 * len(lines)) and inside >= 0.6 * len(lines)


def code_places(texts: Sequence[str]) -> list[Place]:
    """What the file is for, its outline, then constants, what is raised, imports."""
    opened: list[tuple[int, int]] = []
    found: list[Place] = []
    said = False
    head = legal_head(texts)
    for n, text in enumerate(texts):
        bare = text.strip()
        if not bare:
            found.append(Place(0.0))
            continue
        depth = len(text) - len(text.lstrip())
        if not _CLOSING.match(bare):
            while opened and opened[-1][0] >= depth:
                opened.pop()
        under = opened[-1][1] if opened else -1
        words = _words_of(bare)
        if n < head or (words and legal(words)):
            found.append(Place(LEGAL))
        elif outline := _outline(texts, n, bare, nested=bool(opened)):
            found.append(Place(outline / (1 + 0.35 * len(opened)) * (0.7 if _hidden(bare) else 1.0), under))
            opened.append((depth, n))
            said = True
        elif not said and len(words) > 12:
            found.append(Place(3.2))
            said = True
        else:
            found.append(Place(_gist(bare, depth), under))
    return found


def _outline(texts: Sequence[str], n: int, bare: str, *, nested: bool) -> float:
    if _STATEMENT.match(bare) or (_is_comment(bare) and not bare.startswith(("#[", "*"))):
        return 0.0
    if _OUTLINE.match(bare):
        return 2.0 if not bare.startswith(("package ", "namespace ", "module ")) else 1.2
    if "(" in bare and _SIGNATURE.match(bare) and _has_body(texts, n, bare):
        return 1.8
    return 0.9 if not nested and _RULE_SET.match(bare) else 0.0


def _has_body(texts: Sequence[str], n: int, bare: str) -> bool:
    """Whether a block follows: what looks like a call is one otherwise."""
    if bare.endswith("{"):
        return True
    for following in texts[n + 1 : n + 6]:
        if following.rstrip().endswith((";", "}")) or not following.strip():
            return False
        if following.strip() == "{" or following.rstrip().endswith(") {"):
            return True
    return False


def _hidden(bare: str) -> bool:
    return bool(re.match(r"(?:async )?(?:def|fn|func|function) _|private |#\w|defp ", bare))


def _words_of(bare: str) -> str:
    """What a comment or a documentation line says; empty for code."""
    found = (_DOC.match(bare) or _COMMENT.match(bare)) if bare[0] in _MARKS else None
    return (found.group("text") or "") if found else ""


def _is_comment(bare: str) -> bool:
    return bare[0] in _MARKS and _COMMENT.match(bare) is not None


def _is_import(bare: str) -> bool:
    return _IMPORT.match(bare) is not None or ("require(" in bare and _REQUIRE.search(bare) is not None)


def _gist(bare: str, depth: int) -> float:
    if _is_import(bare):
        return IMPORT
    if _CONST.match(bare):
        return 0.8 if not depth else 0.4
    if bare[0] in _MARKS and _DOC.match(bare):
        return 1.0 if len(bare) > 14 else 0.3
    if is_command(bare):
        return 1.3
    if _RAISE.search(bare):
        return 0.5
    return 0.0


def diff_places(texts: Sequence[str]) -> list[Place]:
    """Which file, where in it, then what was taken out and put in."""
    found: list[Place] = []
    file = hunk = -1
    changed = 0
    for n, text in enumerate(texts):
        if text.startswith(("diff --git ", "Index: ")) or text.startswith("--- ") and file < 0:
            file, hunk = n, -1
            found.append(Place(2.5))
        elif text.startswith("@@"):
            hunk, changed = n, 0
            found.append(Place(0.4, file))
        elif text.startswith(("+++ ", "--- ", "index ")) and hunk < 0:
            found.append(Place(0.0, file))
        elif text.startswith(("rename ", "new file", "deleted file", "Binary files", "similarity ")):
            found.append(Place(0.8, file))
        elif text[:1] in ("+", "-"):
            found.append(Place(_changed(text, changed), hunk if hunk >= 0 else file))
            changed += 1
        else:
            found.append(Place(0.0, hunk if hunk >= 0 else file))
    return found


def _changed(text: str, before: int) -> float:
    bare = text[1:].strip()
    if len(bare) < 8:
        return 0.0
    if _KEYWORD.match(bare):
        return 1.3
    if _is_import(bare) or legal(bare):
        return 0.2
    return 0.9 if not before else 0.5


# The numbers that tools which show files put before every line: without them the lines are what the file holds.


_NUMBER = re.compile(r"\s*+(\d{1,7})(?:\t|→|\| ?|: ?|$)")
_MOST = 0.8


def unnumbered(lines: Sequence[str]) -> Sequence[str]:
    """The lines without their numbers, where most have the number that follows the last; else the same object."""
    found: list[re.Match[str] | None] = []
    spare = (1 - _MOST) * (len(lines) - 1)
    for line in lines:
        match = _NUMBER.match(line)
        found.append(match)
        if match is None and line.strip():
            spare -= 1
            if spare < 0:
                return lines
    numbers = [int(match[1]) for match in found if match]
    follow = sum(after == before + 1 for before, after in zip(numbers, numbers[1:], strict=False))
    if len(numbers) < 3 or follow < _MOST * (sum(1 for line in lines if line.strip()) - 1):
        return lines
    return [line[match.end() :] if match else line for line, match in zip(lines, found, strict=True)]
