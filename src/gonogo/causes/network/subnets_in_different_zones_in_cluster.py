"""EFA or storage crosses availability zones.

## What is wrong
The chosen nodes are in several zones. EFA traffic can't leave one.

## Fix
Keep the node group's subnets to one zone, or choose nodes of one zone.

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html#efa-limits
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed
from gonogo.facts.kube_nodes import ChosenNodes
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("network.subnets_in_different_zones")
def subnets_in_different_zones(findings: Findings, nodes: ChosenNodes) -> Iterator[Diagnosis]:
    """Where EFA should be used."""
    if roots := failed(findings, "SCH104"):
        zone = Counter(n.zone for n in nodes.present.values() if n.zone).most_common(1)[0][0]
        yield diagnose(
            "network.subnets_in_different_zones",
            roots,
            f"{roots[0].message} EFA can't connect them.",
            repair=Repair.CHANGE_CLUSTER,
            commands=(f"gonogo verify -l topology.kubernetes.io/zone={zone}",),
        )
