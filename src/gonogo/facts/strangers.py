"""Pods of other people: in a dump of a whole cluster they crash, wait and can't pull, and say nothing of the job."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from gonogo.facts.events import Events
from gonogo.facts.lines import file_place
from gonogo.facts.objects import Objects

PLATFORM = re.compile(
    r"^(?:kube-|amazon-|aws-)|system|operator|kubeflow|kueue|karpenter|volcano|jobset|nvidia|gpu|cert-manager|istio|cni"
)
"""Namespaces of what the job stands on."""
DAEMONS = re.compile(
    r"^(?:aws-node|kube-proxy|coredns|ebs-csi|efs-csi|fsx-csi|s3-csi|nvidia-|aws-efa|dcgm-|(?:prometheus-)?node-exporter"
    r"|karpenter|cluster-autoscaler|metrics-server|eks-pod-identity|gpu-operator|calico|cilium|fluent)"
)
"""Names of pods of the same."""


def strangers(objects: Objects, files: Iterable[str]) -> frozenset[str]:
    """Names of pods in namespaces that are neither the platform's nor of a pod whose log is there."""
    spaces: dict[str, set[str]] = {}
    for pod in objects.of("Pod"):
        if pod.namespace:
            spaces.setdefault(pod.name, set()).add(pod.namespace)
    logs = {file_place(f) for f in files}
    own = {space for name, told in spaces.items() if any(is_log_of(log, name) for log in logs) for space in told}
    own = own or _of_ranks(spaces)
    if not own:
        return frozenset()
    return frozenset(
        name for name, told in spaces.items() if not told & own and not any(PLATFORM.search(space) for space in told)
    )


def is_log_of(place: str, pod: str) -> bool:
    """Whether a log's name is a pod's, or a pod's less some of its words: moe-worker-0 for moe-16x-worker-0."""
    if place == pod or pod.startswith(f"{place}-"):
        return "-" in place or place == pod
    words, told = pod.split("-"), place.split("-")
    rest = iter(words)
    return len(told) > 1 and told[0] == words[0] and told[-1] in words[-2:] and all(word in rest for word in told)


_RANK = re.compile(r"-(?:worker|master|node|nodes|workers|rank|launcher|chief|trainer)-\d+(?:-\d+)*(?:-[a-z0-9]{5})?$")


def _of_ranks(spaces: dict[str, set[str]]) -> set[str]:
    """The one namespace, of those that are not the platform's, in which pods are named as a job's ranks are."""
    found = {s for name, told in spaces.items() if _RANK.search(name) for s in told if not PLATFORM.search(s)}
    return found if len(found) == 1 else set()


_ROW = re.compile(
    r"^(?P<space>[a-z0-9][a-z0-9-]*)\s+(?:\d+[dhms]\S*|<unknown>)\s+(?:\(x\d+ over \S+\)\s+)?"
    r"(?:Normal|Warning)\s+\S+\s+[a-z.]+/(?P<name>\S+)"
)
"""Of `kubectl get events -A`: the namespace first."""


def rows_of_others(events: Events, objects: Objects, others: Collection[str]) -> Events:
    """Rows of events of all namespaces that are in none of the job's: where its pods are that were asked for alone."""
    rows = [(e, row) for e in events if (row := _ROW.match(e.text))]
    asked = {p.name for p in objects.of("Pod") if p.is_table and not p.namespace and p.name not in others}
    logs = {file_place(e.file) for e in events}
    own = {row["space"] for _, row in rows if row["name"] in asked or row["name"] in logs}
    own |= {p.namespace for p in objects.of("Pod") if p.namespace and p.name in logs}
    own = {space for space in own if not PLATFORM.search(space)}
    if not own:
        return Events()
    return Events(tuple(e for e, row in rows if row["space"] not in own and not PLATFORM.search(row["space"])))
