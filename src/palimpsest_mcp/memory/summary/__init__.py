"""The anchored summary: found in a session, merged with what stood before, written as Markdown and read back.

`harvest` finds facts, `merge` anchors them and reads what an agent says itself, `fit` keeps the length, `sections` is
the file both ways.
"""
