"""Where facts come from: agents on this machine, or a bundle; each kind of target is one function here."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gonogo.documents import aws as aws_documents
from gonogo.documents import kubernetes as kubernetes_documents
from gonogo.documents.kubernetes import Scope
from gonogo.documents.records import LOGS
from gonogo.errors import InputError
from gonogo.kernel import Lost
from gonogo.model import LEVELS, Flags, Level, RunInfo, Status, TargetInfo, Timing
from gonogo.plan import Plan

_FLAG = re.compile(r"--?[a-z][a-z-]{0,30}")
MOST_BYTES = 4 << 20
"""A larger kubeconfig is none."""
NODES, MOST_NODES = 4, 16
"""How many nodes this machine makes by itself, and at most."""
_NO_NCCL = "NCCL and EFA: the ranks on this machine use gloo, over TCP"


@dataclass(frozen=True, slots=True)
class Price:
    """What the nodes that a run uses cost while it uses them, in US dollars; `why_not` is why that isn't known."""

    dollars_per_hour: float = 0.0
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """What a run looks at, and how.

    `planes` are those that it can see; facts of others are skips. `bound_seconds` tells, for the wanted facts, the
    upper bound of the time that collecting takes. A replay brings its old run with it.
    """

    info: TargetInfo
    collectors: tuple[Callable[..., Any], ...] = ()
    given: Mapping[type, object] = field(default_factory=dict)
    planes: frozenset[str] = frozenset()
    bound_seconds: Callable[[frozenset[type]], float] = lambda wanted: 0.0
    price: Callable[[frozenset[type]], Price] = lambda wanted: Price()
    context: str = ""  # of a kubeconfig, named or current
    run: RunInfo | None = None
    timings: tuple[Timing, ...] = ()
    notes: tuple[str, ...] = ()  # what could not be read


def local(
    plan: Plan, *, nodes: int | None, level: Level, run: str, missing: tuple[str, ...] = (),
    untried: tuple[str, ...] = (), source: str = "the plan",
) -> Target:  # fmt: skip
    """Agents on this machine, as many as said, else as the plan says, else four.

    `missing` can't be proven here, nor what is `untried`; `source` is who says how many nodes there are.
    """
    from gonogo.collect.local import LocalTarget, run_agents, steps_for
    from gonogo.launch.spec import bound_seconds

    planned = plan.nodes.count
    nodes = nodes or min(planned or NODES, MOST_NODES)
    beyond = missing
    beyond += (f"that {planned} nodes are there, as {source} says",) if planned and planned > nodes else ()
    beyond += _planned(plan)
    if plan.job.backend == "gloo" and not any(text.startswith("NCCL") for text in untried):
        untried = (_NO_NCCL, *untried)
    here = LocalTarget(nodes=nodes, level=level, run=run)
    each, asked = here.ranks_per_node(plan), plan.job.ranks_per_node
    if each < asked:
        here_at_most = f"this machine takes {here.most_ranks} ranks in all, so each of its {nodes} nodes had {each}"
        untried = (f"{asked} ranks a node: {here_at_most}", *untried)
    made = f"{nodes} node{'s' * (nodes != 1)}{f' of {each} ranks' if each > 1 else ''}"
    contexts = tuple(f"kube context {name}" for name in [kube_context()] if name)
    return Target(
        TargetInfo("local", "this machine", f"this machine, {made}", beyond, contexts, untried),
        collectors=(run_agents,),
        given={LocalTarget: here},
        planes=frozenset({"agents"}),
        bound_seconds=lambda wanted: bound_seconds(here.spec(plan, steps_for(wanted))),
    )


def _planned(plan: Plan) -> tuple[str, ...]:
    """What the plan says of the cluster's nodes: this machine has none of it, or was made so."""
    nodes, fabric = plan.nodes, plan.fabric
    told = {
        f"instance type {nodes.instance_type}": nodes.instance_type,
        f"{nodes.gpus} GPUs": nodes.gpus,
        f"{nodes.efa} EFA adapters": nodes.efa,
        f"MTU {fabric.mtu}": fabric.mtu,
        f"interface {fabric.interface}": fabric.interface,
    }
    words = ", ".join(text for text, value in told.items() if value)
    return (f"that the cluster's nodes have {words}, as the plan says",) if words else ()


