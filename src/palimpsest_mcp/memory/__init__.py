"""What outlives a compaction: summaries, handoffs, and the probes that test them. No input or output here.

In: a session's items, already masked, and what an agent or a person stated. Out: documents as text, read back whole,
and verdicts. `summary/` is the anchored summary, `handoff/` what the next conversation starts from, `probes/` asks
what still stands, `skill_uses` says how uses of skills went.
"""
