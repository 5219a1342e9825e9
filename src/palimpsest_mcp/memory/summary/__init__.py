"""The anchored summary: found in a session, merged with what stood before, written as Markdown and read back.

`harvest` finds facts, `merge` anchors them, `fit` keeps the length, `markdown` and `parse` are the file, `stated` is
what an agent says itself.
"""
