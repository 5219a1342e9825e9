"""Protocols between the rooms: stores, texts, hosts. Who implements one runs its contract (`testing`)."""
