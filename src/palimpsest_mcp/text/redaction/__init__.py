"""Masks secrets and personal data in texts; keeps every hash, id, version and path.

In: any text. Out: the text with marks, and where they stand. `redactor.open_redactor` makes one with the built-in
rules (the `.toml` files) and the user's; `rules` reads them, `scan` undoes encodings and finds.
"""
