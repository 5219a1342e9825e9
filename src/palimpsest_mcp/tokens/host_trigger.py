"""At how many tokens a host compacts by itself: a formula over the table of models and hosts, and the user's settings.

Claude Code (client 2.1.328, bisected, and compared with what the client says of itself): the effective window is the
smaller of the configured window and the model's, less what an answer may take, at most 20,000. It compacts 13,000
before the end of that, or at the configured percentage of it.
"""

from __future__ import annotations

import msgspec

from ..models.host_overrides import HostOverrides
from .model_table import MILLION, HostRow
from .windows import HOST_RESERVE_TOKENS, Window, host_row, model_row, normal, window_of

NOTHING_SET = HostOverrides()


class Trigger(msgspec.Struct, frozen=True, kw_only=True):
    """Where a host compacts by itself."""

    tokens: int | None
    """Used tokens at which it does; None: never by itself."""
    window: int
    """What it takes for the window."""
    host: str
    why: str = ""
    """Name of the setting behind the number, or why there is none; empty where it is the host's default."""

    @property
    def words(self) -> str:
        """The same for people."""
        why = f" ({self.why})" if self.why else ""
        if self.tokens is None:
            return f"{self.host} does not compact by itself{why}"
        return f"{self.host} compacts at {self.tokens:,} of {self.window:,} tokens{why}"


def host_trigger(model: str, *, host: str, overrides: HostOverrides = NOTHING_SET) -> Trigger | None:
    """Where a host compacts by itself with a model; None for a host that the table does not know, or no model."""
    found, window = host_row(host), host_window(model, host=host, overrides=overrides)
    if found is None or window is None:
        return None
    if overrides.off:
        return Trigger(tokens=None, window=window.tokens, host=found.host, why=overrides.off)
    set_window = overrides.window_tokens is not None
    if not set_window and _waits(found, model):
        why = "with this model it waits for the provider's refusal"
        return Trigger(tokens=None, window=window.tokens, host=found.host, why=why)
    at, why = window.effective - found.margin, overrides.window_source if set_window else ""
    if overrides.percent is not None:
        part = int(window.effective * overrides.percent / 100)
        if part < at:
            at, why = part, f"{found.percent_setting}={overrides.percent:g}"
    return Trigger(tokens=max(0, at), window=window.tokens, host=found.host, why=why)


def host_window(model: str, *, host: str = "", overrides: HostOverrides = NOTHING_SET) -> Window | None:
    """A model's window as a host uses it, with what the user set there; None when it is not known.

    A host of the table takes an unknown model for one of a million tokens.
    """
    window, found = window_of(model, host=host), host_row(host)
    if found is None or not model:
        return window
    if window is None:
        source = f"{found.host}'s own for models that it does not know"
        window = Window(tokens=MILLION, output=HOST_RESERVE_TOKENS, reserve=HOST_RESERVE_TOKENS, source=source)
    if overrides.most_output is not None:
        output = min(overrides.most_output, HOST_RESERVE_TOKENS)
        window = msgspec.structs.replace(window, output=overrides.most_output, reserve=output)
    if overrides.window_tokens is not None and overrides.window_tokens < window.tokens:
        window = msgspec.structs.replace(window, tokens=overrides.window_tokens, source=overrides.window_source)
    return window


def host_compaction_point(host: str, model: str, overrides: HostOverrides = NOTHING_SET) -> str:
    """Where a host compacts by itself with a model, in words; empty when the table does not know one of them."""
    found = host_trigger(model, host=host, overrides=overrides)
    return found.words if found is not None else ""


def _waits(found: HostRow, model: str) -> bool:
    row = model_row(model)
    if row is None:
        return False
    name = normal(model)
    wide = model.strip().lower().endswith("[1m]") and any(name.startswith(narrow) for narrow in found.windows)
    return wide or row.prefix in found.never
