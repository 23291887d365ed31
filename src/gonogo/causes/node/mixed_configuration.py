"""One node differs from the others: driver, kernel, AMI.

## What is wrong
A node of another image or driver joined the job. Ranks load different libraries and behave differently.

## Fix
Replace the odd node with one of the same launch template version.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/update-managed-node-group.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_FIELDS = ("kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion")


@cause("node.mixed_configuration", also=True)
def mixed_configuration(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where one node of several differs in kernel, image or driver, and the job failed."""
    failed = events.of(
        "torch.nccl_error",
        "nccl.cuda_failure",
        "nccl.mismatched_size",
        "cuda.driver_too_old",
    )
    nodes = [n for n in objects.of("Node") if n.dict("status.nodeInfo") and not n.is_table]
    drivers = events.of("gpu.driver_version")
    odd: list[tuple[Object, str]] = []
    for field in (*_FIELDS,):
        odd += _odd(nodes, lambda n, f=field: str(n.get(("status", "nodeInfo", f), "")), f"status.nodeInfo.{field}")  # type: ignore[misc]
    differing = len(drivers.values("driver")) > 1 and len(drivers.writers) > 1
    labels = _odd(nodes, lambda n: str(n.get(("metadata", "labels", "nvidia.com/cuda.driver-version.full"), "")), "")
    seen = events.of("nccl.driver")
    apart = len(seen.values("cuda")) > 1 and len({e.who.host for e in seen}) > 1
    if failed and (odd or differing or labels or apart):
        named = [n for n, _ in (*odd, *labels)]
        told = " and ".join(drivers.values("driver")) if differing else ""
        yield diagnosis(
            "node.mixed_configuration",
            f"{named[0].name if named else 'One node'} differs from the others{f' (driver {told})' if told else ''}.",
            drivers if differing else None,
            Events(tuple({e.get("cuda"): e for e in seen}.values())) if apart else None,
            events.of("host.driver_row"),
            [n.cite(path) for n, path in odd],
            [n.cite(("metadata", "labels", "nvidia.com/cuda.driver-version.full")) for n, _ in labels],
            failed,
            repair=Repair.REPLACE_NODE,
            subjects=[n.subject for n in named],
            commands=("kubectl get nodes -o wide",),
        )


def _odd(nodes: list[Object], value: Callable[[Object], str], path: str) -> list[tuple[Object, str]]:
    """The node that alone has another value than all others, of three at least."""
    seen: dict[str, list[Object]] = {}
    for n in nodes:
        if value(n):
            seen.setdefault(value(n), []).append(n)
    if len(seen) != 2 or sum(map(len, seen.values())) < 3:
        return []
    fewest = min(seen.values(), key=len)
    return [(fewest[0], path)] if len(fewest) == 1 else []
