"""The commands, and how their errors reach the user: one line on stderr and exit code 2."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from cyclopts import App, CycloptsError, Parameter, UnusedCliTokensError

import gonogo
from gonogo.cli.exits import Exit
from gonogo.cli.help import TwoColumns
from gonogo.cli.screen import discard, note
from gonogo.errors import InputError, escaped, shown

EXITS = "Exit codes: 0 go, 1 a fail, 2 wrong usage, 3 undecided, 130 interrupted."
EXITS_OF = {
    "diagnose": "Exit codes: 0 no fault, 1 a fault, 2 wrong usage, 3 undecided, 130 interrupted.",
    "collect": "Exit codes: 0 documents are kept, 2 wrong usage, 3 none is, 130 interrupted.",
    **dict.fromkeys(
        ("demo", "explain", "catalog", "permissions", "cleanup", "version"),
        "Exit codes: 0 done, 2 wrong usage, 3 output that can't be written.",
    ),
}

COMMANDS = {
    "verify": (
        "Prove with small real training that a cluster can train: GO or NO-GO.",
        """gonogo verify
gonogo verify --nodes 8 --level quick --only link,collective
gonogo verify -f plan.yaml --junit out.xml -o json > report.json
gonogo verify --skip LNK003=noisy-machine --fail-on warn
gonogo verify --context my-eks --like train-job.yaml
gonogo verify --from bundle/""",
    ),
    "diagnose": (
        "Name the root cause of a failed job from its logs and objects, in files or in a cluster.",
        """gonogo diagnose logs/
gonogo diagnose --context my-eks -n training job/train
gonogo diagnose --context my-eks pytorchjob/train --since 1h
gonogo diagnose bundle.tar.gz -o markdown
kubectl logs train-0 | gonogo diagnose -""",
    ),
    "collect": (
        "Keep what verify would look at, redacted, in a folder or .tar.gz; of a cluster by level read unless told "
        "otherwise.",
        """gonogo collect bundle/
gonogo collect case-17.tar.gz --level quick
gonogo verify --from case-17.tar.gz""",
    ),
    "demo": (
        "Show a NO-GO on a recorded cluster; starts nothing, and exits with 0.",
        """gonogo demo
gonogo demo -o markdown""",
    ),
    "explain": (
        "Print the page of a check, a root cause or a signature of a line in logs.",
        """gonogo explain LNK001
gonogo explain network.port_blocked
gonogo explain c10d.connect_timeout
gonogo explain --list
gonogo explain link
gonogo explain --schema plan > plan.schema.json""",
    ),
    "catalog": (
        "Print what is known of EC2 instance types with accelerators or EFA.",
        """gonogo catalog
gonogo catalog p5
gonogo catalog p5en.48xlarge -o json""",
    ),
    "permissions": (
        "Print the least RBAC roles that a level, or a diagnosis, needs.",
        """gonogo permissions --level read
gonogo permissions --for diagnose -n training -o yaml | kubectl apply -f -
gonogo permissions --level standard -n training -o yaml | kubectl apply -f -""",
    ),
    "cleanup": (
        "Remove what a killed run may have left on this machine, or in a cluster.",
        """gonogo cleanup
gonogo cleanup --bundles
gonogo cleanup --context my-eks""",
    ),
    "version": ("Print the version.", "gonogo version -o json"),
}
"""Command -> what it does, and examples; kept here so that help needs no command's module."""


def build(name: str = "gonogo") -> App:
    """The app; a command's module is imported when the command runs or shows its help."""
    app = App(
        name=name,
        help="Tells you whether a cluster can train, and if it can't, why, and what to run to mend it.",
        help_epilogue=f"{EXITS}\n\nExamples:\n{_indented('gonogo verify', name)}",
        help_format="plaintext",
        help_formatter=TwoColumns(),
        version=gonogo.__version__,
        default_parameter=Parameter(negative=()),
        exit_on_error=False,
        print_error=False,
        result_action="return_value",
    )
    for order, (command, (text, examples)) in enumerate(COMMANDS.items()):
        epilogue = f"Examples:\n{_indented(examples, name)}\n\n{EXITS_OF.get(command, EXITS)}"
        app.command(f"gonogo.cli.{command}:{command}", name=command, help=text, help_epilogue=epilogue, sort_key=order)
    return app


def _indented(examples: str, name: str) -> str:
    return "\n".join(f"  {line.replace('gonogo', name, 1)}" for line in examples.splitlines())


def run(argv: Sequence[str], program: str = "gonogo") -> int:
    """Run one command line and return its exit code."""
    name = "kubectl gonogo" if Path(program).name.startswith("kubectl-") else "gonogo"
    try:
        _refuse_empty(argv)
        code = build(name)(argv or ["--help"])
    except InputError as error:
        return _usage(name, str(error))
    except CycloptsError as error:
        return _usage(name, f"{_wrong(error)} See: {_help(name, argv)}")
    except BrokenPipeError:  # the reader of our help has gone, as in `| head`; nothing else ends by that
        discard(sys.stdout)
        return Exit.GO if not argv or not {"--help", "-h", "--version"}.isdisjoint(argv) else Exit.UNDECIDED
    except OSError as error:  # inputs tell of theirs; what is left is output that could not be written
        discard(sys.stdout)
        note(f"{name}: {error.filename or 'output'}: can't be written: {error.strerror or error}.")
        return Exit.UNDECIDED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    return int(code or 0)


def _refuse_empty(argv: Sequence[str]) -> None:
    """An empty argument is a variable that a script forgot to set; as a path it would mean the current folder."""
    for before, word in zip(["", *argv], argv, strict=False):
        if not word or re.fullmatch(r"--?[a-z][a-z-]*=", word):
            flag = word.rstrip("=") or (before if before.startswith("-") else "")
            raise InputError(f"{flag or 'An argument'} is empty: expected a value.")


def _wrong(error: CycloptsError) -> str:
    """In one line, with nothing in it that a terminal would act on."""
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return f"Unknown argument: {shown(error.unused_tokens[0])}."
    return escaped(" ".join(str(error).split()))


def _help(name: str, argv: Sequence[str]) -> str:
    return " ".join([name, *[word for word in argv[:1] if word in COMMANDS], "--help"])


def _usage(name: str, text: str) -> int:
    for line in text.splitlines():
        note(f"{name}: {escaped(line)}")
    return Exit.USAGE
