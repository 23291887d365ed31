"""The Kubernetes objects of a run: one Indexed Job, one headless Service, one ConfigMap. Pure: nothing is applied here.

No operator, ssh, exec, privilege or host network is needed. The Job owns the other two, ends by itself after
`activeDeadlineSeconds` and is removed some minutes later, so that nothing outlives a gonogo that was killed.
"""

from __future__ import annotations

import base64
import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gonogo.agent.build import NAME as ARCHIVE
from gonogo.agent.spec import FRAMEWORK, Spec
from gonogo.facts.kube_workload import Workload
from gonogo.launch.spec import bound_seconds, spec_for
from gonogo.model import Level
from gonogo.plan import Plan

Object = dict[str, Any]

RUN_LABEL = "gonogo/run"
MANAGED_BY = {"app.kubernetes.io/managed-by": "gonogo"}
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
FOLDER = "/gonogo"
SPEC = "spec.json"
START_SECONDS = 600.0
"""How long pods may take to run: scheduling, volumes, and the pull of a large image."""
APART_SECONDS = 45.0
"""How long after the first agent the last may start."""
IMPORT_SECONDS = 60.0
"""What a framework may take to import from an image that no page of is in memory yet."""
IMPORT_AGAIN_SECONDS = 20.0
"""What it may take once they are, on a busy node."""
FRAMEWORK_SECONDS = 30.0
KEPT_SECONDS = 300
"""How long an ended Job stays, for a person to look at, if nobody deletes it."""
GRACE_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Design:
    """A run as it will be asked of the cluster."""

    name: str  # of the Job, the Service and the ConfigMap
    namespace: str
    spec: Spec
    workload: Workload
    nodes: tuple[str, ...]  # where its pods may go
    restricted: bool = False  # the namespace enforces Pod Security level restricted

    @property
    def seconds(self) -> float:
        """The upper bound of the run, the start of its pods included."""
        return START_SECONDS + bound_seconds(self.spec)

    @property
    def queue(self) -> str:
        """Kueue's queue, which then decides when the Job starts, or ""."""
        return self.workload.labels.get(QUEUE_LABEL, "")

    @property
    def selector(self) -> str:
        """What finds all that the run made."""
        return f"{RUN_LABEL}={self.spec.run}"


def design(
    workload: Workload, plan: Plan, *, run: str, level: Level, steps: Sequence[str], nodes: Sequence[str],
    restricted: bool = False,
) -> Design:  # fmt: skip
    """One agent a pod, named by the pod until it is known on which node it is."""
    name = f"gonogo-{run}"
    names = [f"{name}-{index}" for index in range(workload.count)]
    addresses = [f"{pod}.{name}.{workload.namespace}.svc" for pod in names]
    spec = spec_for(plan, run=run, names=names, addresses=addresses, level=level, steps=steps)
    apart = APART_SECONDS + 0.1 * workload.count
    limits = {**spec.step_seconds, "ports": spec.step_seconds["ports"] + apart}
    slow = max(spec.framework_seconds, FRAMEWORK_SECONDS) - spec.framework_seconds
    for step in FRAMEWORK:
        limits[step] += IMPORT_SECONDS + 2 * slow
    seconds = spec.framework_seconds + slow
    paths = list(dict.fromkeys([*spec.storage_paths, *workload.mounts]))
    spec = replace(
        spec, start_seconds=apart, framework_seconds=seconds, step_seconds=limits, storage_paths=paths,
        shared_seconds=spec.shared_seconds + 2 * slow + IMPORT_SECONDS - IMPORT_AGAIN_SECONDS,
        steps=[step for step in spec.steps if step != "storage" or paths],
    )  # fmt: skip
    return Design(name, workload.namespace, spec, workload, tuple(nodes), restricted)


def objects(run: Design, archive: bytes, owner: Mapping[str, str] | None = None, suspend: bool = False) -> list[Object]:
    """ConfigMap, Service and Job; `owner` is the Job's reference once it exists."""
    return [config_map(run, archive, owner), service(run, owner), job(run, suspend)]


