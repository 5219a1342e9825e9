"""Four files like those that compression is usually audited on, made from what this machine has: dense C++-like source,
real tracebacks, two project READMEs, the log of a dependency resolver. Seeded; the same machine gives the same bytes.
"""

from __future__ import annotations

import ast
import bz2
import codecs
import configparser
import datetime
import decimal
import email.utils
import fractions
import importlib
import importlib.metadata
import inspect
import io
import ipaddress
import json
import os
import plistlib
import random
import re
import struct
import tomllib
import traceback
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from .arms import SEED

_MODULES = ("statistics", "fractions", "colorsys", "heapq", "bisect", "textwrap")
AUDITED = ("trig_live.h", "error_log.txt", "paritok.md", "pip_install.log")
"""Files of the audit, in the order of ours."""
_CALLS = re.compile(r"\b(\w+)\.(?=\w)")


@cache
def own_files() -> dict[str, str]:
    """Name -> text, of about 45,000 o200k tokens in all; or the four of a published audit, where ATOM_FILES names their
    folder (`corpus` of EazyHood/paritok-audit)."""
    if folder := os.environ.get("ATOM_FILES"):
        return {name: (Path(folder) / name).read_text(encoding="utf-8") for name in AUDITED}
    return {
        "C++-like source": source_file(),
        "tracebacks": tracebacks(),
        "README": readmes(),
        "resolver log": resolver_log(),
    }


def source_file() -> str:
    """Numeric modules of the standard library, printed with C++'s punctuation; floats become hex literals."""
    rng = random.Random(SEED)
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "#pragma once",
        '#include "kernel_base.h"',
        "namespace kernels {",
    ]
    for name in _MODULES:
        module = ast.parse(inspect.getsource(importlib.import_module(name)))
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef):
                lines += _function(node, rng)
    return "\n".join([*lines, "}  // namespace kernels"])


def _function(node: ast.FunctionDef, rng: random.Random) -> Iterator[str]:
    arguments = ", ".join(f"const vec_t& {one.arg}" for one in node.args.args)
    yield ""
    yield "template <bool APPROXIMATION_MODE>"
    yield f"sfpi_inline vec_t {node.name}({arguments}) {{"
    body = [one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    for line in ast.unparse(ast.Module(body, [])).split("\n"):
        plain = _CALLS.sub(r"\1->", line.rstrip().removesuffix(":"))
        plain = re.sub(r"(?<![\w.])\d+\.\d+(?![\w.])", lambda m: float(m.group()).hex() + "f", plain)
        opens = line.rstrip().endswith(":")
        yield f"    {plain}{' {' if opens else ';'}"
    if rng.random() < 0.3:
        yield f"    const vec_t c{rng.randint(0, 9)} = {rng.uniform(-4, 4).hex()}f;  // {rng.choice(_NOTES)}"
    yield "}"


_NOTES = ("minimax, degree 7", "Cody-Waite reduction", "see section 4.2", "rounds to even", "from the table below")


def tracebacks() -> str:
    """Calls into the standard library that really fail, each three times, as the interpreter prints them."""
    failing: list[Callable[[], object]] = [
        lambda: json.loads('{"port": 8080, "hosts": [}'),
        lambda: ipaddress.ip_network("10.20.30.40/33"),
        lambda: uuid.UUID("9f0c2f1e-77b1-4c1b-a0e4"),
        lambda: datetime.datetime.fromisoformat("2026-13-41T25:00"),
        lambda: decimal.Decimal("12,5"),
        lambda: fractions.Fraction("3/0"),
        lambda: tomllib.loads("[build\nrequires = 1"),
        lambda: configparser.ConfigParser().read_string("no section = 1"),
        lambda: zipfile.ZipFile(io.BytesIO(b"PK\x05\x06 not a zip")),
        lambda: zlib.decompress(b"garbage"),
        lambda: bz2.decompress(b"BZh9 garbage"),
        lambda: struct.unpack("<Q", b"1234"),
        lambda: codecs.lookup("utf-99"),
        lambda: b"\xff\xfe\xfa".decode("utf-8"),
        lambda: re.compile("(unclosed [group"),
        lambda: ElementTree.fromstring("<a><b></a>"),
        lambda: plistlib.loads(b"<plist><dict><key>x</key></dict></plist>"),
        lambda: importlib.import_module("missing_module_4711"),
        lambda: Path("/no/such/dir/settings.yaml").read_text("utf-8"),
        lambda: email.utils.parsedate_to_datetime("Tue, 99 Foo 2026"),
        lambda: ast.parse("def broken(:"),
        lambda: inspect.getsource(len),
    ]
    random.Random(SEED).shuffle(failing)
    parts: list[str] = []
    for number, call in enumerate(failing):
        for attempt in range(1, 4):
            try:
                call()
            except Exception:
                parts.append(
                    f"=== case {number + 1} of {len(failing)}, attempt {attempt} ===\n{traceback.format_exc()}"
                )
    return "\n".join(parts)


def readmes() -> str:
    """Descriptions of two installed projects, drawn among those of middling size and few addresses."""
    found = {name: text for name, text in descriptions(12_000, 32_000).items() if 4 <= text.count("http") <= 40}
    return "\n\n".join(found[name] for name in random.Random(SEED).sample(sorted(found), min(2, len(found))))


@cache
def descriptions(least: int, most: int) -> dict[str, str]:
    """Name -> the description of an installed project with so many characters, by name."""
    found: dict[str, str] = {}
    for dist in importlib.metadata.distributions():
        text = (dist.read_text("METADATA") or "").partition("\n\n")[2]
        if least <= len(text) <= most:
            found[dist.name.lower()] = text
    return dict(sorted(found.items()))


def resolver_log() -> str:
    """What a dry run of the installer would say of the packages that are installed, with their real demands."""
    rng = random.Random(SEED)
    lines: list[str] = []
    names: list[str] = []
    for dist in sorted(importlib.metadata.distributions(), key=lambda one: one.name.lower())[:60]:
        name, version = dist.name, dist.version
        wheel = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        wanted = [one.split(";")[0].strip() for one in dist.requires or [] if "extra ==" not in one]
        lines.append(f"Collecting {name}=={version} (from -r requirements/dev.txt (line {len(names) + 3}))")
        lines.append(f"  Using cached {wheel}.metadata")
        lines += [
            f"Requirement already satisfied: {one} in ./.venv/lib/site-packages (from {name}=={version})"
            for one in wanted[:10]
        ]
        if rng.random() < 0.15:
            digest = "".join(rng.choices("0123456789abcdef", k=64))
            url = f"https://files.index.example/packages/{digest[:2]}/{digest[2:4]}/{digest[4:]}/{wheel}"
            lines.append(
                f"  Link requires a different Python: {url}#sha256={digest} (requires-python:>=3.{rng.randint(9, 14)})"
            )
        names.append(f"{name}-{version}")
    lines.append("Would install " + " ".join(names))
    return "\n".join(lines)
