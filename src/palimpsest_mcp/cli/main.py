"""Runs one command and turns whatever happens into lines and an exit status; never a traceback."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Sequence

import click

from ..errors import InvalidArgument, PalimpsestError, SessionUnknown
from .face import COMPLETE, Face, Serve, SessionName, complete, mask_by, masked, shared_options

INTERNAL_ERROR = 1
INTERRUPTED = 130
LOG_LEVEL = "PALIMPSEST_LOG_LEVEL"

COMMANDS = {
    "demo": ("demo", "demo", "Compact two bundled sessions, find something again, restore it: a few seconds."),
    "compact": ("compact", "compact", "Compact a session file: old tool results become checked digests."),
    "status": ("store", "status", "What the store holds, what it takes, what it saved."),
    "sessions": ("store", "sessions", "Every session: how full, what it saved, what it is about."),
    "show": ("show", "show", "What fills a session's window, and why it stays."),
    "diff": ("show", "diff", "Originals of a batch beside the digest that stands for them."),
    "list": ("archive", "list_batches", "What was offloaded from a session."),
    "view": ("serve", "view", "Look into the store with a browser: what fills a window, originals beside digests."),
    "search": ("archive", "search", "Find words in everything that was offloaded."),
    "restore": ("archive", "restore", "Give an original back, byte for byte."),
    "undo": ("archive", "undo", "Take a pass back: its originals stand in the context again."),
    "probe": ("memory", "probe", "Questions about a session's originals: does what stays still answer them?"),
    "rewrite": ("compact", "rewrite", "Write a shorter Claude Code session beside one, to resume in its place."),
    "summary": ("memory", "summary", "The anchored summary: intent, files, decisions, state, errors, next steps."),
    "handoff": ("memory", "handoff", "What the next phase or conversation starts from: write, load, list, clean up."),
    "pin": ("archive", "pin", "Keep an item whole in every later pass."),
    "experience": ("experience", "experience", "What skills learned: events, rules, and where each rule comes from."),
    "specifics": ("show", "specifics", "What must survive in a text, and what would be masked."),
    "verify": ("store", "verify", "Check every checksum and hash of the store."),
    "repair": ("store", "repair", "Rebuild what is damaged from other copies; shows first what it would do."),
    "purge": ("store", "purge", "Remove originals for good; shows first what would go."),
    "backup": ("store", "backup", "Copy the store, while others write, into a folder that is a store itself."),
    "pack": ("store", "pack", "Put a session's many small files together."),
    "migrate": ("store", "migrate", "Bring an older store up to date; shows first what it would do."),
    "export": ("store", "export", "Write sessions into one checked file, to be imported elsewhere."),
    "import": ("store", "import_file", "Take in what export wrote, checked as a whole before anything is written."),
    "config": ("store", "config", "Every setting, its value and where it comes from."),
    "doctor": ("doctor", "doctor", "Check this machine: store, vocabulary, redaction, search."),
    "install": ("hosts", "install", "Add Palimpsest to a host's settings, or take it out."),
    "watch": ("hosts", "watch", "Follow sessions of Codex CLI and Gemini CLI: archive them, say what they lost."),
    "proxy": ("hosts", "proxy", "A gateway for programs where you can change only the base URL."),
    "statusline": ("serve", "statusline", "One line for Claude Code's status bar."),
    "serve": ("serve", "serve", "Run the MCP server on stdin and stdout."),
    "hook": ("serve", "hook", "Answer one event of a host's hooks: JSON on stdin, the answer on stdout."),
}
"""Name -> module, attribute, and what `--help` says of it without importing it."""
GROUPS = {
    "Shorten a session, see what left, get it back": (
        "demo compact view sessions show list diff search restore undo pin status"
    ),
    "Go on with what is known": "summary handoff experience probe rewrite specifics",
    "Hosts and settings": "install doctor config watch proxy serve statusline hook",
    "The store": "verify repair backup pack migrate export import purge",
}
"""The headings of `--help`, and the commands below each."""


class LateGroup(click.Group):
    """Commands whose modules are imported when they are named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        return getattr(importlib.import_module(f".{module}", __package__), attribute)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            from ..models.text import shown

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            next = f"`palimpsest-mcp {near[0]} --help` may be meant; " if near else ""
            raise InvalidArgument(
                f"There is no command {shown(args[0])}.", next=f"{next}`palimpsest-mcp --help` lists all"
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, names in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:10}", COMMANDS[name][2]) for name in names.split()])


