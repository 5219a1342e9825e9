"""The use cases: what the library, the server and the command line all do.

In: message lists, transcripts, host events. Out: reports, restored bytes, events in the ledger.
`palimpsest.Palimpsest` is the library's one class; `sessions.Sessions` finds and opens sessions, `record` and
`importer` take in what was said, `measure` tells how full the window is, `offloaded` lists and restores;
`compaction/` is a pass, `claude_code/` a host.
"""
