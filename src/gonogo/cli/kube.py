"""Flags that choose a Kubernetes cluster, as kubectl names them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from gonogo.cli import flags
from gonogo.errors import InputError

if TYPE_CHECKING:
    from gonogo.documents.kubernetes import Scope
    from gonogo.launch.like import Pattern
    from gonogo.plan import Plan
    from gonogo.target import Target

GROUP = Group.create_ordered("Kubernetes")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Context:
    """Which cluster and namespace; any of these means a cluster instead of this machine."""

    context: Annotated[
        str | None, Parameter("--context", group=GROUP, help="The cluster of this kubeconfig context.")
    ] = None
    namespace: Annotated[
        str | None,
        Parameter(["--namespace", "-n"], group=GROUP, converter=flags.namespace,
                  help="The namespace of the pods. [default: the context's]"),
    ] = None  # fmt: skip
    kubeconfig: Annotated[
        str | None, Parameter("--kubeconfig", group=GROUP, help="Read this kubeconfig. [default: as kubectl]")
    ] = None

    @property
    def chosen(self) -> bool:
        """Whether a cluster is meant."""
        return self != type(self)()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Where(Context):
    """The same, with what runs there and on which nodes."""

    selector: Annotated[
        str | None,
        Parameter(["--selector", "-l"], group=GROUP, help="Only nodes with these labels, such as node-group=p4d."),
    ] = None
    like: Annotated[
        Path | None,
        Parameter(
            "--like",
            group=GROUP,
            converter=flags.path_or_stdin,
            allow_leading_hyphen=True,
            help="Take image, resources, volumes, tolerations … from this job's manifest; - reads stdin. On this "
            "machine: number of pods, variables, size of /dev/shm, limits.",
        ),
    ] = None
    image: Annotated[str | None, Parameter("--image", group=GROUP, help="The image that the pods run.")] = None
    no_gpu: Annotated[
        bool, Parameter("--no-gpu", group=GROUP, help="Start CPU pods, for when a dead job still holds the GPUs.")
    ] = False

    @property
    def chosen(self) -> bool:
        """Whether a cluster is meant: a job to be like can be imitated on this machine, too."""
        return replace(self, like=None) != type(self)()


def pattern(where: Where) -> Pattern | None:
    """The job that a run is to be like; which of its pod templates that means is said on stderr. Raises InputError."""
    if where.like is None:
        return None
    from gonogo.cli.screen import note
    from gonogo.launch.like import load

    found = load(where.like)
    if found.remark:
        note(found.remark)
    return found


def scope(where: Where, nodes: int | None, pattern: Pattern | None) -> Scope:
    """The same as a run keeps it; `nodes` by flag or plan goes before the job's. Raises InputError."""
    from gonogo.documents.kubernetes import Scope
    from gonogo.facts.kube_select import parse_selector

    try:
        parse_selector(where.selector or "")
    except ValueError as error:
        raise InputError(f"--selector: {error}; expected such as node-group=p4d,zone in (a,b).") from None
    return Scope(
        context=where.context or "",
        namespace=where.namespace or (pattern.namespace if pattern else ""),
        selector=where.selector or "",
        nodes=nodes or (pattern.pods if pattern else 0),
        no_gpu=where.no_gpu,
        image=where.image or "",
        template=pattern.template if pattern else None,
        template_kind=pattern.kind if pattern else "",
        added_labels=pattern.added_labels if pattern else {},
        services=pattern.services if pattern else (),
    )


def dry_run(where: Where, plan: Plan, nodes: int | None, level: str, server: bool) -> str:
    """The objects that a run would apply, as YAML; with `server`, as the API server would keep them."""
    import yaml

    from gonogo.cli.screen import note
    from gonogo.collect.kube_dry_run import manifests
    from gonogo.launch.shown import without_secrets
    from gonogo.launch.untried import untried

    like = pattern(where)
    asked = scope(where, nodes or plan.nodes.count, like)
    made, remark = manifests(plan, asked, where.kubeconfig or "", level, server)
    found, secret = without_secrets(made)
    if secret:
        told = f"The values of {', '.join(secret)} look secret and are not printed: put them in before you apply this."
        remark = f"{remark} {told}".strip()
    if remark:
        note(remark)
    for left in untried(plan, like):
        if not like or left != like.remark.rstrip("."):  # said already
            note(f"Not tried by such a run: {left}.")
    return yaml.safe_dump_all(found, sort_keys=False, width=120)


def wait_for_deletion(target: Target) -> None:
    """What the run made is deleted before the program ends, also after Ctrl-C; a second Ctrl-C doesn't wait."""
    from gonogo.cli.screen import note
    from gonogo.collect.kube_run import DELETION_SECONDS, Session

    session = target.given.get(Session)
    if isinstance(session, Session) and not session.wait(DELETION_SECONDS):
        note("What the run made in the cluster may still be there: gonogo cleanup --context CONTEXT removes it.")
