"""Adapters for agent frameworks, each an extra: the framework's own messages go out shorter, in place.

In: what a framework hands its seam before a model call, or after a tool call. Out: the same messages with digests in
the place of old results and notes in the place of old arguments. `window` is what all share, `conversation` turns
messages into the list that the library compacts and back; every other file is one framework, and alone imports it.
"""
