"""Claude Code's transcripts, hooks, settings and places on disk.

`transcript` reads and rewrites a session file, `tail` follows one that grows, `hooks` reads what a hook is given,
`results` tool results, `settings` what the user has set, `places` where the client keeps things.
"""
