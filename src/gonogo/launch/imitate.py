"""The user's job as this machine can imitate it: its variables, its /dev/shm, its limits of CPU and memory."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gonogo.agent.node import VARIABLES
from gonogo.documents.kubernetes import Scope
from gonogo.facts.kube_quantity import ACCELERATORS, EFA, quantities
from gonogo.facts.kube_workload import Workload, design
from gonogo.launch.fabric import INTERFACE
from gonogo.launch.like import Pattern
from gonogo.plan import Plan

SHM = "/dev/shm"
OWN_SHM_BYTES = 64 << 20
"""Of a container that mounts nothing there."""
USUAL_SHM_BYTES = 1 << 30
RANK_SHM_BYTES = 128 << 20
"""What the data loaders of one rank take at most."""

MOST_RANKS = 128
"""Of one node, in a plan."""

_INTERFACES = (INTERFACE, "lo")
"""What the nodes of this machine have."""


@dataclass(frozen=True, slots=True)
class Imitation:
    """A plan that says what the job says, and what of the job this machine lacks, so that no run here proves it."""

    plan: Plan
    missing: tuple[str, ...]


def imitate(plan: Plan, pattern: Pattern) -> Imitation:
    """The job's words where the plan has none of its own."""
    workload = design(plan, Scope(template=pattern.template), [])
    missing = list(_missing(workload))
    told = {e["name"]: str(e["value"]) for e in workload.container.get("env") or [] if "value" in e and "name" in e}
    environment = {}
    for name, value in told.items():
        if not name.startswith(VARIABLES) or name in plan.job.environment:
            continue
        if why := _only_there(name, value):
            missing.append(why)
        elif name != "MASTER_PORT":
            environment[name] = value
    port = told.get("MASTER_PORT", "")
    has_own_port = "rendezvous_port" in plan.job.model_fields_set or not port.isdigit()
    job: dict[str, Any] = {
        "environment": {**environment, **plan.job.environment},
        "rendezvous_port": plan.job.rendezvous_port if has_own_port else int(port),
        "ranks_per_node": plan.job.ranks_per_node if _says_ranks(plan) else min(max(1, pattern.ranks), MOST_RANKS),
    }
    return Imitation(
        Plan.model_validate(
            {
                **plan.model_dump(exclude_unset=True),
                "nodes": {
                    **plan.nodes.model_dump(exclude_unset=True),
                    "count": plan.nodes.count or pattern.pods or None,
                },
                "job": {**plan.job.model_dump(exclude_unset=True), **job},
                "pod": {**plan.pod.model_dump(exclude_unset=True), **_pod(workload)},
            }
        ),
        tuple(missing),
    )


def _says_ranks(plan: Plan) -> bool:
    return "ranks_per_node" in plan.job.model_fields_set


def _pod(workload: Workload) -> dict[str, Any]:
    """What of it can be imitated, with the /dev/shm that a container has of its own where the job mounts none."""
    mounts = [m for m in workload.container.get("volumeMounts") or [] if m.get("mountPath") == SHM][:1]
    volumes = [v for v in workload.spec.get("volumes") or [] if mounts and v.get("name") == mounts[0].get("name")]
    if not mounts and not workload.spec.get("hostIPC"):
        volumes = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": str(OWN_SHM_BYTES)}}]
        mounts = [{"name": "shm", "mountPath": SHM}]
    return {"volumes": volumes, "volume_mounts": mounts, "resources": workload.container.get("resources") or {}}


def _missing(workload: Workload) -> Iterator[str]:
    """What of the job isn't here, to follow `not proven`."""
    limits = _limits(workload.container.get("resources") or {})
    if "image" in (workload.template.get("containers") or [{}])[0]:
        yield f"what the job's image holds ({workload.image})"
    for resource in (*ACCELERATORS, EFA):
        if limits.get(resource):
            yield f"the job's {limits[resource]:g} {resource} a pod"
    if workload.mounts:
        yield f"the job's volumes ({', '.join(workload.mounts)})"
    if limits.get("cpu", 0.0) > (cores := len(os.sched_getaffinity(0))):
        yield f"the job's {limits['cpu']:g} CPUs a pod, of which this machine has {cores} for all"


def _only_there(name: str, value: str) -> str:
    """Why a variable's value means nothing here; "" if it does."""
    if name == "MASTER_ADDR" and value != "localhost" and not _is_address(value):
        return f"that {value} leads to rank 0 (MASTER_ADDR)"
    if name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "TP_SOCKET_IFNAME"):
        names = [word.strip("^=") for word in value.split(",")]
        if not set(names) <= set(_INTERFACES):
            return f"that the nodes have the interface {value} ({name})"
    return ""


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _limits(resources: Mapping[str, Any]) -> dict[str, float]:
    found = resources.get("limits")
    return quantities(found) if isinstance(found, Mapping) else {}


def shm_bytes(plan: Plan, ranks: int = 1) -> int:
    """The size of /dev/shm that the plan's pods have; where it says nothing 1 GiB, or what so many ranks need."""
    usual = max(USUAL_SHM_BYTES, ranks * RANK_SHM_BYTES)
    names = {m.get("name") for m in plan.pod.volume_mounts if m.get("mountPath") == SHM}
    for volume in plan.pod.volumes:
        if volume.get("name") in names and isinstance(volume.get("emptyDir"), Mapping):
            size = quantities({"size": volume["emptyDir"].get("sizeLimit")}).get("size", 0.0)
            return int(size) or limits(plan)[1] or usual
    return usual


def limits(plan: Plan) -> tuple[float, int]:
    """CPUs and bytes of memory that each of the plan's pods may use; 0 for no limit, or for more than is here."""
    found = _limits(plan.pod.resources)
    cpus = found.get("cpu", 0.0)
    return cpus if cpus < len(os.sched_getaffinity(0)) else 0.0, int(found.get("memory", 0.0))