def config_map(run: Design, archive: bytes, owner: Mapping[str, str] | None = None) -> Object:
    """The agent and what it is told."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(run, owner),
        "binaryData": {ARCHIVE: base64.b64encode(archive).decode()},
        "data": {SPEC: run.spec.to_json()},
    }


def service(run: Design, owner: Mapping[str, str] | None = None) -> Object:
    """Names for the pods, before they are ready."""
    spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {RUN_LABEL: run.spec.run}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": _metadata(run, owner), "spec": spec}


def job(run: Design, suspend: bool = False) -> Object:
    """One pod a node; a pod that dies takes no other with it."""
    spec: Object = {
        "completions": run.workload.count,
        "parallelism": run.workload.count,
        "completionMode": "Indexed",
        "backoffLimitPerIndex": 0,
        "activeDeadlineSeconds": math.ceil(run.seconds),
        "ttlSecondsAfterFinished": KEPT_SECONDS,
        "template": {
            "metadata": {
                "labels": {**run.workload.labels, **_labels(run)},
                **({"annotations": dict(run.workload.annotations)} if run.workload.annotations else {}),
            },
            "spec": pod_spec(run),
        },
    }
    if suspend:
        spec["suspend"] = True
    metadata = _metadata(run)
    metadata["labels"] = {**_queue_labels(run.workload.labels), **metadata["labels"]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def pod(run: Design) -> Object:
    """One pod of the Job as an object of its own: for asking admission about it, not for making it."""
    template = job(run)["spec"]["template"]
    metadata = {**template["metadata"], "name": f"{run.name}-0-dry", "namespace": run.namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def pod_spec(run: Design) -> Object:
    """The workload's pod with gonogo's command, files, names and places."""
    spec: Object = copy.deepcopy(dict(run.workload.spec))
    container = spec["containers"][0]
    container["command"] = ["python3", "-I", f"{FOLDER}/{ARCHIVE}", "--spec", f"{FOLDER}/{SPEC}"]
    container["terminationMessagePolicy"] = "FallbackToLogsOnError"
    container["volumeMounts"] = [
        *container.get("volumeMounts", []),
        {"name": "gonogo", "mountPath": FOLDER, "readOnly": True},
    ]
    spec["volumes"] = [*spec.get("volumes", []), {"name": "gonogo", "configMap": {"name": run.name}}]
    _secure(spec, container, run.restricted)
    spec |= {
        "restartPolicy": "Never",
        "subdomain": run.name,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "enableServiceLinks": False,
        "affinity": _affinity(run),
    }
    spec.setdefault("automountServiceAccountToken", False)
    if spec.get("hostNetwork"):
        spec.setdefault("dnsPolicy", "ClusterFirstWithHostNet")  # otherwise the node's resolver, which knows no pod
    return spec


def _secure(spec: Object, container: Object, restricted: bool) -> None:
    """As little privilege as Pod Security's `restricted` wants, where the user's own pod doesn't say otherwise."""
    own = container.setdefault("securityContext", {})
    own.setdefault("allowPrivilegeEscalation", bool(own.get("privileged")))
    own.setdefault("capabilities", {"drop": ["ALL"]})
    context = spec.setdefault("securityContext", {})
    context.setdefault("seccompProfile", {"type": "RuntimeDefault"})
    if restricted:
        context.setdefault("runAsNonRoot", True)
        context.setdefault("runAsUser", 65532)


def _affinity(run: Design) -> Object:
    """Only the chosen nodes, and one pod on each."""
    affinity: Object = copy.deepcopy(dict(run.workload.spec.get("affinity") or {}))
    apart = {"labelSelector": {"matchLabels": {RUN_LABEL: run.spec.run}}, "topologyKey": "kubernetes.io/hostname"}
    away = affinity.setdefault("podAntiAffinity", {})
    away.setdefault("requiredDuringSchedulingIgnoredDuringExecution", []).append(apart)
    if run.nodes:
        among = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(run.nodes)}
        needed = affinity.setdefault("nodeAffinity", {}).setdefault(
            "requiredDuringSchedulingIgnoredDuringExecution", {}
        )
        for term in needed.setdefault("nodeSelectorTerms", [{}]):
            term.setdefault("matchExpressions", []).append(among)
    return affinity


def _labels(run: Design) -> dict[str, str]:
    return {**MANAGED_BY, RUN_LABEL: run.spec.run}


def _queue_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """A queue looks at the Job's own labels."""
    return {k: v for k, v in labels.items() if k.startswith(("kueue.x-k8s.io/", "volcano.sh/", "yunikorn."))}


def _metadata(run: Design, owner: Mapping[str, str] | None = None) -> Object:
    metadata: Object = {"name": run.name, "namespace": run.namespace, "labels": _labels(run)}
    if owner:
        metadata["ownerReferences"] = [dict(owner)]
    return metadata
