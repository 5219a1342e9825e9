from __future__ import annotations

import pytest
from key_material import Forge
from surviving import survives

from palimpsest_mcp.text.redaction.redactor import RuleRedactor

RSA = "RSA PRIVATE " + "KEY"


def test_a_block_goes_from_begin_to_end(redactor: RuleRedactor) -> None:
    redacted = redactor.redact(f"before\n{Forge(30).pem(RSA)}\nafter").text
    assert redacted.startswith("before\n[redacted:private-key:") and redacted.endswith("]\nafter")


def test_a_block_without_its_end_goes_to_the_end_of_its_body(redactor: RuleRedactor) -> None:
    pem = Forge(31).pem(RSA, end=False)
    assert redactor.redact(pem).text.startswith("[redacted:") and len(redactor.redact(pem).text) < 40
    redacted = redactor.redact(f"{pem}\n$ ls -la\ntotal 48").text
    assert not survives(pem, redacted) and redacted.endswith("]\n$ ls -la\ntotal 48")


@pytest.mark.parametrize("at", [40, 100, 333, 500])
def test_a_block_cut_anywhere_leaves_nothing_of_its_body(redactor: RuleRedactor, at: int) -> None:
    pem = Forge(32).pem(RSA)
    assert not survives(pem[31:at], redactor.redact(pem[:at]).text) or at < 60


@pytest.mark.parametrize("prefix", ["    ", "> ", "+", "# ", "     7\t", "     7→", "id_rsa:7:", "./a/id_rsa-7-"])
def test_a_block_inside_a_listing_is_seen(redactor: RuleRedactor, prefix: str) -> None:
    pem = Forge(33).pem(RSA, end=False)
    listing = "\n".join(prefix + line for line in pem.splitlines())
    assert all(not survives(line, redactor.redact(listing).text) for line in pem.splitlines()[1:])


@pytest.mark.parametrize("prefix", ["", "    12\t", "    12→", "id_rsa:12:"])
def test_a_block_that_was_read_from_its_middle_on_goes_too(redactor: RuleRedactor, prefix: str) -> None:
    lines = Forge(38).pem(RSA).splitlines()[4:]
    text = "\n".join(["$ tail -6 id_rsa", *(prefix + line for line in lines), "done"])
    redacted = redactor.redact(text).text
    assert all(not survives(line, redacted) for line in lines[:-1])
    assert redacted.startswith("$ tail -6 id_rsa\n") and redacted.endswith("\ndone")


def test_two_blocks_are_two_and_the_text_between_them_stays(redactor: RuleRedactor) -> None:
    forge = Forge(34)
    redacted = redactor.redact(f"{forge.pem(RSA, end=False)}\nand then\n{forge.pem(RSA)}")
    assert redacted.counts == {"private-key": 2} and "\nand then\n" in redacted.text


def test_public_keys_and_certificates_stay(redactor: RuleRedactor) -> None:
    for kind in ("CERTIFICATE", "PUBLIC KEY", "PGP SIGNATURE"):
        pem = Forge(35).pem(kind)
        assert redactor.redact(pem).text == pem
