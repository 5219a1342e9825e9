"""Protocols between the rooms: stores, texts, hosts. Who implements one runs its contract (`testing`).

`store` is what a store must do, for summaries and handoffs too; `seams` has who counts, masks, digests and writes, and
what a message list or a transcript is read into; `small_file` is the one way to read a file that a user names.
"""
