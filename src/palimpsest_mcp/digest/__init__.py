"""Digests: what stands in the place of a result, and the proof that it does not lie.

In: results, already masked, with a budget of tokens. Out: lines taken whole from the source, and counts of what they
leave out. `source` reads a text as records (`readers/`), `blocks` and `runs` say which are shown together, `fill`
chooses within a budget, `engine` leads from one to the other. `proof` reads the printed text and the source, and asks
neither who made it nor how; `verdict` adds up what it found.
"""
