"""What a session's context holds and what should leave it: the ledger's events and the policy. No input or output.

`fold` and `view` build the state from events, `alignment` compares it with a host's list; `plan` chooses what leaves,
`gates` and `forget` what may not or need not stay, `budgets` and `fit` how long digests may be, `meter` and
`fullness` how full the window is.
"""
