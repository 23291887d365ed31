"""What a run asks of the API server, verb by verb: for asking RBAC first, and for the least role that allows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from gonogo.clients.kube import Cluster
from gonogo.documents.kubernetes import AccessDocument, Review
from gonogo.model import LEVELS, Level

NAME = "gonogo"
DNS_NAMESPACE = "kube-system"


@dataclass(frozen=True, slots=True)
class Need:
    """Verbs on one resource, from a level on."""

    verbs: tuple[str, ...]
    group: str
    resource: str
    where: str  # cluster, namespace (the run's), dns, events (of nodes)
    level: Level
    why: str


NEEDS = (
    Need(("list",), "", "nodes", "cluster", "read", "anything about nodes"),
    Need(("list",), "", "pods", "cluster", "read", "what is free on the nodes"),
    Need(("list",), "apps", "daemonsets", "cluster", "read", "device and network plug-ins"),
    Need(("list",), "apiextensions.k8s.io", "customresourcedefinitions", "cluster", "read", "kinds of jobs"),
    Need(("list",), "storage.k8s.io", "storageclasses", "cluster", "read", "storage classes"),
    Need(("list",), "storage.k8s.io", "csidrivers", "cluster", "read", "storage drivers"),
    Need(("list",), "storage.k8s.io", "csinodes", "cluster", "read", "storage drivers on the nodes"),
    Need(("list",), "", "persistentvolumes", "cluster", "read", "volumes and their zones"),
    Need(("list",), "", "namespaces", "cluster", "read", "Pod Security of the namespace"),
    Need(("list",), "", "persistentvolumeclaims", "namespace", "read", "claims"),
    Need(("list",), "", "resourcequotas", "namespace", "read", "quotas"),
    Need(("list",), "", "limitranges", "namespace", "read", "limit ranges"),
    Need(("list",), "networking.k8s.io", "networkpolicies", "namespace", "read", "network policies"),
    Need(("list",), "", "services", "namespace", "read", "the job's Service"),
    Need(("list",), "", "events", "namespace", "read", "what happened to pods and claims"),
    Need(("list",), "discovery.k8s.io", "endpointslices", "dns", "read", "the cluster's DNS"),
    Need(("create",), "", "pods", "namespace", "quick", "what admission says to the pods (a dry run)"),
    Need(("get", "list", "watch", "delete"), "", "pods", "namespace", "quick", "any run of pods"),
    Need(("get",), "", "pods/log", "namespace", "quick", "what the pods measure"),
    Need(("get", "list", "create", "patch", "delete"), "", "configmaps", "namespace", "quick", "any run of pods"),
    Need(("get", "list", "create", "patch", "delete"), "", "services", "namespace", "quick", "any run of pods"),
    Need(("get", "list", "create", "patch", "delete"), "batch", "jobs", "namespace", "quick", "any run of pods"),
)


NODE_EVENTS_NAMESPACE = "default"  # where the API keeps events of objects that have no namespace
DIAGNOSE = (
    Need(("list",), "batch", "jobs", "namespace", "read", "whether the job failed, and why"),
    Need(("list",), "", "pods", "namespace", "read", "how the pods ended, and any log"),
    Need(("get",), "", "pods/log", "namespace", "read", "what the program printed"),
    Need(("list",), "", "events", "namespace", "read", "what scheduler, kubelets and controllers said"),
    Need(("list",), "", "persistentvolumeclaims", "namespace", "read", "whether volumes are bound"),
    Need(("list",), "", "resourcequotas", "namespace", "read", "whether a quota holds the job back"),
    Need(("list",), "", "services", "namespace", "read", "what names the job's pods have"),
    Need(("list",), "jobset.x-k8s.io", "jobsets", "namespace", "read", "JobSets"),
    Need(("list",), "kubeflow.org", "pytorchjobs", "namespace", "read", "PyTorchJobs"),
    Need(("list",), "kubeflow.org", "mpijobs", "namespace", "read", "MPIJobs"),
    Need(("list",), "trainer.kubeflow.org", "trainjobs", "namespace", "read", "TrainJobs"),
    Need(("list",), "", "nodes", "cluster", "read", "whether nodes are ready, and what they hold"),
    Need(("list",), "", "events", "events", "read", "what happened to nodes"),
)
"""All that diagnosing a job in a cluster asks for: only to read."""
PLACES = {"cluster": "", "dns": DNS_NAMESPACE, "events": NODE_EVENTS_NAMESPACE}


def needs(level: Level) -> tuple[Need, ...]:
    """All that a level needs, those below it included."""
    return tuple(n for n in NEEDS if LEVELS.index(n.level) <= LEVELS.index(level))


def ask(cluster: Cluster, level: Level, namespace: str) -> AccessDocument:
    """One review for each verb, several at a time. Raises KubeError."""
    places = {"cluster": "", "namespace": namespace, "dns": DNS_NAMESPACE}

    def review(need: Need, verb: str) -> Review:
        place = places[need.where]
        allowed = cluster.can(verb, need.group, need.resource, place)
        return Review(verb, need.group, need.resource, place, allowed, need.why, need.level)

    with ThreadPoolExecutor(8, "access") as pool:
        asked = [pool.submit(review, need, verb) for need in needs(level) for verb in need.verbs]
        return AccessDocument(tuple(future.result() for future in asked))


def manifests(wanted: Sequence[Need], name: str, namespace: str, user: str = "") -> Iterator[dict[str, Any]]:
    """The least roles for these needs, and bindings of them to a user or to a service account of gonogo's."""
    who = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    if not user:
        who = {"kind": "ServiceAccount", "name": NAME, "namespace": namespace}
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME, "namespace": namespace}}
    for where, place in (*PLACES.items(), ("namespace", namespace)):
        if rules := _rules(wanted, where):
            yield from _role(f"{NAME}-{name}{'-nodes' * (where == 'events')}", place, rules, who)


def _rules(wanted: Sequence[Need], where: str) -> list[dict[str, Any]]:
    verbs: dict[tuple[str, str], list[str]] = {}
    for need in wanted:
        if need.where == where:
            known = verbs.setdefault((need.group, need.resource), [])
            known += [verb for verb in need.verbs if verb not in known]
    return [{"apiGroups": [group], "resources": [resource], "verbs": some} for (group, resource), some in verbs.items()]


def _role(name: str, namespace: str, rules: list[dict[str, Any]], who: dict[str, str]) -> Iterator[dict[str, Any]]:
    kind = "Role" if namespace else "ClusterRole"
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    api = "rbac.authorization.k8s.io"
    yield {"apiVersion": f"{api}/v1", "kind": kind, "metadata": metadata, "rules": rules}
    reference = {"apiGroup": api, "kind": kind, "name": name}
    yield {"apiVersion": f"{api}/v1", "kind": f"{kind}Binding", "metadata": metadata, "roleRef": reference,
           "subjects": [who]}  # fmt: skip
