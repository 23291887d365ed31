"""The command line: flags in, exit code out. One module a command; nothing heavy is imported before it is needed."""

from __future__ import annotations

import contextlib
import os
import sys
from types import TracebackType

UNDECIDED, INTERRUPTED = 3, 130


def main() -> None:
    """The entry point of `gonogo` and `kubectl-gonogo`."""
    sys.excepthook = _crashed
    try:
        from gonogo.cli.app import run
        from gonogo.cli.screen import prepare

        prepare()
        code = run(sys.argv[1:], sys.argv[0])
    except KeyboardInterrupt:  # while modules are still being read
        code = INTERRUPTED
    sys.exit(code)


def _crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A mistake of our own proves nothing; Python's exit code for it, 1, would say that something failed."""
    if issubclass(kind, KeyboardInterrupt):  # while it ends
        os._exit(INTERRUPTED)
    with contextlib.suppress(OSError, ValueError):
        sys.__excepthook__(kind, error, trace)
        print("gonogo: That is a mistake in gonogo, and says nothing of the cluster.", file=sys.stderr)
        sys.stdout.flush()
    os._exit(UNDECIDED)
