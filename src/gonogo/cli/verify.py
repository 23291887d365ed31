"""`gonogo verify`."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from gonogo.cli import flags
from gonogo.cli.exits import Exit, FailOn, exit_of
from gonogo.cli.kube import GROUP, Where, pattern, scope, wait_for_deletion
from gonogo.cli.kube import dry_run as manifests_of
from gonogo.cli.screen import Screen, note, out
from gonogo.errors import InputError
from gonogo.model import Flags, Report

if TYPE_CHECKING:
    from gonogo.launch.like import Pattern
    from gonogo.plan import Plan

HERE = Where()
ALL = flags.Asked()
Output = Literal["table", "wide", "json", "yaml", "name", "markdown"]


def verify(
    *,
    asked: flags.Asked = ALL,
    where: Where = HERE,
    dry_run: Annotated[
        Literal["client", "server"] | None,
        Parameter("--dry-run", group=GROUP, help="Print what would be applied; server asks admission, too."),
    ] = None,
    from_: Annotated[
        Path | None,
        Parameter("--from", group=flags.TARGET, help="Judge a bundle again: a folder or .tar.gz. Starts nothing."),
    ] = None,
    output: Annotated[
        Output, Parameter(["--output", "-o"], group=flags.OUTPUT, help="What goes to stdout.")
    ] = "table",
    junit: Annotated[
        Path | None, Parameter("--junit", group=flags.OUTPUT, help="Also write JUnit XML to this file.")
    ] = None,
    markdown: flags.Markdown = None,
    bundle: Annotated[
        Path | None,
        Parameter("--bundle", group=flags.OUTPUT, help="Keep the documents in this new folder. [default: below "
                  "$XDG_STATE_HOME/gonogo, where the latest 20 stay]"),
    ] = None,
    fail_on: Annotated[
        FailOn, Parameter("--fail-on", group=flags.OUTPUT, help="The least status that makes the exit code 1.")
    ] = "fail",
) -> int:  # fmt: skip
    """Prove with small real training that a cluster can train: GO or NO-GO.

    Without flags: 4 nodes on this machine, level standard, about a minute.
    """
    for path in (junit, markdown):
        flags.can_write(path)
    if dry_run is not None:
        if from_ is not None:
            raise InputError("--dry-run can't be used with --from: that run is over.")
        out(_dry_run(asked, where, dry_run == "server"))
        return Exit.GO
    if from_ is not None:
        if where.chosen or where.like:
            raise InputError("--from judges files; it can't be used with flags that choose a cluster.")
        given = {"--nodes": asked.nodes, "--level": asked.level, "--timeout": asked.timeout, "--bundle": bundle}
        for flag in (flag for flag, value in given.items() if value is not None):
            raise InputError(f"{flag} can't be used with --from: that run is over.")
        report = again(from_, asked.filename, asked.only or [], asked.skip or [])
    else:
        report = run_here(asked, where, bundle)
    out(render(report, output))
    written = _write(report, junit, markdown)
    return exit_of(report, fail_on) or (Exit.GO if written else Exit.UNDECIDED)


def _write(report: Report, junit: Path | None, markdown: Path | None) -> bool:
    """Write the files that were asked for; whether all could be."""
    from gonogo.report import junit as as_junit
    from gonogo.report import markdown as as_markdown

    files = ((junit, as_junit.render), (markdown, as_markdown.render))
    written = [flags.write(path, render(report)) for path, render in files if path is not None]
    return all(written)


def run_here(asked: flags.Asked, where: Where, root: Path | None, *, tell_bundle: bool = True) -> Report:
    """One run on this machine, or in the cluster that is chosen, watched on stderr."""
    from gonogo import plan as plans
    from gonogo import registry, target
    from gonogo import verify as job
    from gonogo.cli.progress import watch
    from gonogo.documents.bundle import Bundle, default_root, prune
    from gonogo.launch.untried import untried
    from gonogo.selection import select

    level = asked.level or "standard" if where.chosen else flags.level_for_agents(asked.level)
    plan = plans.load(asked.filename) if asked.filename else plans.Plan()
    _spelling(plan)
    known = registry.load()
    selection = select(known, asked.only or [], asked.skip or [])
    run_id = secrets.token_hex(3)
    job_like = pattern(where)
    left = untried(plan, job_like, has_ranks=not where.chosen)
    if where.chosen:
        here = target.kubernetes(
            plan, scope=scope(where, asked.nodes or plan.nodes.count, job_like), kubeconfig=where.kubeconfig or "",
            level=level, run=run_id, untried=left,
        )  # fmt: skip
    else:
        source = "the plan" if plan.nodes.count or not job_like else "the job"
        plan, missing = _like(plan, job_like)
        here = target.local(
            plan, nodes=flags.nodes_here(asked.nodes), level=level, run=run_id, missing=missing, untried=left,
            source=source,
        )  # fmt: skip
    bundle = Bundle.create(root or default_root(run_id, time.time()))
    with watch(sys.stderr) as on_event:
        most = float("inf") if asked.max_cost is None else asked.max_cost
        try:
            report = job.verify(
                here, plan, registry=known, selection=selection, run_id=run_id, level=level, bundle=bundle,
                timeout_seconds=asked.timeout or float("inf"), most_dollars=most, on_event=on_event,
                flags=_typed(asked, where, here.context),
            )  # fmt: skip
        except InputError:
            bundle.discard()
            raise
    if tell_bundle:
        note(f"bundle {bundle.root}")
    if root is None:
        prune(time.time())
    if where.chosen:
        wait_for_deletion(here)
    return report


def _like(plan: Plan, job: Pattern | None) -> tuple[Plan, tuple[str, ...]]:
    """The plan with what a job's manifest says, and what of that can't be had on this machine."""
    if job is None:
        return plan, ()
    from gonogo.launch.imitate import imitate

    found = imitate(plan, job)
    return found.plan, found.missing


def _spelling(plan: Plan) -> None:
    """Say which of the plan's variables nobody reads, as far as that shows."""
    from gonogo.launch.variables import misspelt

    if found := misspelt(plan.job.environment):
        note(f"job.environment: nothing is known to read {', '.join(found)}.")


