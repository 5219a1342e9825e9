"""A key is a key however it is split or spelled out, and what is masked covers what was written."""

from __future__ import annotations

import html
import json
import quopri
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from key_material import BASE32, Forge

from palimpsest_mcp.text.redaction.redactor import RuleRedactor, open_redactor
from palimpsest_mcp.text.redaction.scan import views

REDACTOR = open_redactor(b"k" * 32)
KEYS: dict[str, Callable[[Forge], str]] = {
    "github": lambda f: "gh" + "p_" + f.of(36),
    "slack": lambda f: "xo" + f"xb-{f.of(12, '123456789')}-{f.of(13, '123456789')}-{f.of(24)}",
    "anthropic": lambda f: "sk-" + "ant-api03-" + f.of(93) + "AA",
    "aws": lambda f: "AK" + "IA" + f.of(16, BASE32),
    "jwt": lambda f: f.jwt(),
}
FORMS: dict[str, Callable[[str], str]] = {
    "a sign of no width": lambda s: s[:9] + "\u200b" + s[9:],
    "signs of no width everywhere": "\u2060".join,
    "a soft hyphen": lambda s: s[:12] + "\u00ad" + s[12:],
    "a sign of no width in JSON": lambda s: json.dumps(s[:9] + "\u200b" + s[9:]),
    "colour": lambda s: s[:9] + "\x1b[31m" + s[9:16] + "\x1b[0m" + s[16:],
    "grep's colour": lambda s: s[:4] + "\x1b[m\x1b[K" + s[4:],
    "colour in JSON": lambda s: json.dumps(s[:9] + "\x1b[31m" + s[9:]),
    "its first letter in JSON's escape": lambda s: f'"\\u{ord(s[0]):04x}{s[1:]}"',
    "every letter in JSON's escape": lambda s: "".join(f"\\u{ord(c):04X}" for c in s),
    "JSON's escape in JSON": lambda s: json.dumps(f'"\\u{ord(s[0]):04x}{s[1:]}"'),
    "a letter in hexadecimal": lambda s: f"{s[:5]}\\x{ord(s[5]):02x}{s[6:]}",
    "a letter percent-encoded": lambda s: f"%{ord(s[0]):02X}{s[1:]}",
    "every letter percent-encoded": lambda s: "".join(f"%{ord(c):02x}" for c in s),
    "mail's soft line break": lambda s: quopri.encodestring(("-" * 60 + " " + s).encode()).decode()[61:],
    "every letter as mail has it": lambda s: "".join(f"={ord(c):02X}" for c in s),
    "a line continued": lambda s: s[:9] + "\\\n" + s[9:],
    "a line continued and indented": lambda s: s[:9] + "\\\r\n    " + s[9:],
    "a line continued, in JSON": lambda s: json.dumps(s[:9] + "\\\n" + s[9:]),
    "strings added": lambda s: f"'{s[:3]}'+'{s[3:9]}' + '{s[9:]}'",
    "strings side by side": lambda s: f'"{s[:9]}" "{s[9:]}"',
    "strings under one another": lambda s: f'("{s[:9]}"\n    f"{s[9:]}")',
    "strings added over lines": lambda s: f'"{s[:9]}" +\n    "{s[9:]}"',
    "strings joined as PHP does": lambda s: f"'{s[:9]}' . '{s[9:]}'",
    "strings joined as Lua does": lambda s: f"'{s[:9]}' .. '{s[9:]}'",
    "strings added, in JSON": lambda s: json.dumps(f'"{s[:9]}" +\n "{s[9:]}"'),
    "HTML's number of a letter": lambda s: f"&#{ord(s[0])};{s[1:]}",
    "HTML's number in hexadecimal": lambda s: f"&#x{ord(s[0]):x};{html.escape(s[1:])}",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_key_in_this_form_is_masked_whole(form: str) -> None:
    for kind, draw in KEYS.items():
        for seed in range(3):
            written = FORMS[form](draw(Forge(seed)))
            before, after = "the log said ", " and then it went on"
            redacted = REDACTOR.redact(before + written + after).text
            assert redacted.startswith(before) and redacted.endswith(after), (kind, redacted)
            inside = redacted.removeprefix(before).removesuffix(after)
            left = "".join(part.partition("]")[2] for part in ("]" + inside).split("[redacted:"))
            assert "[redacted:" in inside and sum(map(str.isalnum, left)) <= 2, (kind, redacted)


@pytest.mark.parametrize(
    "text",
    [
        "plain \x1b[32mgreen\x1b[0m text",
        "emoji 👩\u200d💻 and نمی\u200cخواهم",
        "\\u00e9t\\u00e9 &#233;",
        "a = 'x' + name + 'y'",
        "x=3D y=20",
        "['ab' 'cd']",
        "for x in \\\n  rows",
        "100%25 of it",
        "C:\\x64\\u0061bc",
        "=\n==\n",
        'print("a" "b")',
        "\ufeffconst a = 1",
    ],
)
def test_the_same_forms_without_a_key_stay(redactor: RuleRedactor, text: str) -> None:
    assert redactor.redact(text).text == text


PARTS = [
    "\u200b",
    "\x1b[31m",
    "\\u0067",
    "\\x67",
    "%67",
    "=67",
    "=3D",
    "=\n",
    "\\\n",
    "' + '",
    '" "',
    "&#103;",
    "ghp_",
    "a",
    "Z9",
    " ",
    "\n",
]


@given(st.lists(st.sampled_from(PARTS), max_size=60).map("".join))
def test_every_reading_leads_back_into_the_text(text: str) -> None:
    raw = text.encode()
    for view in views(raw)[1:]:
        assert view.places is not None and len(view.places) == len(view.text) + 1
        assert list(view.places) == sorted(view.places) and 0 <= view.places[0] <= view.places[-1] <= len(raw)
    redacted = REDACTOR.redact(text)
    assert REDACTOR.redact(redacted.text).text == redacted.text
