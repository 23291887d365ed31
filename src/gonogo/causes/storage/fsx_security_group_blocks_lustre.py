"""The file system's security group blocks Lustre.

## What is wrong
Lustre needs TCP 988 and 1018 to 1023 between nodes and the file system's interfaces. Without it the mount fails with
`Is the MGS running?`, and the file system is well.

## Fix
Both ports' ranges from the nodes' group in the file system's group.

## Source
https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.rules import Group, Rule, security_groups, within
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Evidence, Repair, Subject

LUSTRE = 988


@cause("storage.fsx_security_group_blocks_lustre", also=True)
def fsx_security_group_blocks_lustre(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a Lustre mount reaches no server and the groups that are known do not open its port."""
    if refused := events.of("storage.lustre_port_closed"):
        yield _not_made(refused)
        return
    failed = events.of("storage.lustre_mount_failed")
    groups = [g for g in security_groups(objects) if g.rules or isinstance(g.told.get("IpPermissions"), list)]
    attached = {str(x.get("GroupId")) for o in objects.of("NetworkInterfaces") for x in o.items("Groups")}
    of_files = [g for g in groups if g.id in attached] or groups
    nodes_at = _node_addresses(events, objects)
    if not failed or not of_files or any(_opens(g, nodes_at) for g in of_files):
        return
    group = of_files[0]
    nodes = next((g.id for g in groups if g.id != group.id and g.is_of_nodes), "<node-security-group>")
    allow = f"aws ec2 authorize-security-group-ingress --group-id {group.id} --protocol tcp --source-group {nodes}"
    yield diagnosis(
        "storage.fsx_security_group_blocks_lustre",
        f"Security group {group.id} of the file system does not open TCP 988 to the nodes.",
        Events(tuple(sorted(failed, key=lambda e: "MGS" not in e.text))),
        [e for r in group.ingress for e in _cited(r)] or [group.told.cite("GroupId")],
        [f.cite("Lifecycle") for f in objects.of("FileSystems") if f.get("Lifecycle")],
        events.of("host.node_name"),
        repair=Repair.CHANGE_NETWORK_RULE,
        subjects=(Subject("aws", group.id),),
        commands=(f"{allow} --port 988", f"{allow} --port 1018-1023"),
        next_observation="From a node: nc -vz <file-system-address> 988.",
    )


def _not_made(refused: Events) -> Diagnosis:
    """FSx looks at the groups before it makes a file system."""
    group = "<file-system-security-group>"
    allow = f"aws ec2 authorize-security-group-ingress --group-id {group} --protocol tcp --source-group {group}"
    return diagnosis(
        "storage.fsx_security_group_blocks_lustre",
        "FSx makes no file system: the security groups that it was given do not open TCP 988.",
        refused,
        repair=Repair.CHANGE_NETWORK_RULE,
        commands=(f"{allow} --port 988", f"{allow} --port 1018-1023"),
        next_observation="The rules of the groups: aws ec2 describe-security-group-rules --filters "
        f"Name=group-id,Values={group}; a stack must make them before the file system.",
    )


def _cited(rule: Rule) -> tuple[Evidence, ...]:
    return (rule.told.cite((*rule.path, "FromPort")), rule.told.cite((*rule.path, "IpRanges")))


def _node_addresses(events: Events, objects: Objects) -> list[str]:
    """Addresses of nodes, by their objects or by names such as ip-10-0-1-2."""
    told = [
        str(a.get("address"))
        for n in objects.of("Node")
        for a in n.items("status.addresses")
        if a.get("type") == "InternalIP"
    ]
    return told + [a.replace("-", ".") for a in events.of("host.node_name").values("address")]


def _opens(group: Group, nodes_at: list[str]) -> bool:
    return any(
        r.low <= LUSTRE <= r.high and r.protocol in ("-1", "tcp", "6") and (r.group or _reaches(r.cidr, nodes_at))
        for r in group.ingress
    )


def _reaches(cidr: str, nodes_at: list[str]) -> bool:
    """Whether a network takes in the nodes, as far as their addresses are known."""
    return not nodes_at or any(within(a, cidr) for a in nodes_at)
