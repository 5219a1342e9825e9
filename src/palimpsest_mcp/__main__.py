"""Where a process starts: joins the command line and the server, which do not know each other."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .models.tools import HttpOptions


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
    try:
        from .cli.main import run

        return run(given, serve=serve)
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich", "mcp"):
            raise
        sys.stderr.write(
            f"This is the library alone, palimpsest-core: {error.name} is not installed. For all of it: "
            "pip uninstall palimpsest-core && pip install palimpsest-mcp\n"
        )
        return 1


def serve(
    home: str | None, host: str = "", only_session: str = "", http: HttpOptions | None = None, core: bool = False
) -> int:
    """Serve MCP, on stdin and stdout or over HTTP, until its input or a signal ends it; gives the exit status."""
    if http is not None:
        from .server.http import serve_http

        return serve_http(home, only_session, http)
    from .server.server import serve_stdio

    if _terminal_on_stdin():
        sys.stderr.write("waiting: an MCP client starts this server and speaks to it on stdin; Ctrl-C ends it\n")
    return serve_stdio(home, host, only_session, core=core)


def _terminal_on_stdin() -> bool:
    try:
        return sys.stdin.isatty()
    except (AttributeError, ValueError):  # no stdin, or closed by whoever started us
        return False


if __name__ == "__main__":
    sys.exit(main())
