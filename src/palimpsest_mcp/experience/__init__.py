"""Rules learned from logs of experience: events in, counted evidence and promoted rules out.

Events are redacted before they come here. `learn` records and reads, `tally` counts, `forms` says
which patterns are one, `promotion` what has become a rule, `document` writes and reads the file that people edit,
`disk` and `memory` keep it.
"""
