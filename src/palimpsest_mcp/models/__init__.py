"""Frozen data that goes between rooms and onto disk: events, items, records, plans, reports.

Nothing comes in; every room takes these out. `items` and `events` are what a ledger holds, `records` what an archive
holds, `plans` policies, options and what would leave, `reports` what the use cases answer; `host_table` and `tools` are
the tables of hosts and tools, `text` and `advice` how words go out.
"""
