"""Digests: what stands in the place of a result, and the proof that it does not lie.

In: results, already masked, with a budget of tokens. Out: lines taken whole from the source, and counts of what they
leave out. `survey` reads a source, `reducers/` choose its lines by its form, `engine` fills the budget, `verify` and
`witness` check the outcome without asking who made it.
"""
