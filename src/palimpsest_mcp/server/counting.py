"""Counts o200k tokens of answers; loads the vocabulary at its first use, or before that in the background."""

from __future__ import annotations

import gc
import importlib


def count_o200k(text: str) -> int:
    """Tokens of one text."""
    from ..tokens.counting import open_counter

    return open_counter(_UNSCALED_MODEL).count(text)


def warm_up() -> None:
    """Load the vocabulary and the modules of the facade, so that no call waits for them. For a thread of its own."""
    from ..tokens.vocabulary import load_vocabulary

    load_vocabulary()
    importlib.import_module("..app", __package__)
    # What is loaded by now stays for good: the collector need not look at it again, nor calls wait while it does.
    gc.freeze()


_UNSCALED_MODEL = "gpt-5"
"""o200k is this family's own tokenizer: its factor is 1."""
