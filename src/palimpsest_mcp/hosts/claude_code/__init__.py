"""Claude Code's transcripts, results of its tools, settings and places on disk.

`transcript` reads a session file, rewrites it, and follows one that grows, `results` reads what tools gave,
`settings` what the user has set, `places` says where the client keeps things.
"""
