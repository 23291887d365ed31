"""What a run would apply, without applying it: `--dry-run=client` and `--dry-run=server`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

from gonogo.agent.build import build
from gonogo.agent.spec import STEPS
from gonogo.clients.kube import CONFIGMAPS, JOBS, NODES, PODS, SERVICES, Cluster, KubeError, Unreachable
from gonogo.clients.kubeconfig import CredentialsError
from gonogo.collect.kube_project import projected
from gonogo.collect.kube_run import design_of
from gonogo.collect.kubernetes import KubernetesTarget
from gonogo.data.instances import instance_type
from gonogo.documents.kubernetes import NodeObjects, Scope
from gonogo.errors import InputError
from gonogo.facts.kube_nodes import TYPE_LABELS, ChosenNodes, chosen_nodes, cluster_nodes
from gonogo.facts.kube_quantity import EFA
from gonogo.facts.kube_workload import workload
from gonogo.launch.manifests import Design, design, objects, pod
from gonogo.model import Level
from gonogo.plan import Plan

RUN = "dryrun"
UNREAD = (
    "So these objects are as the plan and the job say: a run adds the nodes that it chose, tolerations of their "
    "taints, and what the namespace's Pod Security wants."
)
Object = dict[str, Any]


def manifests(plan: Plan, scope: Scope, kubeconfig: str, level: str, server: bool) -> tuple[list[Object], str]:
    """ConfigMap, Service and Job for the nodes as they are now, and a remark for the reader, if there is any.

    Where nobody named a cluster and none answers, the plan has to say how many nodes there are, and of what type.
    Raises InputError: refused, or nobody to ask.
    """
    try:
        cluster = Cluster.connect(scope.context, scope.namespace, kubeconfig, tries=2)
        scope = replace(scope, namespace=cluster.namespace)
        nodes = _of_cluster(cluster, scope, plan)
    except (CredentialsError, KubeError) as error:
        unheard = isinstance(error, CredentialsError | Unreachable)
        if server or scope.context or kubeconfig or not unheard:
            raise InputError(str(error)) from None
        made = objects(_on_paper(plan, scope, level, str(error)), build())
        return made, f"{error} {UNREAD}"
    target = KubernetesTarget(cluster, scope, cast("Level", level), RUN)
    try:
        run = design_of(target, plan, workload(plan, scope, nodes), nodes, None)
        if not run.workload.count:
            raise InputError(f"No node matches ({nodes.how}), so there is nothing to apply.")
        made = objects(run, build())
        return (_asked(cluster, run, made) if server else made), ""
    except KubeError as error:
        raise InputError(str(error)) from None


def _asked(cluster: Cluster, run: Design, made: list[Object]) -> list[Object]:
    """The same as the API server would keep them."""
    cluster.create(PODS, pod(run), dry_run=True)  # what the Job's pods would meet
    kinds = {"ConfigMap": CONFIGMAPS, "Service": SERVICES, "Job": JOBS}
    made = [cluster.apply(kinds[item["kind"]], item, dry_run=True) for item in made]
    for item in made:
        item["metadata"].pop("managedFields", None)
    return made


def _of_cluster(cluster: Cluster, scope: Scope, plan: Plan) -> ChosenNodes:
    return _chosen([projected("Node", raw) for page, _ in cluster.pages(NODES) for raw in page], scope, plan)


def _chosen(lines: list[bytes], scope: Scope, plan: Plan) -> ChosenNodes:
    return chosen_nodes(cluster_nodes(NodeObjects(tuple(("", 0, line) for line in lines))), scope, plan)


def _on_paper(plan: Plan, scope: Scope, level: str, why: str) -> Design:
    """For the plan's nodes as their type's row in the catalog has them."""
    count = scope.nodes or plan.nodes.count
    if not count:
        raise InputError(f"{why} Without one, --nodes, the plan or --like has to say how many nodes there are.")
    scope = replace(scope, namespace=scope.namespace or "default", selector="")
    row = instance_type(plan.nodes.instance_type or "")
    amounts = {row.resource: str(row.accelerators), EFA: str(row.efa)} if row else {}
    node = {
        "metadata": {"name": "node", "labels": {TYPE_LABELS[0]: plan.nodes.instance_type or "", **plan.nodes.selector}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }
    nodes = _chosen([json.dumps(node).encode()], scope, plan)
    asked = replace(workload(plan, scope, nodes), count=count)
    steps = "quick" if level == "read" else level
    return design(asked, plan, run=RUN, level=cast("Level", steps), steps=STEPS, nodes=())
