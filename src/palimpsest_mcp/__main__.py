"""Where a process starts: joins the command line and the server, which do not know each other."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Without arguments and without a terminal on stdin: the stdio server, unless a shell asks what would fit.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given and not _terminal_on_stdin() and "_PALIMPSEST_MCP_COMPLETE" not in os.environ:
        given = ["serve"]
    if given[:1] == ["statusline"] and (len(given) == 1 or (len(given) == 3 and given[1] == "--home")):
        # It runs after every message of a session: there is no time to import a parser of options.
        from .cli.statusline import main as print_status

        return print_status(given[2] if len(given) == 3 else None)
    if given[:1] == ["hook"]:
        # The client waits for it: no command line, no settings, no store where small files say enough.
        from .cli.hook import APART, answer_hook, hook_arguments

        if (asked := hook_arguments(given[1:])) is not None:
            return answer_hook(*asked, apart=APART in given)
    from .cli.main import run

    return run(given, serve=serve)


def serve(home: str | None, host: str = "", only_session: str = "") -> int:
    """Serve MCP on stdin and stdout until stdin ends, or an interrupt comes; gives the exit status."""
    from .server.server import serve_stdio

    return serve_stdio(home, host, only_session)


def _terminal_on_stdin() -> bool:
    try:
        return sys.stdin.isatty()
    except (AttributeError, ValueError):  # no stdin, or closed by whoever started us
        return False


if __name__ == "__main__":
    sys.exit(main())
