"""`gonogo diagnose`."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from gonogo.cli import flags
from gonogo.cli.exits import Exit
from gonogo.cli.kube import GROUP, Context
from gonogo.cli.screen import Screen, note, out
from gonogo.errors import InputError
from gonogo.model import Report, Verdict

Output = Literal["table", "wide", "json", "yaml", "name", "markdown"]

EXITS = {Verdict.FAULT: Exit.FAIL, Verdict.DIAGNOSE_UNDECIDED: Exit.UNDECIDED, Verdict.NOTHING_FOUND: Exit.GO}


HERE = Context()


def diagnose(
    path: Annotated[
        Path,
        Parameter(
            allow_leading_hyphen=True,
            help="A file, a folder, an archive (.gz, .tar.gz, .zip), or - for stdin; of a cluster, such as job/NAME, "
            "pod/NAME, jobset/NAME, pytorchjob/NAME, mpijob/NAME or trainjob/NAME.",
        ),
    ],
    /,
    *,
    here: Context = HERE,
    since: Annotated[
        float | None,
        Parameter("--since", group=GROUP, converter=flags.duration, metavar="DURATION",
                  help="Only logs and events of the last 1h, 30m … [default: all that are kept]"),
    ] = None,
    bundle: Annotated[
        Path | None,
        Parameter("--bundle", group=flags.OUTPUT, help="Keep what was read of a cluster in this new folder. [default: "
                  "below $XDG_STATE_HOME/gonogo, where the latest 20 stay]"),
    ] = None,
    output: Annotated[Output, Parameter(["--output", "-o"], group=flags.OUTPUT, help="What goes to stdout.")] = "table",
    markdown: flags.Markdown = None,
) -> int:  # fmt: skip
    """Name the root cause of a failure from logs and objects, with the lines that prove it.

    Everything is read where it lies; nothing is unpacked, followed or sent anywhere. Of a cluster it is only read,
    too: the job, its pods, their logs (the last 10,000 lines of each, of this run and the one before) and events, its
    nodes, claims and quotas are kept, redacted, in a folder that can be diagnosed again.
    """
    from gonogo import diagnose as job
    from gonogo import registry
    from gonogo.diagnose.coverage import NOT_SEEN
    from gonogo.report.text import clean
    from gonogo.report.verdict import NOT_READ

    flags.can_write(markdown)
    if str(path).startswith("-") and str(path) != "-":
        raise InputError(f"Unknown option: {path}. See: gonogo diagnose --help")
    cut_off = False
    if here.chosen:
        path, cut_off = _read(path, here, since, bundle)
    elif since is not None or bundle is not None:
        flag = "--since" if since is not None else "--bundle"
        raise InputError(f"{flag} is for a job of a cluster: it needs --context, --namespace or --kubeconfig.")
    try:
        report = job.diagnose(
            None if str(path) == "-" else path, registry=registry.load_causes_of("gonogo.facts.events")
        )
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file or folder{_hint(path)}.") from None
    except OSError as error:
        raise InputError(f"{path}: can't be read: {error.strerror or error}.") from None
    for claim in report.coverage.not_proven:
        if claim.text in (NOT_READ, NOT_SEEN):
            note(clean(claim.reason))
    out(_render(report, output))
    code = Exit.INTERRUPTED if cut_off or report.run.interrupted else EXITS[report.verdict]
    if markdown is not None and not flags.write(markdown, _render(report, "markdown")):
        return code or Exit.UNDECIDED
    return code


def _read(what: Path, here: Context, since: float | None, root: Path | None) -> tuple[Path, bool]:
    """The job's documents in a bundle, and whether that was interrupted. Raises InputError; no bundle is left then."""
    from gonogo.collect.kube_job import Place, read_job
    from gonogo.collect.kube_kinds import reference
    from gonogo.documents.bundle import Bundle, default_root, prune

    wanted = reference(str(what))
    place = Place(here.context or "", here.namespace or "", here.kubeconfig or "")
    now = time.time()
    bundle = Bundle.create(root or default_root(os.urandom(3).hex(), now))
    try:
        reading = read_job(wanted, place, bundle, since_seconds=since or 0.0, say=note)
    except InputError:
        with contextlib.suppress(OSError):
            bundle.root.rmdir()
        raise
    note(f"bundle {bundle.root}")
    if root is None:
        prune(now)
    return bundle.root, reading.interrupted


def _hint(path: Path) -> str:
    """For who means a cluster's object: `job/train`."""
    from gonogo.collect.kube_kinds import KINDS

    word = str(path).partition("/")[0]
    return "; add --context for one of a cluster" if any(word in k.words for k in KINDS) else ""


def _render(report: Report, output: Output) -> str:
    """Each form is imported when it is asked for."""
    match output:
        case "json":
            from gonogo.report import json

            return json.render(report)
        case "yaml" | "name":
            from gonogo.report import lists

            return lists.yaml_text(report) if output == "yaml" else lists.names(report)
        case "markdown":
            from gonogo.report import markdown

            return markdown.render(report)
        case "table" | "wide":
            from gonogo.report import diagnosis

            screen = Screen.of(sys.stdout)
            return diagnosis.render(report, screen.width, screen.color, screen.unicode, wide=output == "wide")
