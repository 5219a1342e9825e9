"""Handoffs: a session told to whoever goes on with it, in one of the templates.

`templates` are the forms, `material` and `fill` put a session into one, `markdown` writes and reads it,
`files` chooses among stored ones.
"""
