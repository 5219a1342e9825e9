"""What can be known of a text by itself: its specifics, its secrets, its tokens.

In: any text. Out: spans, marks, counts. `specifics/` finds values that must survive, `redaction/` masks secrets,
`tokens/` counts, `languages/` holds words as data, `stem` takes endings off.
"""