def kubernetes(
    plan: Plan, *, scope: Scope, kubeconfig: str = "", level: Level, run: str, untried: tuple[str, ...] = ()
) -> Target:
    """A cluster's API and, from level quick on, agents in its pods, which leave something `untried`.

    Raises InputError if there is no way in: nothing was checked then.
    """
    from gonogo.clients.kube import Cluster, KubeError, Unauthorized
    from gonogo.clients.kubeconfig import IN_CLUSTER, CredentialsError
    from gonogo.collect.kube_fleet import fleet
    from gonogo.collect.kube_run import Session, ask_admission, bound_for, run_pods, starts_pods
    from gonogo.collect.kubernetes import KubernetesTarget, read_cluster
    from gonogo.documents import kubernetes as k

    try:
        cluster = Cluster.connect(scope.context, scope.namespace, kubeconfig, tries=2)
        cluster.can("list", "", "nodes")
    except CredentialsError as error:
        raise InputError(str(error)) from None
    except Unauthorized as error:
        raise InputError(
            f"Context {cluster.context}: {error} Log in again, or have your access entry checked."
        ) from None
    except KubeError as error:
        raise InputError(f"Context {cluster.context}: {error}") from None
    cluster.tries = 5
    scope = replace(scope, context=cluster.context, namespace=cluster.namespace)
    there = KubernetesTarget(cluster, scope, level, run)
    used = fleet(cluster, scope, plan)
    unpriced = f"no price of {', '.join(used.unpriced)} is known" if used.unpriced else used.why_not
    given: dict[type, object] = {KubernetesTarget: there, Scope: scope, Session: Session()}
    collectors: tuple[Callable[..., Any], ...] = (read_cluster, ask_admission)
    if level == "read":
        nothing = Lost("Level read starts no pods.", Status.SKIP)
        given |= dict.fromkeys((*LOGS.values(), k.PodsDocument, k.EndsDocument, k.CleanupDocument), nothing)
    else:
        collectors = (*collectors, run_pods)
    where = [cluster.context, cluster.server, f"namespace {cluster.namespace}", *([str(used)] if str(used) else [])]
    return Target(
        TargetInfo("kubernetes", cluster.context, ", ".join(where), untried=() if level == "read" else untried),
        collectors, given, frozenset({"agents", "kubernetes"}),
        bound_seconds=lambda wanted: bound_for(plan, level, used.nodes, run, wanted),
        price=lambda wanted: Price(used.dollars_per_hour, unpriced) if starts_pods(level, wanted) else Price(),
        context="" if cluster.context == IN_CLUSTER else cluster.context,
    )  # fmt: skip


def recorded(run: Mapping[str, Any], logs: Mapping[type, object], notes: tuple[str, ...], name: str) -> Target:
    """A bundle's documents; `run` is its run.json, of which any part may be missing or wrong."""
    about, where = _object(run.get("run")), _object(run.get("target"))
    started = _number(about.get("started"))
    level = about.get("level")
    info = RunInfo(
        id=str(about.get("id", "")),
        version=str(about.get("version", "")),
        level=level if level in LEVELS else "standard",
        started=started,
        ended=_number(about.get("ended")) or started,
        bound_seconds=max(0.0, _number(about.get("bound_seconds"))),
        bound_dollars=max(0.0, _number(about.get("bound_dollars"))),
        interrupted=about.get("interrupted") is True,
        agent_sha256=str(about.get("agent_sha256", "")),
        flags=_flags(about.get("flags")),
        timed_out=about.get("timed_out") is True,
        uncut_seconds=max(0.0, _number(about.get("uncut_seconds"))),
    )
    kind = where.get("kind")
    target = TargetInfo(
        kind if kind in ("local", "kubernetes", "files") else "files",
        str(where.get("name", name)),
        str(where.get("summary", f"bundle {name}")),
        _texts(where.get("cannot_prove")),
        _texts(where.get("untouched")),
        _texts(where.get("untried")),
    )
    told = run.get("timings")
    timings = tuple(
        Timing(str(t.get("step")), max(0.0, _number(t.get("seconds"))))
        for t in (told if isinstance(told, list) else ())
        if isinstance(t, dict)
    )
    planes = frozenset(_texts(run.get("planes"))) or frozenset({"agents"})
    documents: tuple[Any, ...] = (*kubernetes_documents.DOCUMENTS, *aws_documents.DOCUMENTS)
    gone = {
        kind: Lost(f"The bundle holds nothing of {kind.plane}.")
        for kind in documents
        if kind.plane in planes and kind not in logs
    }
    return Target(target, (), {**gone, **logs}, planes, run=info, timings=timings, notes=notes)


def kube_context() -> str:
    """The current context of the user's kubeconfig, or nothing; only that one line of it is looked at."""
    paths = os.environ.get("KUBECONFIG", "").split(os.pathsep)
    for path in [Path(p) for p in paths if p] or [Path("~/.kube/config")]:
        try:
            file = path.expanduser()
            text = file.read_bytes() if file.is_file() and file.stat().st_size < MOST_BYTES else b""
        except (OSError, ValueError, RuntimeError):  # the last: a user without a home
            continue
        for line in text.decode(errors="replace").splitlines():
            if line.startswith("current-context:") and (name := line.partition(":")[2].strip().strip("\"'")):
                return name
    return ""


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e12 else 0.0


def _flags(value: object) -> Flags | None:
    """None, unless all of them are flags with their values."""
    pairs = value if isinstance(value, list) else [None]
    told = [tuple(pair) for pair in pairs if isinstance(pair, list) and len(pair) == 2]
    typed = [(flag, text) for flag, text in told if isinstance(flag, str) and isinstance(text, str)]
    return tuple(typed) if len(typed) == len(pairs) and all(_FLAG.fullmatch(flag) for flag, _ in typed) else None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(v) for v in value) if isinstance(value, list) else ()
