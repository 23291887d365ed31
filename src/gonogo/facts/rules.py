"""What AWS's network rules let through: security groups, network ACLs, route tables, as their API answers say."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gonogo.facts.objects import Object, Objects, Path
from gonogo.model import Evidence

EVERYWHERE = ("0.0.0.0/0", "::/0")
Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rule:
    """One source (or destination, for egress) that a security group admits, on ports from `low` to `high`."""

    egress: bool
    protocol: str  # "-1" for all
    low: int
    high: int
    group: str  # an id, "" for none
    cidr: str
    told: Object
    path: Path

    def __str__(self) -> str:
        return f"{self.opened} {'to' if self.egress else 'from'} {self.group or self.cidr}"

    @property
    def opened(self) -> str:
        """everything, tcp 443, tcp 1024-65535."""
        ports = f"{self.low}" if self.low == self.high else f"{self.low}-{self.high}"
        return "everything" if self.protocol == "-1" else f"{self.protocol} {ports}"

    @property
    def evidence(self) -> Evidence:
        """Its line, with the ports that it opens and to whom."""
        whose = self.told.get("GroupId", "")
        return self.told.cite(
            (*self.path, "ToPort") if self.told.get((*self.path, "ToPort")) is not None else self.path,
            f"{whose} lets {'out' if self.egress else 'in'} {self}".strip(),
        )


@dataclass(frozen=True, slots=True)
class Group:
    """A security group."""

    id: str
    name: str
    rules: tuple[Rule, ...]
    told: Object

    @property
    def ingress(self) -> tuple[Rule, ...]:
        """Its inbound rules."""
        return tuple(r for r in self.rules if not r.egress)

    @property
    def egress(self) -> tuple[Rule, ...]:
        """Its outbound rules."""
        return tuple(r for r in self.rules if r.egress)

    @property
    def is_of_nodes(self) -> bool:
        """Whether it looks like a node group's: it lets the kubelet be reached, or has rules that name itself."""
        kubelet = any(r.low <= 10250 <= r.high and r.protocol != "-1" for r in self.ingress)
        named = any(w in self.name.lower() for w in ("node", "worker", "train", "gpu", "efa"))
        return kubelet or named or any(r.group == self.id for r in self.rules)

    def admits(self, port: int, groups: Sequence[str], addresses: Sequence[str], protocol: str = "tcp") -> bool:
        """Whether TCP (or UDP) to a port comes in from a member of the groups, or all of the addresses, if known."""
        return any(
            r.low <= port <= r.high and _carries(r, protocol) and _covers(r, groups, addresses) for r in self.ingress
        )

    def lets_out(self, port: int, groups: Sequence[str], addresses: Sequence[str]) -> bool:
        """Whether TCP to a port goes out to a member of the groups, or to all of the addresses."""
        return any(
            r.low <= port <= r.high and _carries(r, "tcp") and _covers(r, groups, addresses) for r in self.egress
        )

    @property
    def names_lists(self) -> bool:
        """Whether a rule of it names a prefix list, whose addresses are not told here."""
        keys = ("IpPermissions", "IpPermissionsEgress")
        return any(permission.get("PrefixListIds") for key in keys for permission in self.told.items(key))

    def names_itself(self, egress: bool) -> bool:
        """Whether it lets all traffic from, or to, itself by its id: EFA needs both."""
        return any(r.group == self.id and r.protocol == "-1" for r in (self.egress if egress else self.ingress))


NUMBERS = {"tcp": "6", "udp": "17"}


def _carries(rule: Rule, protocol: str) -> bool:
    return rule.protocol in ("-1", protocol, NUMBERS[protocol])


def _covers(rule: Rule, groups: Sequence[str], addresses: Sequence[str]) -> bool:
    if rule.group:
        return rule.group in groups
    return bool(rule.cidr) and (rule.cidr in EVERYWHERE or all(within(a, rule.cidr) for a in addresses))


def within(address: str, cidr: str) -> bool:
    """Whether an address, or a whole network, lies in a network; False for what is neither."""
    try:
        inner, outer = ipaddress.ip_network(address, strict=False), ipaddress.ip_network(cidr, strict=False)
    except ValueError:
        return False
    return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]


def security_groups(objects: Objects) -> tuple[Group, ...]:
    """All groups, from describe-security-groups or describe-security-group-rules."""
    groups = [
        Group(
            str(o.get("GroupId", "")),
            f"{o.get('GroupName', '')} {o.get('Description', '')}".strip(),
            tuple(_rules(o)),
            o,
        )
        for o in objects.of("SecurityGroups")
        if "IpPermissions" in o.data
    ]
    loose: dict[str, list[Rule]] = {}
    first: dict[str, Object] = {}
    for o in objects.of("SecurityGroupRules"):
        id = str(o.get("GroupId", ""))
        first.setdefault(id, o)
        low, high = _ports(o.data)
        source = str(o.get("ReferencedGroupInfo.GroupId", ""))
        cidr = str(o.get("CidrIpv4") or o.get("CidrIpv6") or "")
        loose.setdefault(id, []).append(
            Rule(bool(o.get("IsEgress")), str(o.get("IpProtocol")), low, high, source, cidr, o, ())
        )
    known = {g.id for g in groups}
    return (*groups, *(Group(id, "", tuple(rules), first[id]) for id, rules in loose.items() if id not in known))


def _rules(group: Object) -> Iterator[Rule]:
    for key in ("IpPermissions", "IpPermissionsEgress"):
        for i, permission in enumerate(group.items(key)):
            low, high = _ports(permission)
            common = (key.endswith("Egress"), str(permission.get("IpProtocol")), low, high)
            for pair in permission.get("UserIdGroupPairs") or []:
                yield Rule(*common, str(pair.get("GroupId", "")), "", group, (key, i))
            for source in permission.get("IpRanges") or []:
                yield Rule(*common, "", str(source.get("CidrIp", "")), group, (key, i))
            for source in permission.get("Ipv6Ranges") or []:
                yield Rule(*common, "", str(source.get("CidrIpv6", "")), group, (key, i))


def _ports(permission: Any) -> Interval:
    if str(permission.get("IpProtocol")) == "-1":
        return 0, 65535
    low, high = permission.get("FromPort"), permission.get("ToPort")
    return int(low if low not in (None, -1) else 0), int(high if high not in (None, -1) else 65535)


def acl_blocks(acl: Object, low: int, high: int, egress: bool, peer: str) -> tuple[Path, dict[str, Any]] | None:
    """The entry of a network ACL that denies some of TCP ports `low` to `high` to or from a network, if one does."""
    entries = [(i, e) for i, e in enumerate(acl.items("Entries")) if bool(e.get("Egress")) == egress]
    for i, entry in sorted(entries, key=lambda x: int(x[1].get("RuleNumber", 32767))):
        cidr = str(entry.get("CidrBlock", ""))
        if str(entry.get("Protocol")) not in ("-1", "6", "tcp") or not (
            within(peer, cidr) if peer else cidr in EVERYWHERE
        ):
            continue
        ports = entry.get("PortRange") or {}
        first, last = int(ports.get("From", 0)), int(ports.get("To", 65535))
        if entry.get("RuleAction") == "deny" and first <= high and last >= low:
            return ("Entries", i), entry
        if first <= low and last >= high:
            return None
    return None
