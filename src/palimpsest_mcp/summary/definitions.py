"""Names that a piece of source code defines: enough to say what an edit added, in any of the common languages."""

from __future__ import annotations

import re

_WORDS = (
    r"(?:export|default|public|private|protected|internal|static|async|abstract|override|final|readonly|inline|const|"
    r"unsafe|extern|virtual|pub(?:\([a-z]+\))?)"
)
_KEYWORD = re.compile(
    rf"^[ \t]*(?:{_WORDS}[ \t]+)*(?:def|class|function\*?|fn|func|fun|interface|type|enum|struct|trait|module|"
    r"defmodule|defp|namespace|record|protocol|extension|impl)[ \t]+(?:\([^)\n]{0,80}\)[ \t]*)?([A-Za-z_$][\w$.?!]*)",
    re.MULTILINE,
)
_METHOD = re.compile(
    r"^[ \t]+(?:(?:public|private|protected|static|async|override|get|set)[ \t]+)*([A-Za-z_$#][\w$]*)"
    r"(?:<[^>\n]{0,80}>)?\([^;\n]{0,300}\)[ \t]*(?::[^;{=\n]{1,200})?\{[ \t]*$",
    re.MULTILINE,
)
_TOP_VALUE = re.compile(r"^(?:export[ \t]+)?(?:const|let|var|val)[ \t]+([A-Za-z_$][\w$]*)", re.MULTILINE)
_NO_METHOD_WORDS = "if for while switch catch function return else do try with constructor match"
_NO_METHOD = frozenset(_NO_METHOD_WORDS.split())
MAX_TEXT = 200_000
MAX_NAME = 60


def defined(text: str) -> dict[str, None]:
    """Names of functions, classes, types and top-level values, in order of kind and place."""
    text = text[:MAX_TEXT]
    names = [*_KEYWORD.findall(text), *_METHOD.findall(text), *_TOP_VALUE.findall(text)]
    return dict.fromkeys(name for name in names if name not in _NO_METHOD and len(name) <= MAX_NAME)


def newly_defined(old: str, new: str) -> tuple[str, ...]:
    """Names that the new text defines and the old one does not."""
    before = defined(old)
    return tuple(name for name in defined(new) if name not in before)
