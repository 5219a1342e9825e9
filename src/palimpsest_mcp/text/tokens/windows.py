"""Windows and prices of models, and where hosts compact by themselves: looked up by id in the table."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from ...models.host_table import HostOverrides, HostRow, host_row
from ...models.llm import Rate
from ...models.reports import DEFAULT_PRICES, Prices
from ...models.text import late
from .count import OPENAI, family_of

# The table of models. Vendors' pages as of 2026-11; a row is found by the longest prefix that fits.


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

BINDS_THINKING_FROM = (5, 1)
"""Claude models from this version on bind thinking to all that stood before it (platform.claude.com, prefix checks of
preserved thinking, 2026-11; enforced for accounts since 2026-08-31). A floor, no list: what comes next will as well."""
HOST_RESERVE_TOKENS = 20_000
"""What hosts hold back for the answer, at most: found by bisection for Claude Code (the smaller of this and the
model's largest output)."""

_ONE_MILLION = late(r"\[1m\]$")
_VERSION = late(r"claude-[a-z]+-(\d{1,2})(?:-(\d{1,2}))?(?=-|$)")
_NOISE = late(r"^.*?(?=claude|gpt-|chatgpt-|o[1-9](?:-|$)|gemini)|@.*$|-v\d+:\d+$")


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
        tokens, source = narrowed, f"model table ({_longest(found.windows, normal(model))}* in {found.title})"
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


def binds_thinking(model: str) -> bool | None:
    """Whether a model refuses thinking before which something changed; None where that is not known."""
    name = normal(model)
    found = _VERSION.match(name)
    if found is not None:
        return (int(found[1]), int(found[2] or 0)) >= BINDS_THINKING_FROM
    return False if model_row(name) is not None or family_of(model) is OPENAI else None


def own_window(host: HostRow, model: str) -> int | None:
    """What a host uses of a model, where that is not what the model has."""
    prefix = _longest(host.windows, normal(model))
    return None if prefix is None else host.windows[prefix]


@lru_cache(maxsize=256)
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


# At how many tokens a host compacts by itself: a formula over the table of models and hosts, and the user's settings.
#
# Claude Code (client 2.1.328, bisected, and compared with what the client says of itself): the effective window is
# the smaller of the configured window and the model's, less what an answer may take, at most 20,000. It compacts
# 13,000 before the end of that, or at the configured percentage of it. Other hosts: the table says where their points
# are from.


NOTHING_SET = HostOverrides()


class Trigger(msgspec.Struct, frozen=True, kw_only=True):
    """Where a host compacts by itself: the one answer to that question, for every face and every pass."""

    itself: bool | None
    """Whether it does; None: not known."""
    tokens: int | None = None
    """Used tokens at which it does; None: never by itself, or its window is not known."""
    window: int | None = None
    """What it takes for the window."""
    effective: int | None = None
    """What of that is left for the prompt: what every share is of."""
    host: str
    where: str = ""
    """The point in words, where it is no number of tokens."""
    why: str = ""
    """Name of the setting behind the number, or why there is none; empty where it is the host's default."""

    @property
    def words(self) -> str:
        """The same for people."""
        why = f" ({self.why})" if self.why else ""
        if self.itself is None:
            return f"whether {self.host} compacts by itself is not known"
        if not self.itself:
            return f"{self.host} does not compact by itself{why}"
        if self.tokens is None or self.window is None:
            return f"{self.host} compacts {self.where}{why}"
        return f"{self.host} compacts at {self.tokens:,} of {self.window:,} tokens{why}"


def host_trigger(model: str, *, host: str, overrides: HostOverrides = NOTHING_SET) -> Trigger | None:
    """Where a host compacts by itself with a model; None for a host that the table does not know."""
    found, window = host_row(host), host_window(model, host=host, overrides=overrides)
    if found is None:
        return None
    if not found.itself:
        return Trigger(itself=None, host=found.title)
    size, left = (window.tokens, window.effective) if window is not None else (None, None)
    if overrides.off:
        return Trigger(itself=False, window=size, effective=left, host=found.title, why=overrides.off)
    if found.share is not None:
        return _by_share(found, found.share, model)
    if window is None or not model:
        ahead = f"{found.margin:,} tokens before its effective window ends"
        return Trigger(itself=True, host=found.title, where=ahead, why="with which model it works is not known")
    set_window = overrides.window_tokens is not None
    if not set_window and _waits(found, model):
        why = "with this model it waits for the provider's refusal"
        return Trigger(itself=False, window=size, effective=left, host=found.title, why=why)
    at, why = window.effective - found.margin, overrides.window_source if set_window else ""
    if overrides.percent is not None:
        part = int(window.effective * overrides.percent / 100)
        if part < at:
            at, why = part, f"{found.percent_setting}={overrides.percent:g}"
    return Trigger(itself=True, tokens=max(0, at), window=size, effective=left, host=found.title, why=why)


def _by_share(found: HostRow, share: float, model: str) -> Trigger:
    """A point that is a share of the host's own window; in tokens only where that window is known."""
    window = own_window(found, model) if model else None
    if window is None and model and model_row(model) is None:
        window = found.other_window
    if window is None:
        return Trigger(itself=True, host=found.title, where=f"at {share:.0%} of its window")
    tokens = int(window * share)
    return Trigger(itself=True, tokens=tokens, window=window, host=found.title, why=f"{share:.0%} of its window")


def host_window(model: str, *, host: str = "", overrides: HostOverrides = NOTHING_SET) -> Window | None:
    """A model's window as a host uses it, with what the user set there; None when it is not known.

    For a model that the table does not know, what the host takes for its window, where that is known.
    """
    window, found = window_of(model, host=host), host_row(host)
    if found is None or not model:
        return window
    if window is None:
        own = own_window(found, model)
        tokens = found.other_window if own is None else own
        if tokens is None:
            return None
        source = f"{found.title}'s own" + ("" if own is not None else " for models that it does not know")
        window = Window(tokens=tokens, output=HOST_RESERVE_TOKENS, reserve=HOST_RESERVE_TOKENS, source=source)
    if overrides.most_output is not None:
        output = min(overrides.most_output, HOST_RESERVE_TOKENS)
        window = msgspec.structs.replace(window, output=overrides.most_output, reserve=output)
    if overrides.window_tokens is not None and overrides.window_tokens < window.tokens:
        window = msgspec.structs.replace(window, tokens=overrides.window_tokens, source=overrides.window_source)
    return window


def _waits(found: HostRow, model: str) -> bool:
    row = model_row(model)
    if row is None:
        return False
    name = normal(model)
    wide = model.strip().lower().endswith("[1m]") and any(name.startswith(narrow) for narrow in found.windows)
    return wide or row.prefix in found.never
