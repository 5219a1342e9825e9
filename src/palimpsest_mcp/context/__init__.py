"""What a session's context holds and what should leave it: the ledger's events and the policy. No input or output.

In: a ledger's events, a host's list, a policy. Out: what stands in the context, and a plan of what would leave it.
`fold` and `view` build the state from events (`observed`, `decided`), `alignment` compares it with a host's list;
`plan` chooses what leaves, `gates`, `forget` and `versions` what may not or need not stay, `budgets` and `fit` how long
digests may be, `occasion` whether it is worth it, `meter` how full the window is.
"""
