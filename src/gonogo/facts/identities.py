"""Who is who: what joins a node's name, rank, addresses and process."""

from __future__ import annotations

from dataclasses import dataclass

from gonogo.documents.records import NodeLog, Record
from gonogo.facts.fields import items, records, text
from gonogo.facts.nodes import Nodes
from gonogo.kernel import parser
from gonogo.model import node


@dataclass(frozen=True, slots=True)
class Identity:
    """One node by all its names."""

    name: str
    index: int  # of its agent; also the rank of its first process while all nodes take part
    addresses: tuple[str, ...]
    hostname: str
    pod: str = ""  # on Kubernetes


@dataclass(frozen=True, slots=True)
class Identities:
    """All expected nodes, in index order; the first one's name is what the rendezvous goes to."""

    nodes: tuple[Identity, ...]
    fabric: str = ""  # namespaces, user-namespaces or loopback on this machine, pods in a cluster, or ""
    built: Record | None = None

    @property
    def in_pods(self) -> bool:
        """Whether agents ran in pods: what is theirs, such as an address, is gone with the run."""
        return self.fabric == "pods"

    def of(self, name: str) -> Identity | None:
        """The node of that name."""
        return next((i for i in self.nodes if i.name == name), None)

    def at(self, address: str) -> Identity | None:
        """The node that has an address."""
        return next((i for i in self.nodes if address in i.addresses), None)

    @property
    def first(self) -> str:
        """The node that holds the rendezvous."""
        return self.nodes[0].name if self.nodes else ""


@parser
def identities(log: NodeLog, nodes: Nodes) -> Identities:
    """From the launcher's word on what it built and each agent's on itself."""
    built = next(records(log, "fabric", "built"), None)
    told = {text(n, "name"): n for n in (items(built, "nodes") if built else ()) if isinstance(n, dict)}
    found = []
    for index, name in enumerate(log.nodes):
        info = nodes.present.get(node(name))
        launched = text(told.get(name, {}), "address")
        own = tuple(sorted(info.addresses)) if info else ()
        addresses = tuple(dict.fromkeys((launched, *own) if launched else own))
        pod = text(told.get(name, {}), "pod")
        found.append(Identity(name, index, addresses, info.hostname if info else "", pod))
    return Identities(tuple(found), text(built, "made_of") if built else "", built)
