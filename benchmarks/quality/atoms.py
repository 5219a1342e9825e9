"""Q1: of what a coding agent cannot do without (paths, names, numbers, commands, addresses, hashes, errors), how much
stands in a view of one file, at 40 to 5 % of its tokens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from measuring import table

from .arms import OurDigest, floors, tokens
from .own_files import own_files
from .scoring import share, stands

BUDGETS = (0.40, 0.30, 0.20, 0.10, 0.05)
DETAILED = (0.20, 0.10, 0.05)
MATCHED = 0.0
"""Not a budget but a key: each file at the budget that the published audit gave a file of its kind."""
_AUDITED = (0.30, 0.20, 0.11, 0.025)
_EXTENSIONS = "py|js|ts|tsx|rs|go|c|h|cpp|hpp|java|rb|sh|yaml|yml|toml|json|md|sql|txt|cfg|ini"
_FINDERS = (
    ("path", re.compile(rf"(?:[A-Za-z]:)?[\w./\\-]*[\w-]\.(?:{_EXTENSIONS})\b")),
    ("url", re.compile(r"https?://[^\s\"'`<>)\]]+")),
    ("hash", re.compile(r"\b[0-9a-f]{7,40}\b")),
    ("error", re.compile(r"\b[A-Z][A-Za-z0-9]*(?:Error|Exception|Warning|Fault|Panic)\b")),
    ("error", re.compile(r"\b(?:E[A-Z]{3,}|HTTP ?[45]\d\d|exit(?: code)? \d+)\b")),
    ("command", re.compile(r"(?m)^\s*[$>#]\s*([a-z][\w-]*(?:\s[^\n|;&]{0,60})?)")),
    ("name", re.compile(r"\b(?:[A-Za-z_]\w*\.)+[A-Za-z_]\w*\b")),
    ("name", re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b")),
    ("name", re.compile(r"\b[a-z]+(?:[A-Z][a-z0-9]+)+\b")),
    ("number", re.compile(r"\b0x[0-9a-fA-F]+\b")),
    ("number", re.compile(r"\b\d+(?:\.\d+){1,3}\b")),
    ("number", re.compile(r"(?:line|:)\s*(\d{2,6})\b")),
)
CLASSES: tuple[str, ...] = ("path", "name", "number", "command", "url", "hash", "error")


GROUPS: tuple[str, ...] = (*CLASSES, "all", "whole")


@dataclass(frozen=True)
class Point:
    """One arm at one budget, over all files."""

    saved: float
    """Per cent of the tokens."""
    kept: Mapping[str, tuple[int, int]]
    """Class -> (found by plain substring, total); `all`, and `whole` for matches at word boundaries, are among them."""

    def rate(self, name: str) -> float:
        return share(*self.kept[name])


def atoms(text: str) -> dict[str, str]:
    """Atom -> class; the first class that finds it has it; what stands inside a path or address is no further one."""
    found: dict[str, str] = {}
    wholes: list[str] = []
    for name, pattern in _FINDERS:
        for match in pattern.finditer(text):
            atom = match.group(match.lastindex or 0).strip().strip("\"'`,;:()[]{}")
            if len(atom) < 3 or atom in found:
                continue
            if name in ("path", "url"):
                wholes.append(atom)
            elif any(atom in whole for whole in wholes):
                continue
            found[atom] = name
    return found


def curves() -> dict[str, dict[float, Point]]:
    """Arm -> budget -> point, over the same files and atoms."""
    files = own_files()
    wanted = {name: atoms(text) for name, text in files.items()}
    total = sum(map(tokens, files.values()))
    arms = {"palimpsest": None, **floors()}
    found: dict[str, dict[float, Point]] = {}
    for arm_name, arm in arms.items():
        found[arm_name] = {}
        for budget in (*BUDGETS, MATCHED):
            hits = dict.fromkeys(GROUPS, 0)
            sizes = dict.fromkeys(GROUPS, 0)
            left = 0
            for (name, text), own in zip(files.items(), _AUDITED, strict=True):
                view = (arm or OurDigest())([text], [int((budget or own) * tokens(text))])[0]
                left += tokens(view)
                for atom, kind in wanted[name].items():
                    there = atom in view
                    for group, hit in ((kind, there), ("all", there), ("whole", there and stands(view, atom))):
                        sizes[group] += 1
                        hits[group] += hit
            kept = {group: (hits[group], sizes[group]) for group in sizes}
            found[arm_name][budget] = Point(100 * (1 - left / total), kept)
    return found


def q1() -> tuple[str, dict[str, dict[float, Point]]]:
    """The tables of Q1, and the points for the overview."""
    found = curves()
    rows = [
        [name, *(f"{p.rate('all'):.1f} ({p.saved:.1f})" for p in points.values()), f"{points[0.2].rate('whole'):.1f}"]
        for name, points in found.items()
    ]
    head = ("arm", *(f"{100 * budget:.0f} % budget" for budget in BUDGETS), "matched", "whole words, 20 %")
    text = "Atoms that stand in the view, % (saved, %), over four files at a uniform budget, and at the budgets of the "
    text += f"published audit ({', '.join(f'{100 * one:g}' for one in _AUDITED)} % of each):\n\n" + table(head, rows)
    details = [
        [f"{name}, {100 * budget:.0f} %", *(f"{p.rate(kind):.1f} ({p.kept[kind][1]})" for kind in CLASSES)]
        for name, points in found.items()
        for budget, p in points.items()
        if budget in DETAILED and name != "clear"
    ]
    text += "\n\nBy class, % (atoms):\n\n" + table(("arm, budget", *CLASSES), details)
    bounds = [
        [name, f"{tokens(body):,}", str(len(atoms(body))), f"{100 * tokens(' '.join(atoms(body))) / tokens(body):.1f}"]
        for name, body in own_files().items()
    ]
    text += "\n\nWhat bounds it:\n\n" + table(("file", "tokens", "atoms", "all atoms, bare, % of the tokens"), bounds)
    return text, found
