"""Message lists and transcripts of hosts, read and written in the form they came in.

In: JSON of a host. Out: items with their actions, and the same JSON with results replaced. `detect` tells the forms
apart, `anthropic`, `openai` and `claude_code/` read one each, `assemble` pairs calls with results, `validity` names
what is wrong.
"""
