"""A subnet's network ACL drops the traffic, or its replies.

## What is wrong
Network ACLs have no memory: replies need their own rule for the ports from 1024 up. An ACL that admits the
rendezvous port and not the replies' ports breaks every connection between subnets.

## What settles it
The ACL's entries in the order of their numbers: the first that fits decides.

## Fix
Allow TCP 1024-65535 in and out between the nodes' subnets, with a lower number than any deny.

## Source
https://docs.aws.amazon.com/vpc/latest/userguide/vpc-network-acls.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import asked_addresses, asked_port, dropped
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects, Path
from gonogo.facts.rules import acl_blocks
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair, Subject

LAST = 32767
"""The number of the rule at the end of every network ACL, which denies what none before it took."""


@cause("network.nacl_blocks", refines=("network.port_blocked",), also=True)
def nacl_blocks(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where an entry denies the asked port, or the ports of the replies."""
    silent = dropped(events)
    if told := events.of("aws.path_explained").where(code="SUBNET_ACL_RESTRICTION"):
        yield diagnosis(
            "network.nacl_blocks",
            "Reachability Analyzer names a network ACL as what blocks the path between the nodes.",
            told,
            silent,
            repair=Repair.CHANGE_NETWORK_RULE,
            commands=("aws ec2 describe-network-insights-analyses --query 'NetworkInsightsAnalyses[].Explanations'",),
        )
        return
    if not silent:
        return
    port = asked_port(silent)
    peers = asked_addresses(silent) or ("",)
    for acl in objects.of("NetworkAcls"):
        for egress in (False, True):
            for low, high in ((port, port), (32768, 60999)):
                for peer in (*peers, *_own(events, objects)):
                    blocked = acl_blocks(acl, low, high, egress, peer)
                    if blocked and (peer in peers or int(blocked[1].get("RuleNumber", LAST)) < LAST):
                        yield _diagnosis(acl, blocked[0], silent, low, high, egress)
                        return


def _own(events: Events, objects: Objects) -> list[str]:
    """Addresses of pods and nodes that are known: a subnet's rules may deny what comes from them."""
    pods = [str(p.get("status.podIP")) for p in objects.of("Pod") if p.get("status.podIP")]
    return [*pods, *(a.replace("-", ".") for a in events.of("host.node_name").values("address"))]


def _diagnosis(acl: Object, path: Path, silent: Events, low: int, high: int, egress: bool) -> Diagnosis:
    name = str(acl.get("NetworkAclId", "the network ACL"))
    ports = f"{low}" if low == high else f"{low}-{high}, where replies go"
    entry = [acl.cite((*path, "RuleAction")), acl.cite((*path, "RuleNumber"))]
    allowed = [
        acl.cite(("Entries", i, "PortRange", "To") if e.get("PortRange") else ("Entries", i))
        for i, e in enumerate(acl.items("Entries"))
        if e.get("RuleAction") == "allow" and bool(e.get("Egress")) == egress
    ]
    direction = "--egress" if egress else "--ingress"
    return diagnosis(
        "network.nacl_blocks",
        f"{name} denies TCP {ports} {'out of' if egress else 'into'} its subnets.",
        silent, entry, allowed,
        repair=Repair.CHANGE_NETWORK_RULE,
        subjects=(Subject("aws", name),),
        commands=(
            f"aws ec2 create-network-acl-entry --network-acl-id {name} {direction} --rule-number 90 --protocol tcp "
            "--port-range From=1024,To=65535 --cidr-block <vpc-cidr> --rule-action allow",
        ),
    )  # fmt: skip
