"""Windows and prices of models, and where hosts compact by themselves: looked up by id in the table."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from ..models.usage import DEFAULT_PRICES, Prices
from ..models.writing import Rate
from .families import OPENAI, family_of
from .model_table import HOSTS, MODELS, HostRow, ModelRow

HOST_RESERVE_TOKENS = 20_000
"""What hosts hold back for the answer, at most: found by bisection for Claude Code (the smaller of this and the
model's largest output)."""

_ONE_MILLION = re.compile(r"\[1m\]$")
_NOISE = re.compile(r"^.*?(?=claude|gpt-|chatgpt-|o[1-9](?:-|$)|gemini)|@.*$|-v\d+:\d+$")


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """A model's window."""

    tokens: int
    output: int
    reserve: int
    """Held back by the host; the effective window is the rest."""
    source: str

    @property
    def effective(self) -> int:
        """What is left for the prompt."""
        return self.tokens - self.reserve


def window_of(model: str, *, host: str = "") -> Window | None:
    """The window of a model, as a host uses it; None when the table does not know the model.

    Gateways' prefixes, `@date` and Bedrock's version endings are ignored; `[1m]` at the end means a million. A host may
    use less of a model than it has.
    """
    row = model_row(model)
    if row is None:
        return None
    tokens, source = row.window, f"model table ({row.prefix}*)"
    found = host_row(host)
    narrowed = own_window(found, model) if found is not None else None
    if _ONE_MILLION.search(model.strip().lower()):
        tokens = 1_000_000
    elif found is not None and narrowed is not None:
        tokens, source = narrowed, f"model table ({_longest(found.windows, normal(model))}* in {found.host})"
    return Window(tokens=tokens, output=row.output, reserve=min(row.output, HOST_RESERVE_TOKENS), source=source)


def prices_of(model: str) -> Prices:
    """Cache prices of a model; for an unknown one those of its family, else of most Claude models."""
    row = model_row(model)
    if row is not None:
        return Prices(write=row.write, read=row.read, write_1h=row.write_1h, source=f"{row.prefix}*: {row.source}")
    if family_of(model) is OPENAI:
        return Prices(write=1.0, read=0.5, source="older OpenAI models: no extra price for writing, read x 0.5")
    return DEFAULT_PRICES


def rates_of(model: str) -> tuple[Rate, ...]:
    """Dollars for a million tokens of a model; empty where the table does not know them."""
    row = model_row(model)
    return row.rates if row is not None else ()


def host_row(host: str) -> HostRow | None:
    """The host with this name, by the start of what it calls itself (client info, setting or transcript)."""
    name = host.strip().lower().replace("_", "-").replace(" ", "-")
    return next((row for row in HOSTS if name and any(name.startswith(alias) for alias in row.aliases)), None)


def own_window(host: HostRow, model: str) -> int | None:
    """What a host uses of a model, where that is not what the model has."""
    prefix = _longest(host.windows, normal(model))
    return None if prefix is None else host.windows[prefix]


def model_row(model: str) -> ModelRow | None:
    """The row with the longest prefix that fits."""
    prefix = _longest((row.prefix for row in MODELS), normal(model))
    return next((row for row in MODELS if row.prefix == prefix), None)


def normal(model: str) -> str:
    """A model id as the table spells it: lower case, hyphens for dots in Claude ids, no gateway's decoration."""
    name = _NOISE.sub("", _ONE_MILLION.sub("", model.strip().lower()))
    return name.replace(".", "-") if name.startswith("claude") else name


def _longest(prefixes: Iterable[str], name: str) -> str | None:
    fitting = [prefix for prefix in prefixes if name == prefix or name.startswith((prefix + "-", prefix + "."))]
    return max(fitting, key=len, default=None)