def _typed(asked: flags.Asked, where: Where, context: str) -> Flags:
    """The flags that chose what was looked at and how, as they were typed, and the context that was current then."""
    values = {
        "-f": asked.filename,
        "--nodes": asked.nodes,
        "--context": where.context or context or None,
        "-n": where.namespace,
        "-l": where.selector,
        "--like": where.like,
        "--image": where.image,
        "--kubeconfig": where.kubeconfig,
        "--level": asked.level,
        "--only": ",".join(asked.only or []) or None,
        "--timeout": None if asked.timeout is None else f"{asked.timeout:g}s",
        "--max-cost": None if asked.max_cost is None else f"{asked.max_cost:g}",
    }
    typed = [(flag, str(value)) for flag, value in values.items() if value is not None]
    return (*typed, *([("--no-gpu", "")] if where.no_gpu else []), *(("--skip", entry) for entry in asked.skip or ()))


def _dry_run(asked: flags.Asked, where: Where, server: bool) -> str:
    from gonogo import plan as plans

    plan = plans.load(asked.filename) if asked.filename else plans.Plan()
    _spelling(plan)
    return manifests_of(where, plan, asked.nodes, asked.level or "standard", server)


def again(path: Path, filename: Path | None, only: list[str], skip: list[str]) -> Report:
    """Judge a bundle again, as that run chose or as the flags say."""
    from gonogo import plan as plans
    from gonogo import registry, target
    from gonogo import verify as job
    from gonogo.documents import replay
    from gonogo.selection import reselect, select

    recorded = replay.read(path)
    plan = plans.load(filename) if filename else plans.recorded(recorded.run.get("plan"), str(path))
    known = registry.load()
    selection = select(known, only, skip) if only or skip else reselect(known, recorded.run)
    old = target.recorded(recorded.run, recorded.logs, recorded.notes, path.name)
    assert old.run
    return job.verify(old, plan, registry=known, selection=selection, run_id=old.run.id, level=old.run.level)


def render(report: Report, output: Output) -> str:
    """The report as stdout gets it."""
    from gonogo.report import json, lists, terminal
    from gonogo.report import markdown as as_markdown

    screen = Screen.of(sys.stdout)

    def table(wide: bool = False) -> str:
        return terminal.render(report, width=screen.width, color=screen.color, unicode=screen.unicode, wide=wide)

    renderers: dict[Output, Callable[[], str]] = {
        "table": table,
        "wide": lambda: table(True),
        "json": lambda: json.render(report),
        "yaml": lambda: lists.yaml_text(report),
        "name": lambda: lists.names(report),
        "markdown": lambda: as_markdown.render(report),
    }
    return renderers[output]()
