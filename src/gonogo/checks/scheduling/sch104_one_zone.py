"""The chosen nodes are in one availability zone.

## Why it matters
EFA doesn't cross zones, traffic between zones costs money and time, and a volume of one zone can't be mounted in
another.

## Usual causes
- the node group has subnets in several zones
- no zone had room for all, so the group was spread

## Fix
Give the node group the subnets of one zone, or choose the nodes of one: `-l topology.kubernetes.io/zone=ZONE`.

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html#efa-limits
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gonogo.facts.kube_nodes import ChosenNodes, expected, some
from gonogo.facts.kube_quantity import EFA
from gonogo.kernel import Lost, check
from gonogo.model import CLUSTER, Finding, Status
from gonogo.plan import Plan


@check("SCH104")
def one_zone(nodes: ChosenNodes, plan: Plan) -> Iterator[Finding | Lost]:
    """Fails where EFA should be used, since it can't be across zones; warns otherwise."""
    chosen = some(nodes).values()
    zones = Counter(n.zone for n in chosen)
    if set(zones) == {""}:
        yield Lost(f"0 of {len(chosen)} nodes say in which zone they are.")
        return
    efa = plan.fabric.kind != "tcp" and any(expected(n, EFA, plan)[0] for n in chosen)
    status = Status.OK if len(zones) == 1 else Status.FAIL if efa else Status.WARN
    said = ", ".join(f"{count} in {zone or 'an unknown zone'}" for zone, count in sorted(zones.items()))
    text = f"{len(chosen)} nodes are in {len(zones)} zone{'s' * (len(zones) > 1)}: {said}."
    evidence = tuple(n.evidence(f"{n.name} is in {n.zone}") for n in {n.zone: n for n in chosen}.values())
    yield Finding(status, CLUSTER, text, len(zones), 1, "zones", "EFA's limits" if efa else "", evidence)
