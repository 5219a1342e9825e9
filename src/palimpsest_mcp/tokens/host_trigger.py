"""At how many tokens a host compacts by itself: a formula over the table of models and hosts, and the user's settings.

Claude Code (client 2.1.328, bisected, and compared with what the client says of itself): the effective window is the
smaller of the configured window and the model's, less what an answer may take, at most 20,000. It compacts 13,000
before the end of that, or at the configured percentage of it. Other hosts: the table says where their points are from.
"""

from __future__ import annotations

import msgspec

from ..models.host_overrides import HostOverrides
from ..models.host_table import HostRow, host_row
from .windows import HOST_RESERVE_TOKENS, Window, model_row, normal, own_window, window_of

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
