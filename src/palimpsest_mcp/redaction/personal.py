"""Personal data with a form or a check digit. Names and addresses have neither: they need a model, and stay."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .checks import Checks, Phones
from .matching import Find, Found, Pattern, compiled
from .scan import Ranges

_RANK = 7000


class Shape(NamedTuple):
    """A form, what shows quickly that it may occur, and what must hold besides."""

    kind: str
    gate: str
    pattern: Pattern
    holds: Callable[[bytes, Found], bool]
    group: int = 0


class PersonalData:
    """Finds e-mail addresses, phone numbers, cards, bank accounts, national ids, birth dates, people's addresses on the
    net, wallets."""

    def __init__(self, checks: Checks, phones: Phones) -> None:
        self._shapes = _shapes(checks, phones)

    @property
    def gates(self) -> tuple[str, ...]:
        return tuple(shape.gate for shape in self._shapes)

    def find(self, gate: int, text: bytes, ranges: Ranges) -> Iterator[Find]:
        """Personal data of one sort in these ranges."""
        shape = self._shapes[gate]
        for place, end in ranges:
            while match := shape.pattern.search(text, place, end):
                left, right = match.span(shape.group)
                if shape.holds(text, match):
                    yield Find(left, right, shape.kind, _RANK)
                    place = right
                else:  # what follows its first piece may still fit: a card behind an order's number
                    place = _behind_first_piece(text, left, match.end())


_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,7}\.?"
_BORN = r"(?:dob|d\.o\.b\.?|date[ _-]?of[ _-]?birth|birth[ _-]?da(?:te|y)|born(?: on)?|geburtsdatum|geboren(?: am)?|"
_BORN += r"date de naissance|fecha de nacimiento|nacid[oa] el)"
_CALLED = r"(?:tel|telephone|telefon|phone|mobile|mobil|cell|cellphone|fax|whatsapp|sms|call(?: me)?|handy|portable|"
_CALLED += r"(?:phone|contact|mobile)[ _-]?(?:no|num|number|nr))"
_ID = (
    r"(?:ssn|social[ _-]?security(?:[ _-]?(?:no|num|number))?|sin|itin|ein|tin|tax[ _-]?(?:id|no|number|payer[ _-]?id)|"
    r"national[ _-]?(?:id|insurance|identity)(?:[ _-]?(?:no|num|number|card))?|nino|nhs(?:[ _-]?(?:no|number))?|"
    r"passport(?:[ _-]?(?:no|num|number))?|driver'?s?[ _-]?licen[cs]e(?:[ _-]?(?:no|number))?|id[ _-]?card|identity card|"
    r"dni|nie|nif|cif|cpf|cnpj|curp|rfc|pesel|regon|bsn|burgerservicenummer|personnummer|hetu|henkil\S{1,2}tunnus|"
    r"f\S{1,2}dselsnummer|cpr|aadhaar|aadhar|pan card|codice fiscale|steuer-?id(?:entifikationsnummer)?|idnr|ahv|nir|"
    r"insee|rodn\S{1,2} \S{2,5}slo|oib|egn|cnp|tc kimlik|hkid|nric|my ?number|medicare(?:[ _-]?(?:no|number))?)"
)
_LINK = r"[\"']?\s{0,3}(?:no\.?|number|nr\.?|#|is|at|on|to)?\s{0,3}[:=#.]?\s{0,3}[\"']?\s{0,2}"

_EMAIL = compiled(r"[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}\b")
_CARD = compiled(r"\b[2-6]\d{3}(?:\d{9,15}|(?:[ -]\d{4}){2}[ -]\d{1,7}|[ -]\d{6}[ -]\d{4,5})\b")
_IBAN = compiled(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_FORMED_ID = compiled(
    r"\b(?:\d{3}-\d{2}-\d{4}|[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]|\d{3}\.\d{3}\.\d{3}-\d{2}|"
    r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]|[A-Z]{4}\d{6}[HMX][A-Z]{5}[0-9A-Z]\d|\d{6}[-+A]\d{3}[0-9A-Y]|"
    r"[12] ?\d{2} ?\d{2} ?\d[0-9AB] ?\d{3} ?\d{3} ?\d{2}|756\.\d{4}\.\d{4}\.\d{2}|\d{2}\.\d{3}\.\d{3}/\d{4}-\d{2})\b"
)
_NAMED_ID = compiled(rf"\b({_ID})\b{_LINK}([A-Z0-9](?:[ .\-/]?[A-Z0-9]){{5,22}})\b", any_case=True)
_BIRTH = compiled(
    rf"\b{_BORN}{_LINK}(\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}[./-]\d{{1,2}}[./-]\d{{2,4}}|"
    rf"\d{{1,2}}\.? {_MONTH},? \d{{4}}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}})\b",
    any_case=True,
)
_IP = compiled(
    r"(?:^|[^\w.:])((?:\d{1,3}\.){3}\d{1,3}|(?:[0-9a-f]{1,4}:){2,7}(?::?[0-9a-f]{1,4}){1,6})(?:$|[^\w.:-]|[.:](?:$|\W)|:\d{1,5}\b)",
    any_case=True,
)
_WALLET = compiled(
    r"\b(?:bc1[02-9ac-hj-np-z]{25,71}|[13][1-9A-HJ-NP-Za-km-z]{25,34}|[5KL][1-9A-HJ-NP-Za-km-z]{50,51}|"
    r"[xyz]prv[1-9A-HJ-NP-Za-km-z]{80,112})\b"
)
_PHONE = compiled(r"\+[1-9](?:[ .\-/]?\(?\d{1,5}\)?){2,9}\b")
_NAMED_PHONE = compiled(rf"\b{_CALLED}{_LINK}(\(?[+\d](?:[ .\-/]?\(?\d\)?){{6,14}})(?:$|[^\w.])", any_case=True)
_OF_A_PERSON = re.compile(
    rb"(?i)(?<![a-z])(?:client|visitor|caller|user|customer|peer|remote|login|logged in|session|request|connection|"
    rb"connected|accepted|forwarded|forwarded-for|real-ip|connecting-ip|client-ip|addr|address|ip)(?![a-z])[^\n]{0,44}$"
)
# What stands before the number of a version, not of a host.
_OF_A_VERSION = re.compile(
    rb"(?i)(?:versions?|upgraded?|release|build|[a-z]/|ssl|==|>=|<=|~|\^|\bv)[ \t]?(?:[\d.]+ to )?$"
)


def _shapes(checks: Checks, phones: Phones) -> tuple[Shape, ...]:
    near = r"[^\n0-9]{0,20}"
    return (
        Shape("email", r"[A-Za-z0-9+_-]@[A-Za-z0-9-]", _EMAIL, _is_email),
        Shape(
            "card",
            r"[2-6]\d{3}[ -]?\d{4}[ -]?\d{4}|\d{4}[ -]\d{6}[ -]\d{4}",
            _CARD,
            lambda text, m: _alone(text, m) and checks.card(_digits(m)),
        ),
        Shape("iban", r"\b[A-Z]{2}\d{2} ?[A-Z0-9]{4}", _IBAN, lambda _, m: checks.iban(m.group().decode())),
        Shape(
            "national-id",
            r"\d{3}-\d{2}-|[A-Z]{2} ?\d{2} ?\d{2}|\d{3}\.\d{3}\.|[A-Z]{4}\d{2}|\d{6}[-+A]|[12] ?\d{2} ?\d{2} ?\d|756\.",
            _FORMED_ID,
            lambda text, m: _alone(text, m) and checks.formed_id(_text(m)),
        ),
        Shape(
            "national-id",
            rf"(?i)\b{_ID}\b{near}\d",
            _NAMED_ID,
            lambda _, m: checks.named_id(_text(m, 1), _text(m, 2)),
            2,
        ),
        Shape("birth-date", rf"(?i)\b{_BORN}{near}\d", _BIRTH, lambda *_: True, 1),
        Shape(
            "ip-address", r"(?:\d{1,3}\.){3}\d|[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}:[0-9a-fA-F:]", _IP, _is_persons_ip, 1
        ),
        Shape(
            "wallet",
            r"\bbc1[a-z0-9]{25}|\b[13][1-9A-HJ-NP-Za-km-z]{25}|\b[5KL][1-9A-HJ-NP-Za-km-z]{50}|\b[xyz]prv",
            _WALLET,
            lambda _, m: checks.wallet(_text(m)),
        ),
        Shape(
            "phone",
            r"\+[1-9][ .\-/(]?\d",
            _PHONE,
            lambda text, m: _is_apart(text, m) and phones.international(_text(m)),
        ),
        Shape("phone", rf"(?i)\b{_CALLED}\b{near}[+\d(]", _NAMED_PHONE, lambda _, m: phones.local(_text(m, 1)), 1),
    )


_RESERVED = re.compile(
    rb"(?i)(?:@|\.)(?:example\.(?:com|org|net|edu)|example|test|invalid|localhost|local|internal|localdomain)$"
)
_NOBODY = re.compile(
    rb"(?i)(?:git|hg|svn|no-?reply|do-?not-?reply|donotreply|users?|user-?name|some(?:one|body)|any(?:one|body)|name|your?|"
    rb"you|me|my|e-?mail|mail|test(?:er|ing|user)?|foo|bar|baz|qux|admin|root|info|support|contact|hello|help|dev|demo|"
    rb"example|sample|alice|bob|carol|charlie|dave|eve|john|jane|joe|jdoe|(?:john|jane)[._-]?doe|[a-z]|username)$"
)
_FILE_ENDS = frozenset(
    b"png jpg jpeg gif svg webp ico css js mjs ts tsx jsx json py rb go rs md txt html htm xml yml yaml toml lock service "
    b"socket timer mount target conf cfg ini log length value id name map filter each md5 sha sh exe dll so".split()
)


def _is_email(text: bytes, match: Found) -> bool:
    person, _, domain = match.group().lstrip(b".-%").rpartition(b"@")
    ends = domain.lower().rsplit(b".", 1)[-1]
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    if not person or ends in _FILE_ENDS or after in (b":", b"(", b"@") and ends not in (b"com", b"org", b"net", b"de"):
        return False
    if (
        after == b":"
        and person == b"git"
        or before in (b"/", b"@", b":")
        and b"://" in text[max(0, match.start() - 80) : match.start()]
    ):
        return before == b":" and text[match.start() - 7 : match.start()].lower() == b"mailto:"
    if person.lower() in (b"git", b"noreply", b"no-reply", b"donotreply", b"do-not-reply"):
        return False
    return not (_RESERVED.search(b"@" + domain) and _NOBODY.match(person))


def _digits(match: Found) -> str:
    return "".join(c for c in _text(match) if c.isdigit())


def _text(match: Found, group: int = 0) -> str:
    return match.group(group).decode("utf-8", "replace")


def _alone(text: bytes, match: Found) -> bool:
    """Not a part of a longer number, identifier, path or version."""
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 2]
    return before not in (b".", b"-", b"/", b"_", b"+", b"#", b"$") and not re.match(
        rb"[-_/.][0-9A-Za-z]|[_/=%]", after
    )


def _is_apart(text: bytes, match: Found) -> bool:
    """A plus sign that is neither arithmetic, nor a time zone, nor the sign of an added line."""
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 2]
    if (
        before.isalnum()
        or before in (b".", b"+", b"-", b"/", b"_", b")", b"@")
        or re.match(rb"[.,:/_-]\d|[A-Za-z_%]", after)
    ):
        return False
    starts_line = not before or before == b"\n"
    return not starts_line or any(sign in match.group() for sign in b" -(/")


def _is_persons_ip(text: bytes, match: Found) -> bool:
    """A public address that somebody came from; that of a server is a fact to keep."""
    before = text[max(0, match.start(1) - 64) : match.start(1)]
    if not _OF_A_PERSON.search(before) or _OF_A_VERSION.search(before):
        return False
    try:
        return ipaddress.ip_address(_text(match, 1)).is_global
    except ValueError:
        return False


def _behind_first_piece(text: bytes, start: int, end: int) -> int:
    piece = _FIRST_PIECE.match(text, start, end)
    return piece.end() if piece else start + 1


_FIRST_PIECE = re.compile(rb"\+?[A-Za-z0-9]+")
