"""The node registers no huge pages, though the kernel has them.

## What is wrong
The kubelet counts huge pages once, when it starts. Pages that are made later, or an AMI that makes them too late, are
never offered: pods that ask for hugepages-2Mi stay Pending.

## Fix
Restart the kubelet on the node; make the pages at boot, before it; or another AMI release.

## Source
https://github.com/awslabs/amazon-eks-ami/issues/2367
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.unschedulable import unschedulable
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("node.hugepages_not_registered", refines=("scheduling.insufficient_resources",), also=True)
def hugepages_not_registered(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where pods wait for huge pages and a node offers none."""
    short = [u for u in unschedulable(events) if any(r.startswith("hugepages-") for r in u.insufficient)]
    none = [n for n in objects.of("Node") if str(n.get(("status", "allocatable", "hugepages-2Mi"), "")) in ("0", "0Mi")]
    told = events.of("kubelet.allocatable_no_hugepages")
    pages = Events(tuple(e for e in events.of("kernel.hugepages") if int(e["pages"]) > 0))
    if short and (pages or none or told):
        has = f" though the kernel has {pages.first.get('pages')}" if pages else ""
        yield diagnosis(
            "node.hugepages_not_registered",
            f"The node offers no huge pages{has}: the kubelet counted them before they were there.",
            Events(tuple(u.event for u in short)),
            told,
            pages,
            [n.cite(("status", "allocatable", "hugepages-2Mi")) for n in none],
            repair=Repair.RESTART_PROCESS,
            subjects=[n.subject for n in none],
            commands=(
                "systemctl restart kubelet  # on the node",
                "kubectl get nodes -o custom-columns=N:.metadata.name,H:.status.allocatable.hugepages-2Mi",
            ),
        )
