"""The options of a pass, as flags of a command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

import click

from ..models.pass_options import Offer, offers

Command = TypeVar("Command", bound=Callable[..., Any])


def pass_options(*names: str, **help: str) -> Callable[[Command], Command]:
    """Give a command the flags of a pass; it takes them as `**options`.

    Args:
        names: of the options; none takes all that people are offered.
        help: words for this command, where the option's own do not fit.
    """

    flags = {name: _flag(name, kind, default, offer, help) for name, kind, default, offer in offers() if offer.help}

    def decorated(command: Command) -> Command:
        for name in reversed(names or tuple(flags)):
            command = flags[name](command)
        return command

    return decorated


def _flag(name: str, kind: Any, default: Any, offer: Offer, help: Mapping[str, str]) -> Callable[[Command], Command]:
    flag = f"--{offer.flag or name.replace('_', '-')}"
    plain = next(iter(get_args(kind)), kind)  # `float` of `float | None`
    return click.option(
        flag,
        name,
        type=plain if offer.least is None else click.IntRange(min=offer.least),
        is_flag=plain is bool,
        default=default,
        metavar=offer.metavar,
        help=help.get(name, offer.help),
    )
