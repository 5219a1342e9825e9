"""How well redaction does on the labelled sets, which were written before the rules."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from key_material import SEEN_DRAWS, UNSEEN_DRAW
from labelled_hard_negatives import hard_negatives
from labelled_kinds import bare_keys, named_keys
from labelled_lookalikes import NEVER, lookalikes
from labelled_negatives import negatives
from labelled_passwords import CONTEXTS, MAKINGS, Password, passwords
from labelled_phrases import ABOUT_PASSWORDS, phrases
from labelled_positives import positives
from surviving import leaks, survives

from palimpsest_mcp.text.redaction.redactor import RuleRedactor

from ...conftest import LONG, first_of

DRAWS = (*(SEEN_DRAWS if LONG else SEEN_DRAWS[:1]), UNSEEN_DRAW)  # the last one ran only when the rules were done


def test_the_sets_are_large_and_varied() -> None:
    assert len(positives()) >= 120 and len({p.kind for p in positives()}) >= 25
    assert len(negatives()) >= 120
    seed = SEEN_DRAWS[0]
    assert len({key.kind for key in bare_keys(seed)}) >= 140 and len(list(named_keys(seed))) >= 1500
    assert len(MAKINGS) >= 12 and len(CONTEXTS) >= 9 and all(p.secret in p.text for p in passwords(seed))
    assert len({n.text for n in lookalikes(seed)}) >= 500 and UNSEEN_DRAW not in SEEN_DRAWS


def test_no_labelled_secret_stands_in_the_repository() -> None:
    sources = [path.read_text() for path in Path(__file__).parent.glob("*.py")]
    keys = [*positives(), *bare_keys(SEEN_DRAWS[0]), *passwords(SEEN_DRAWS[0])]
    drawn = [p.secret for p in keys if len(p.secret) >= 24 and any(c.isdigit() for c in p.secret)]
    fixed = [secret for secret in drawn if any(secret in source for source in sources)]
    assert fixed == []


def test_at_least_97_of_100_labelled_secrets_are_gone_whole(redactor: RuleRedactor) -> None:
    missed = [p for p in positives() if survives(p.secret, redactor.redact(p.text).text)]
    assert len(missed) <= 0.03 * len(positives()), [(p.kind, p.text[:60]) for p in missed]


def test_at_least_97_of_100_masked_texts_hold_a_secret(redactor: RuleRedactor) -> None:
    right = sum(1 for p in positives() if redactor.redact(p.text).counts)
    wrong = [n for n in negatives() if redactor.redact(n.text).text != n.text]
    assert len(wrong) <= 0.03 * right, wrong


def test_of_hard_negatives_little_is_masked_and_only_what_looks_like_a_key(redactor: RuleRedactor) -> None:
    masked = [n for n in hard_negatives() if redactor.redact(n.text).counts]
    assert {n.kind for n in masked} <= {"real look"} and len(masked) <= 0.1 * len(hard_negatives()), masked


def test_other_draws_of_the_same_kinds_do_as_well(redactor: RuleRedactor) -> None:
    for seed in (1, 2):
        missed = [p for p in positives(seed) if survives(p.secret, redactor.redact(p.text).text)]
        wrong = [n for n in negatives(seed) if redactor.redact(n.text).counts]
        assert len(missed) <= 0.03 * len(positives()), [(p.kind, p.text[:60]) for p in missed]
        assert len(wrong) <= 0.03 * len(negatives()), wrong


def test_the_marks_of_a_kind_hold_no_part_of_its_secrets(redactor: RuleRedactor) -> None:
    for p in positives():
        for kind in redactor.redact(p.text).counts:
            assert not survives(p.secret, f"[redacted:{kind}:") or len(p.secret) < 6


@pytest.mark.parametrize("seed", first_of(reversed(DRAWS)))
def test_of_200_keys_of_2026_at_most_one_leaks_bare_or_under_a_secrets_name(redactor: RuleRedactor, seed: int) -> None:
    for keys in (list(bare_keys(seed)), list(named_keys(seed))):
        missed = [key for key in keys if leaks(key.secret, key.text, redactor.redact(key.text).text)]
        assert len(missed) <= 0.005 * len(keys), missed


def leaked(redactor: RuleRedactor, drawn: list[Password]) -> list[Password]:
    return [p for p in drawn if leaks(p.secret, p.text, redactor.redact(p.text).text)]


@pytest.mark.parametrize("seed", first_of(reversed(DRAWS)))
def test_of_100_passwords_at_most_one_leaks_from_any_format(redactor: RuleRedactor, seed: int) -> None:
    drawn = list(passwords(seed))
    missed = leaked(redactor, drawn)
    assert len(missed) <= 0.004 * len(drawn), missed
    worst = Counter((p.making, p.context) for p in missed).most_common(1)
    assert not worst or worst[0][1] <= 1, worst


@pytest.mark.parametrize("seed", first_of(reversed(DRAWS)))
def test_phrases_of_four_words_are_found_in_the_midst_of_sentences(redactor: RuleRedactor, seed: int) -> None:
    drawn = list(phrases(seed))
    assert len(leaked(redactor, drawn)) <= 0.01 * len(drawn), leaked(redactor, drawn)


@pytest.mark.parametrize("sentence", ABOUT_PASSWORDS)
def test_a_sentence_about_passwords_stays_as_it_is(redactor: RuleRedactor, sentence: str) -> None:
    assert redactor.redact(sentence).text == sentence


@pytest.mark.parametrize("seed", first_of(reversed(DRAWS)))
def test_of_fresh_lookalikes_one_in_100_is_masked_and_no_hash_id_version_or_path(
    redactor: RuleRedactor, seed: int
) -> None:
    rows = lookalikes(seed)
    masked = [n for n in rows if redactor.redact(n.text).counts]
    assert len(masked) <= 0.01 * len(rows) and not NEVER & {n.kind for n in masked}, masked
