"""A summary as the bytes that are kept."""

from __future__ import annotations

import hashlib

from ..errors import InvalidArgument, WriteFailed
from ..models.summaries import AnchoredSummary
from ..ports.summaries import StoredSummary
from ..summary.markdown import NotASummary, from_markdown, to_markdown


def version_of(data: bytes | None) -> str:
    """SHA-256 of what is kept; empty for nothing."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def encoded(summary: AnchoredSummary) -> bytes:
    """The markdown in UTF-8, which is known to read back equal.

    Raises:
        InvalidArgument: half a surrogate pair stands in it.
        WriteFailed: it would not read back as it is.
    """
    text = to_markdown(summary)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(
            "The summary holds half of a surrogate pair, which UTF-8 cannot carry.", next="Leave that character out."
        ) from None
    if from_markdown(text) != summary:
        raise WriteFailed("The summary would not read back as it is.", next="Report this; the old summary stays.")
    return data


def decoded(data: bytes | None) -> StoredSummary:
    """What the bytes say; a note where they say nothing that can be read.

    Raises:
        StoreNewer: a newer program wrote them.
    """
    version = version_of(data)
    if data is None:
        return StoredSummary(summary=None, version=version)
    try:
        return StoredSummary(summary=from_markdown(data.decode("utf-8-sig")), version=version)
    except UnicodeDecodeError:
        why = "it is not UTF-8 text"
    except NotASummary:
        why = "it has none of a summary's headings"
    except ValueError:
        why = "a value in it cannot be read"
    note = f"summary.md could not be read ({why}): it is kept aside, and the summary is made anew from the ledger"
    return StoredSummary(summary=None, version=version, note=note)
