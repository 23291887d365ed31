"""Before a run: how many nodes it would use, of which types, and what those cost. Labels alone are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from gonogo.clients.kube import NODES, Cluster, KubeError
from gonogo.collect.kube_project import projected
from gonogo.data.instances import instance_type
from gonogo.documents.kubernetes import NodeObjects, Scope
from gonogo.facts.kube_nodes import choose, cluster_nodes
from gonogo.plan import Plan

UNSEEN = 64
"""As many nodes are taken to be there where they may not be listed."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """The nodes that a run would use, dearest types first."""

    nodes: int
    types: tuple[tuple[str, int], ...] = ()  # name and count
    why_not: str = ""  # why they can't be seen

    @property
    def dollars_per_hour(self) -> float:
        """List price on demand in us-east-1, of those types whose price is known."""
        return sum(count * _price(name) for name, count in self.types)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Types without a known price."""
        return tuple(name or "nodes without a type" for name, _ in self.types if not _price(name))

    def __str__(self) -> str:
        """`8 × p4d.24xlarge, 2 × g5.xlarge`, or "" where no type is known."""
        known = [f"{count} × {name}" for name, count in self.types if name]
        return ", ".join([*known[:3], *([f"{len(known) - 3} more types"] if len(known) > 3 else [])])


def fleet(cluster: Cluster, scope: Scope, plan: Plan) -> Fleet:
    """One list of metadata, page by page."""
    asked = scope.nodes or plan.nodes.count or 0
    try:
        pages = cluster.pages(NODES, metadata_only=True)
        lines = [projected("Node", raw) for page, _ in pages for raw in page]
    except KubeError as error:
        return Fleet(asked or UNSEEN, why_not=str(error))
    nodes = cluster_nodes(NodeObjects(tuple(("", 0, line) for line in lines))).nodes
    return fleet_of([n.type_name for n in choose(nodes, scope, plan)[0]], asked)


def fleet_of(types: Iterable[str], asked: int) -> Fleet:
    """The dearest of them, if fewer are asked for than there are: what it costs is an upper bound."""
    dearest = sorted(types, key=lambda name: (-_price(name), name))
    used = dearest[: asked or None]
    return Fleet(asked or len(used), tuple(Counter(used).items()))


def _price(name: str) -> float:
    row = instance_type(name)
    return row.usd_per_hour if row else 0.0
