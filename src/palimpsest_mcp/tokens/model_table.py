"""The table of models. Vendors' pages as of 2026-11; a row is found by the longest prefix that fits."""

from __future__ import annotations

import msgspec

from ..models.writing import Rate


class ModelRow(msgspec.Struct, frozen=True, kw_only=True):
    """One model or group of models."""

    prefix: str
    window: int
    output: int
    read: float
    """Price of a cached input token over a plain one."""
    write: float = 1.25
    """Price of writing one to the cache for 5 minutes."""
    write_1h: float | None = 2.0
    rates: tuple[Rate, ...] = ()
    """Dollars for a million plain tokens; empty where they were not looked up."""
    source: str = "platform.claude.com"


MILLION = 1_000_000
FAST_MODEL = "claude-haiku-5-5"
"""What writes summaries unless a setting names another."""
_OPENAI = "OpenAI's model pages"

MODELS = (
    ModelRow(prefix="claude-fable-5-1", window=MILLION, output=128_000, read=0.025, rates=(Rate(10, 50),)),
    ModelRow(prefix="claude-fable-5", window=MILLION, output=128_000, read=0.10),
    ModelRow(prefix="claude-opus-5-5", window=MILLION, output=128_000, read=0.05, rates=(Rate(4, 20),)),
    ModelRow(prefix="claude-opus-5", window=MILLION, output=128_000, read=0.10),
    ModelRow(prefix="claude-sonnet-5-5", window=MILLION, output=128_000, read=0.05, rates=(Rate(2, 10),)),
    ModelRow(prefix="claude-sonnet-5", window=MILLION, output=128_000, read=0.10),
    ModelRow(
        prefix="claude-haiku-5-5",
        window=MILLION,
        output=128_000,
        read=0.10,
        rates=(Rate(0.10, 0.50, up_to=100_000), Rate(0.50, 2.50)),
    ),
    ModelRow(prefix="claude-haiku-5", window=MILLION, output=128_000, read=0.10),
    ModelRow(prefix="claude-opus-4-8", window=MILLION, output=128_000, read=0.10),
    ModelRow(prefix="claude-opus-4-7", window=MILLION, output=128_000, read=0.10),
    ModelRow(prefix="claude-opus-4-6", window=MILLION, output=128_000, read=0.10),
    ModelRow(prefix="claude-sonnet-4-6", window=MILLION, output=64_000, read=0.10),
    ModelRow(prefix="claude-opus-4-5", window=200_000, output=64_000, read=0.10),
    ModelRow(prefix="claude-sonnet-4-5", window=200_000, output=64_000, read=0.10),
    ModelRow(prefix="claude-haiku-4-5", window=200_000, output=64_000, read=0.10, rates=(Rate(1, 5),)),
    ModelRow(prefix="claude-opus-4", window=200_000, output=32_000, read=0.10),
    ModelRow(prefix="claude-sonnet-4", window=200_000, output=64_000, read=0.10),
    ModelRow(prefix="claude-3-7-sonnet", window=200_000, output=64_000, read=0.10),
    ModelRow(prefix="claude-3", window=200_000, output=8_192, read=0.10),
    ModelRow(prefix="gpt-6", window=1_050_000, output=128_000, read=0.10, write_1h=None, source=_OPENAI),
    ModelRow(prefix="gpt-5.6-luna", window=400_000, output=128_000, read=0.10, write_1h=None, source=_OPENAI),
    ModelRow(prefix="gpt-5.6", window=MILLION, output=128_000, read=0.10, write_1h=None, source=_OPENAI),
    ModelRow(prefix="gpt-5.5", window=MILLION, output=128_000, read=0.10, write=1.0, write_1h=None, source=_OPENAI),
    ModelRow(prefix="gpt-5", window=400_000, output=128_000, read=0.10, write=1.0, write_1h=None, source=_OPENAI),
    ModelRow(prefix="gpt-4.1", window=1_047_576, output=32_768, read=0.25, write=1.0, write_1h=None, source=_OPENAI),
    ModelRow(prefix="gpt-4o", window=128_000, output=16_384, read=0.50, write=1.0, write_1h=None, source=_OPENAI),
    ModelRow(prefix="o4-mini", window=200_000, output=100_000, read=0.25, write=1.0, write_1h=None, source=_OPENAI),
    ModelRow(prefix="o3", window=200_000, output=100_000, read=0.25, write=1.0, write_1h=None, source=_OPENAI),
    ModelRow(prefix="o1", window=200_000, output=100_000, read=0.50, write=1.0, write_1h=None, source=_OPENAI),
)
