"""Words by which people and agents say what became of something. Closed lists; a name must stand beside the cue."""

from __future__ import annotations

import re
from collections.abc import Iterator


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b", re.IGNORECASE)


DEAD_END = _any(
    "dead end",
    "(?:is|was|were)(?:n't| not) the (?:cause|culprit|problem)",
    "not relevant|irrelevant|unrelated",
    "wrong (?:approach|file|path|place|track)",
    "rejected|abandon(?:ed|ing)?|(?:give|gave|giving) up on",
)
"""What is named beside it led nowhere."""
DENIED = re.compile(
    r" (?<=\w )(rejected|abandoned|declined|discarded|withdrawn|superseded|obsolete|cancell?ed|reverted)\b",
    re.IGNORECASE,
)
"""Its first group, in a sentence: the values there do not hold, and shown without this word they would mislead. As a
value of its own (`status=cancelled`, a cell) it is one more thing that the line says, and the others keep their keys.
It begins with a blank because that is looked for fast."""
FAILED = _any("(?:did|does)(?:n't| not) (?:work|help)")
"""The command that is named beside it led nowhere."""
DECIDED = _any(
    "decided (?:to|on)|chose(?:n)?|choosing|agreed (?:to|on)|settled on|opt(?:ed)? for|selected",
    "will use|(?:we|i)(?:'?ll| will) (?:go with|keep)|(?:we|i)'ll use|let's (?:use|go with|keep)|go(?:ing)? with",
)
SUPERSEDES = re.compile(
    r"\b(?:instead of|rather than|no longer|switch(?:ed|ing)? (?:away )?from|replac(?:e|ed|ing)|drop(?:ped|ping)?"
    r"|scrap(?:ped)?|forget about|changed my mind about)\s+(?:the |using |use |to )*",
    re.IGNORECASE,
)
"""What is named behind it no longer holds."""
BECAUSE = _any("because", "since", "so that", "in order to", "due to", "the reason (?:is|being)")
ASKS = re.compile(r"\?(?:\s|$)|\b(?:blocked (?:by|on)|waiting (?:for|on)|unclear|open question)\b", re.IGNORECASE)
CRITERIA = _any("must(?: not)?|should(?: not)?|shall|has to|have to|required?|acceptance|criteri(?:a|on)")
PREFERS = _any(
    "prefer|always|never|don'?t|do not|from now on",
    "please (?:use|keep|avoid)|stop (?:using|doing)|i (?:want|like|hate|need)",
)
PASSED = _any("pass(?:es|ed|ing)?|green|clean", "succe(?:ss|eds?|eded|ssful(?:ly)?)", "fail(?:s|ed|ing|ures?)?")
"""How an answer speaks of the end of a run."""
NEXT = re.compile(r"^[ \t#*]*(?:next steps?|remaining|to ?do|what'?s left|still to do)\b[^\n]{0,40}$", re.I | re.M)
"""A heading, or a line that ends in one."""

_NAME = re.compile(r"\s*(?:`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"|'([^'\n]{2,80})'|([A-Za-z][\w.+/#-]{1,79}))")
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?](?=\s|$)|\n|$)")


def sentences(text: str, cue: re.Pattern[str]) -> Iterator[str]:
    """The sentences in which a cue stands, in order, without the blanks around them."""
    if cue.search(text) is None:
        return
    for found in _SENTENCE.finditer(text):
        if cue.search(found[0]):
            yield found[0].strip()


def name_after(text: str, place: int) -> str:
    """The name that comes next from a place on: what stands in quotes, or one word with its dots and slashes."""
    found = _NAME.match(text, place)
    return next((word for word in found.groups() if word), "").rstrip(".,;:") if found else ""
