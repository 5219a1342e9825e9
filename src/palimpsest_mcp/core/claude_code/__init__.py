"""Claude Code as a host: its hook events in, answers for the hooks and the plugin's module out.

`events` routes an event, refuses a call, records and shrinks its result; `conversations` follows a transcript;
`in_place` compacts inside the client, `around_compaction` stands around its own; `notices` says what is due.
"""
