"""The CNI rewrites the source of pod traffic to a peered network, so replies are lost.

## What is wrong
With AWS_VPC_K8S_CNI_EXTERNALSNAT=false the CNI gives everything that leaves the VPC's CIDR the address of the node's
first interface. Pods on other interfaces then answer peered networks from the wrong address.

## What settles it
Pods on eth0 can be reached from the peer, pods on eth1 and up can't.

## Fix
AWS_VPC_K8S_CNI_EXTERNALSNAT=true (nodes behind a NAT gateway), or the peer's CIDR in
AWS_VPC_K8S_CNI_EXCLUDE_SNAT_CIDRS.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/external-snat.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import dropped
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects, pod_specs
from gonogo.facts.rules import within
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Evidence, Repair


@cause("cni.snat_breaks_peered_traffic", refines=("network.port_blocked",), also=True)
def snat_breaks_peered_traffic(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where SNAT is on and only pods on secondary interfaces can't be reached."""
    setting = list(_setting(events, objects))
    far = _in_peered_network(events, objects) if setting else Events()
    if far:
        yield diagnosis(
            "cni.snat_breaks_peered_traffic",
            f"{far.first.get('address') or 'A host'} is in a peered network, where the CNI shows pods' traffic under "
            "their node's address (SNAT), and connections to it time out.",
            setting,
            far,
            [p.cite("VpcPeeringConnectionId") for p in objects.of("VpcPeeringConnections")],
            events.of("host.captured"),
            repair=Repair.CHANGE_NETWORK_CONFIG,
            commands=("kubectl -n kube-system set env daemonset aws-node AWS_VPC_K8S_CNI_EXTERNALSNAT=true",),
            next_observation="tcpdump on the peer: packets come with the node's address, which its rules may not know.",
        )
        return
    table = events.of("host.reachability")
    lost = Events(tuple(e for e in table if e.get("result") in ("timed out", "refused")))
    fine = Events(tuple(e for e in table if e.get("result") in ("ok", "open", "succeeded")))
    apart = lost and fine and not set(lost.values("interface")) & set(fine.values("interface"))
    if setting and apart:
        yield diagnosis(
            "cni.snat_breaks_peered_traffic",
            f"Pods on {', '.join(lost.values('interface'))} can't be reached from outside the VPC and those on "
            f"{', '.join(fine.values('interface'))} can: the CNI rewrites the source address of their replies.",
            setting,
            lost,
            fine,
            repair=Repair.CHANGE_NETWORK_CONFIG,
            commands=("kubectl -n kube-system set env daemonset aws-node AWS_VPC_K8S_CNI_EXTERNALSNAT=true",),
            next_observation="tcpdump on the node: replies leave with the first interface's address.",
        )


def _in_peered_network(events: Events, objects: Objects) -> Events:
    """Connections that timed out, to an address in a peered network, or which the peer saw come from a node."""
    networks = [
        str(p.get(f"{side}.CidrBlock", ""))
        for p in objects.of("VpcPeeringConnections")
        for side in ("AccepterVpcInfo", "RequesterVpcInfo")
    ]
    seen = set(events.of("host.captured").values("target"))
    silent = Events((*dropped(events), *events.of("net.connect_timed_out")))
    pods = [str(p.get("status.podIP", "")) for p in objects.of("Pod")]
    home = [n for n in networks if any(p and within(p, n) for p in pods)]
    away = [n for n in networks if n and n not in home] if home else []
    return Events(
        tuple(e for e in silent if (a := e.get("address")) and (a in seen or any(within(a, n) for n in away)))
    )


def _setting(events: Events, objects: Objects) -> Iterator[Evidence]:
    """Where it is said that the CNI rewrites addresses, in lines or in the DaemonSet."""
    for event in events.of("cni.snat_setting").where(value="false"):
        yield event.evidence
    for one, spec in pod_specs(objects):
        for i, variable in enumerate(one.items((*spec, "containers", 0, "env"))):
            if variable.get("name") == "AWS_VPC_K8S_CNI_EXTERNALSNAT" and variable.get("value") == "false":
                yield one.cite((*spec, "containers", 0, "env", i, "value"))
