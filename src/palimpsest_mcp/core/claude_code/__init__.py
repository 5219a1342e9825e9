"""Claude Code as a host: its hook events in, answers for the hooks and the plugin's module out.

`events` routes an event; `conversations` follows a transcript; `tool_results` records and shrinks results as they
arrive; `in_place` compacts inside the client, `before_compaction` and `after_compaction` stand around its own.
"""
