"""The command line. Each command imports what it needs when it runs, so that `--help` costs nothing.

In: arguments and files. Out: text or JSON on stdout, errors with their next step on stderr, exit statuses
(docs/errors.md). `main.run` dispatches, `face.Face` is what a command knows of its caller, `screen` prints; the other
modules hold a family of commands each.
"""
