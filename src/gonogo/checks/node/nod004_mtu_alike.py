"""All nodes have the MTU of the plan, or one and the same MTU, on the interface that peers dial.

## Why it matters
Where one node sends larger packets than the path carries, small messages pass and large ones vanish: the job starts
and hangs at its first large all_reduce. A smaller MTU everywhere is harmless and slower.

## Usual causes
- one node group with jumbo frames (9001) beside one without
- a tunnel or an overlay network between the nodes, with less room than the interfaces say
- an image or a CNI setting that lowers the MTU on some nodes

## Fix
Set one MTU on all nodes: `ip link set dev eth0 mtu 9001`, or the CNI's setting (AWS_VPC_ENI_MTU for the VPC CNI).

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/network_mtu.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gonogo.facts.identities import Identities
from gonogo.facts.nodes import NodeInfo, Nodes
from gonogo.kernel import check
from gonogo.model import Finding, Status
from gonogo.plan import Plan


@check("NOD004")
def mtu_alike(nodes: Nodes, plan: Plan, identities: Identities) -> Iterator[Finding]:
    """A deviation warns: whether large messages pass is for LNK001 to say."""
    found = {subject: mtu_of(info, identities) for subject, info in nodes.present.items()}
    known = [mtu for mtu in found.values() if mtu]
    expected = plan.fabric.mtu or (Counter(known).most_common(1)[0][0] if known else None)
    source = "plan" if plan.fabric.mtu else "most nodes"
    for subject, mtu in found.items():
        info = nodes.present[subject]
        evidence = (info.record.evidence(f"interfaces of {info.name}"),)
        if mtu is None:
            yield Finding(
                Status.UNKNOWN, subject, f"{info.name} did not tell the MTU of its interface.", evidence=evidence
            )
            continue
        status = Status.OK if mtu == expected else Status.WARN
        message = f"{info.name} has MTU {mtu}, {expected} expected by the {source}."
        yield Finding(status, subject, message, mtu, expected, "bytes", source, evidence)


def mtu_of(info: NodeInfo, identities: Identities) -> int | None:
    """The MTU of the interface with the address that peers dial, or of its only interface that isn't loopback."""
    identity = identities.of(info.name)
    addresses = identity.addresses[:1] if identity else ()
    if identities.fabric == "loopback":  # every 127.x.y.z is an address of the one loopback
        return next((i.mtu for i in info.interfaces if i.name == "lo"), None)
    for interface in info.interfaces:
        if interface.address in addresses and interface.mtu:
            return interface.mtu
    others = {i.mtu for i in info.interfaces if not i.address.startswith(("127.", "::1", "fe80")) and i.name != "lo"}
    return others.pop() if len(others) == 1 else None
