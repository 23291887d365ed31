"""`gonogo version`."""

from __future__ import annotations

import json
import platform
from typing import Annotated, Literal

from cyclopts import Parameter

import gonogo
from gonogo.cli.exits import Exit
from gonogo.cli.screen import out


def version(
    *, output: Annotated[Literal["table", "json"], Parameter(["--output", "-o"], help="How it is printed.")] = "table"
) -> int:
    """Print the version."""
    if output == "json":
        out(json.dumps({"gonogo": gonogo.__version__, "python": platform.python_version()}) + "\n")
    else:
        out(f"gonogo {gonogo.__version__}\n")
    return Exit.GO
