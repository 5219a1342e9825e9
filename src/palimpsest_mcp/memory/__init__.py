"""What outlives a compaction: summaries, handoffs, and the probes that test them. No input or output here."""
