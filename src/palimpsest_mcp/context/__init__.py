"""What a session's context holds and what should leave it: the ledger's events and the policy. No input or output.

In: a ledger's events, a host's list, a policy. Out: what stands in the context, and a plan of what would leave it.
`fold` and `view` build the state from events (`state`), `alignment` compares it with a host's list;
`plan` says whether a pass is worth it and what leaves, `gates` what may not or need not stay, `budgets` and `fit` how
long digests may be, `meter` how full the window is.
"""
