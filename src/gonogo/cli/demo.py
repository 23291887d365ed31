"""`gonogo demo`."""

from __future__ import annotations

import shlex
import sys
import textwrap
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gonogo.cli import flags
from gonogo.cli.exits import Exit
from gonogo.cli.screen import Screen, note, out
from gonogo.cli.verify import Output, again, render

_COMMAND_WIDTH = 48
_BEFORE = """\
A recording, judged now: an EKS cluster of four GPU nodes in two node groups, on which a training job hung. The agents'
records are of a real run with that fault; names, addresses and the answers of Kubernetes and AWS are made up.
"""


def _next(path: Path, cause: str, width: int) -> str:
    """Commands, and beside or below them what each does."""
    commands = {
        f"gonogo explain {cause}": "says more of it",
        "gonogo verify": "proves this machine with real small training, about a minute",
        "gonogo verify --context NAME --level read": "looks at your own cluster, starts nothing",
        f"gonogo verify --from {shlex.quote(str(path))}": "judges this recording once more",
    }
    column = max(len(command) for command in commands if len(command) < _COMMAND_WIDTH)
    lines = []
    for command, does in commands.items():
        beside = f"  {command:<{column}}  {does}"
        below = textwrap.wrap(does, max(width - 4, 20), initial_indent="    ", subsequent_indent="    ")
        lines += [beside] if len(beside) <= width else [f"  {command}", *below]
    return "\n".join(lines)


def demo(
    *,
    output: Annotated[
        Output, Parameter(["--output", "-o"], group=flags.OUTPUT, help="What goes to stdout.")
    ] = "table",
) -> int:  # fmt: skip
    """Show what a NO-GO looks like, on a recorded cluster; exits with 0 if it could be shown, whatever the verdict."""
    width = Screen.of(sys.stderr).width
    note(f"{textwrap.fill(_BEFORE, width)}\n")
    with as_file(files("gonogo.data").joinpath("demo")) as path:
        report = again(path, None, [], [])
        out(render(report, output))
        cause = report.diagnoses[0].cause if report.diagnoses else "NET001"
        note(f"\nThe documents that it was judged from: {path}\nNext\n{_next(path, cause, width)}\n")
    return Exit.GO
