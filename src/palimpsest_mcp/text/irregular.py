"""English words whose forms share no stem: `went` for `go`. A textbook's list, without what is common as another word
(`ground`, `bore`) and without what a search leaves out (`did`)."""

from __future__ import annotations

from .stem import stem

_ROWS = """
become became, begin began begun, bend bent, bite bitten, bleed bled, blow blew blown, break broke broken,
bring brought, build built, buy bought, catch caught, choose chose chosen, come came, creep crept, deal dealt, dig dug,
draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed,
feel felt, fight fought, flee fled, fly flew flown, forget forgot forgotten, forgive forgave forgiven,
freeze froze frozen, get got gotten, go went gone, grow grew grown, hang hung, hear heard, hide hid hidden, hold held,
keep kept, know knew known, lay laid, lead led, lean leant, leap leapt, learn learnt, leave left, lend lent, light lit,
lose lost, make made, mean meant, meet met, pay paid, ride rode ridden, ring rang rung, rise rose risen, run ran,
say said, see saw seen, seek sought, sell sold, send sent, shake shook shaken, shine shone, shoot shot,
shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat, sleep slept, slide slid, speak spoke spoken, spend spent,
spin spun, stand stood, steal stole stolen, stick stuck, strike struck, swear swore sworn, sweep swept, swim swam swum,
swing swung, take took taken, teach taught, tear tore torn, think thought, throw threw thrown, understand understood,
wake woke woken, wear wore worn, win won, write wrote written,
child children, man men, woman women, person people, foot feet, tooth teeth, mouse mice, goose geese, wife wives,
life lives, knife knives, half halves
"""
_BY_STEM = {stem(word): tuple(row) for row in (row.split() for row in _ROWS.split(",")) for word in row}


def forms(word: str) -> tuple[str, ...]:
    """The other forms of a word in lower case that its stem does not find."""
    own = stem(word)
    return tuple(one for one in _BY_STEM.get(own, ()) if stem(one) != own)