def _say_version(context: click.Context, _option: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import version

        click.echo(f"palimpsest-mcp {version('palimpsest-mcp')}")
        context.exit()


@click.group(cls=LateGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@shared_options
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_say_version, help="Print the version."
)
@click.pass_context
def program(context: click.Context) -> None:
    """Keeps an AI agent's context window healthy: checked digests, every original kept, exact restore.

    Without a command: this help on a terminal, else the MCP server on stdin and stdout.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def run(arguments: Sequence[str], *, serve: Serve) -> int:
    """Run one command.

    Returns:
        0, or the exit status of the error (`docs/errors.md`); 130 when interrupted.
    """
    face = Face(serve=serve, as_json="--json" in arguments, arguments=tuple(arguments))
    if instruction := os.environ.get(COMPLETE, ""):
        return complete(program, face, instruction)
    mask_by(None)
    _log_to_stderr(os.environ.get(LOG_LEVEL, "").upper())
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")  # a terminal that lacks a character must not cost an answer
    try:
        # Not `main`: click would answer a closed pipe and an interrupt in its own way.
        with program.make_context("palimpsest-mcp", list(arguments), obj=face) as context:
            status = program.invoke(context)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except BrokenPipeError:
        return _reader_went_away()
    except (KeyboardInterrupt, click.Abort):
        from ..models.advice import Advice, step

        next = Advice("Run it again; whether all is whole: {}", step("verify"))
        return _say_error("interrupted", "Stopped by you.", next, INTERRUPTED, face)
    except click.ClickException as error:
        return _usage_error(error, face)
    except SessionUnknown as error:
        return _say_error(error.code, error.message, _meant(error, arguments), error.exit_status, face)
    except PalimpsestError as error:
        return _say_error(error.code, error.message, error.next, error.exit_status, face)
    except Exception as error:
        return _unexpected(error, face)


def _log_to_stderr(level: str) -> None:
    """JSON lines for whoever asks; without it, warnings alone go to stderr, as Python does by itself."""
    if level in ("DEBUG", "INFO", "ERROR"):
        from ..core.dependencies import log_to_stderr

        log_to_stderr(level)


def _say_error(code: str, message: str, next: str, status: int, face: Face) -> int:
    from ..models.text import plain_line

    message, next = masked([message, face.worded(next)])
    if face.as_json:
        text = json.dumps({"code": code, "message": message, "next": next})
    else:
        text = f"{code}: {plain_line(message)}\nnext: {plain_line(next)}"
    sys.stderr.write(text + "\n")
    return status


def _meant(error: SessionUnknown, arguments: Sequence[str]) -> str:
    """The same command with the session that may be meant; where none is near, the list of all."""
    if not error.near or error.name not in arguments:
        return error.next
    from ..models.advice import command_line

    again = [error.near[0] if one == error.name else one for one in arguments]
    return f"If so: `{command_line(again)}`"


def _usage_error(error: click.ClickException, face: Face) -> int:
    context = error.ctx if isinstance(error, click.UsageError) else None
    command = context.command_path if context else "palimpsest-mcp"
    next = f"See `{command} --help`"
    if isinstance(error, click.MissingParameter) and error.param and isinstance(error.param.type, SessionName):
        next += "; `palimpsest-mcp sessions` lists the sessions"
    return _say_error(InvalidArgument.code, error.format_message(), next, InvalidArgument.exit_status, face)


def _unexpected(error: Exception, face: Face) -> int:
    """Nobody foresaw it: its kind only, since its text may quote a session; the traceback for whoever asks for it."""
    if os.environ.get(LOG_LEVEL, "").lower() == "debug":
        import traceback

        sys.stderr.write(masked("".join(traceback.format_exception(error))))
    message = f"This should not happen ({type(error).__name__}); nothing that was acknowledged is lost."
    next = "Run it again with PALIMPSEST_LOG_LEVEL=debug and report what it says."
    return _say_error("internal_error", message, next, INTERNAL_ERROR, face)


def _reader_went_away() -> int:
    """Whoever read our output has enough: no news, and no second error while Python flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
