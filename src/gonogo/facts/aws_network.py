"""Where nodes are attached to AWS's network: instance, network interface, security groups and their rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gonogo.documents.aws import Answers, InstancesAnswer, SecurityGroupsAnswer
from gonogo.facts.identities import Identities
from gonogo.facts.kube_nodes import ChosenNodes
from gonogo.facts.objects import Object, Objects, Path, read_objects
from gonogo.facts.rules import Group, within
from gonogo.facts.rules import security_groups as groups_of
from gonogo.kernel import Lost, PerNode, Skip, parser
from gonogo.model import Evidence, Subject, node

EPHEMERAL = (32768, 46883, 60999)
"""Ports that Linux hands out by default: the ends and the middle of their range."""


@dataclass(frozen=True, slots=True)
class Interface:
    """One network interface of an instance; pods have addresses or prefixes of it."""

    id: str  # eni-…
    instance: str  # i-…
    primary: bool
    addresses: tuple[str, ...]
    prefixes: tuple[str, ...]
    groups: tuple[str, ...]
    told: Object
    path: Path

    def has(self, address: str) -> bool:
        """Whether an address is one of its own."""
        return address in self.addresses or any(within(address, prefix) for prefix in self.prefixes)

    def evidence(self, text: str) -> Evidence:
        """Its groups' line, with what that says in words."""
        line = self.told.cite((*self.path, "Groups", 0, "GroupId"))
        return Evidence(text, line.file, line.line)


@dataclass(frozen=True, slots=True)
class Interfaces:
    """The network interfaces of all instances that could be seen."""

    all: tuple[Interface, ...]

    def at(self, address: str) -> Interface | None:
        """The one that has an address."""
        return next((i for i in self.all if i.has(address)), None)

    def of(self, instance: str) -> Interface | None:
        """An instance's first one."""
        mine = [i for i in self.all if instance and i.instance == instance]
        return next((i for i in mine if i.primary), mine[0] if mine else None)


@dataclass(frozen=True, slots=True)
class SecurityGroups:
    """All security groups that could be seen, by id."""

    by_id: Mapping[str, Group]

    def known(self, ids: Sequence[str]) -> bool:
        """Whether all rules of these groups are told."""
        return bool(ids) and all(id in self.by_id and not self.by_id[id].names_lists for id in ids)

    def lets_out(self, source: Attachment, target: Attachment, port: int) -> bool:
        """Whether TCP from one to another may leave; the groups of both must be known.

        A group of which no outbound rules are told has AWS's own, which lets everything out.
        """
        own = [self.by_id[id] for id in source.groups]
        return any(
            g.lets_out(port, target.groups, [target.address]) or not (g.egress or "IpPermissionsEgress" in g.told.data)
            for g in own
        )

    def lets_in(self, source: Attachment, target: Attachment, port: int) -> bool:
        """Whether TCP from one to another may come in."""
        own = [self.by_id[id] for id in target.groups]
        return any(g.admits(port, source.groups, [source.address]) for g in own)

    def passes(self, source: Attachment, target: Attachment, port: int) -> bool:
        """Whether TCP from one to another may leave and come in. Answers always may."""
        return self.lets_out(source, target, port) and self.lets_in(source, target, port)

    def spelled(self, id: str) -> str:
        """sg-0b2… (gpu-b)."""
        name = self.by_id[id].told.get("GroupName") if id in self.by_id else ""
        return f"{id} ({name})" if name else id

    def told(self, id: str, egress: bool = False) -> Evidence:
        """What a known group admits, or lets out, in words, and where that stands."""
        group = self.by_id[id]
        rules = ", ".join(dict.fromkeys(map(str, group.egress if egress else group.ingress))) or "nothing"
        line = group.told.cite("IpPermissionsEgress" if egress else "IpPermissions")
        return Evidence(f"{self.spelled(id)} {'lets out' if egress else 'lets in'} {rules}", line.file, line.line)


@dataclass(frozen=True, slots=True)
class Attachment:
    """One node: the address that it is reached at, and the interface which that belongs to."""

    node: str
    pod: str
    address: str
    interface: Interface

    @property
    def groups(self) -> tuple[str, ...]:
        """The ids of the security groups that filter what comes to the address."""
        return self.interface.groups


class Attachments(PerNode[Attachment]):
    """Expected node -> its attachment."""


@parser
def security_groups(answer: SecurityGroupsAnswer) -> SecurityGroups:
    return SecurityGroups({g.id: g for g in groups_of(_objects(answer))})


@parser
def interfaces(answer: InstancesAnswer) -> Interfaces:
    found: list[Interface] = []
    for reservation in _objects(answer).of("Reservations"):
        for i, instance in enumerate(reservation.items("Instances")):
            if isinstance(instance, dict):
                found += _interfaces(reservation, ("Instances", i), instance)
    return Interfaces(tuple(found))


@parser
def attachments(there: Interfaces, identities: Identities | None, chosen: ChosenNodes | None) -> Attachments:
    """By the address that agents were reached at, else by the instance that the node object names."""
    nodes = {s.name: n for s, n in chosen.present.items()} if chosen else {}
    names = [i.name for i in identities.nodes] if identities and identities.nodes else list(nodes)
    if not names:
        raise Skip("No node is known that could be found among the instances.")
    made: dict[Subject, Attachment | Lost] = {}
    for name in names:
        identity = identities.of(name) if identities else None
        own = nodes.get(name)
        addresses = [*(identity.addresses if identity else ()), *([own.address] if own and own.address else [])]
        at = next(((a, i) for a in addresses if (i := there.at(a))), None)
        by_id = there.of(own.instance_id) if own else None
        if at is None and by_id:
            at = (addresses[0] if addresses else "", by_id)
        pod = identity.pod if identity else ""
        lost = Lost(f"No instance of the AWS answers has an address of {name} ({', '.join(addresses) or 'unknown'}).")
        made[node(name)] = Attachment(name, pod, *at) if at else lost
    return Attachments(made)


def _interfaces(reservation: Object, path: Path, instance: Mapping[str, Any]) -> Iterator[Interface]:
    id = str(instance.get("InstanceId", ""))
    for j, one in enumerate(instance.get("NetworkInterfaces") or []):
        if isinstance(one, dict):
            yield Interface(
                str(one.get("NetworkInterfaceId", "")), id,
                _mapping(one.get("Attachment")).get("DeviceIndex") == 0,
                _values(one.get("PrivateIpAddresses"), "PrivateIpAddress"),
                _values(one.get("Ipv4Prefixes"), "Ipv4Prefix"),
                _values(one.get("Groups"), "GroupId"), reservation, (*path, "NetworkInterfaces", j),
            )  # fmt: skip


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _values(items: object, key: str) -> tuple[str, ...]:
    return tuple(str(i[key]) for i in items if isinstance(i, dict) and key in i) if isinstance(items, list) else ()


def _objects(answer: Answers) -> Objects:
    return Objects.made(o for name, text in answer.files for o in read_objects(name, text))
