"""Which interface Gloo will use on a node, as Gloo itself chooses.

Source: torch/csrc/distributed/c10d/ProcessGroupGloo.cpp: GLOO_SOCKET_IFNAME, else the address of the own host name,
else the loopback.
"""

from __future__ import annotations

from dataclasses import dataclass

from gonogo.facts.identities import Identities
from gonogo.facts.nodes import NodeInfo
from gonogo.plan import Plan

VARIABLE = "GLOO_SOCKET_IFNAME"


@dataclass(frozen=True, slots=True)
class Choice:
    """What Gloo will use; `text` follows `Gloo on node0 uses `."""

    usable: bool
    address: str
    text: str
    interface: str = ""  # that it was told to use; "" where it chooses by host name
    source: str = ""


def told_to_use(info: NodeInfo, plan: Plan) -> str:
    """The interface by the plan, else by the node's own environment; "" where neither names one."""
    return plan.job.environment.get(VARIABLE) or plan.fabric.interface or info.environment.get(VARIABLE, "")


def choice(info: NodeInfo, plan: Plan, identities: Identities | None) -> Choice:
    """What Gloo will do there, and whether peers can dial it: where all nodes share one loopback, that is right."""
    name = told_to_use(info, plan)
    is_shared = (identities is not None and identities.fabric == "loopback") or _is_loopback_only(info)
    return _by_name(info, name, is_shared) if name else _by_host_name(info, is_shared)


def _by_name(info: NodeInfo, name: str, is_shared: bool) -> Choice:
    # torch takes a list, one device for each name
    for part in name.split(","):
        interface = info.interface(part)
        have = ", ".join(dict.fromkeys(i.name for i in info.interfaces)) or "none"
        if interface is None or not interface.address:
            what = "which is not there" if interface is None else "which has no address"
            return Choice(False, "", f"{part} ({VARIABLE}), {what}: it has {have}", name, VARIABLE)
        if not interface.up:
            return Choice(False, interface.address, f"{part} ({VARIABLE}), which is down", name, VARIABLE)
        if _is_loopback(interface.address) and not is_shared:
            text = f"{part} ({VARIABLE}), the loopback: peers dial themselves"
            return Choice(False, interface.address, text, name, VARIABLE)
    first = info.interface(name.split(",")[0])
    address = first.address if first else ""
    return Choice(True, address, f"{name} with {address} ({VARIABLE})", name, VARIABLE)


def _by_host_name(info: NodeInfo, is_shared: bool) -> Choice:
    source = "the address of its own host name"
    if not info.own_addresses:
        reason = info.own_name_error or "no address"
        text = f"the loopback, since its own host name {info.hostname} does not resolve ({reason})"
        return Choice(is_shared, "", text, "", source)
    address = info.own_addresses[0]
    if _is_loopback(address) and not is_shared:
        text = f"{address}, the loopback, since its own host name {info.hostname} resolves to it"
        return Choice(False, address, text, "", source)
    return Choice(True, address, f"{address}, the address of its own host name {info.hostname}", "", source)


def _is_loopback(address: str) -> bool:
    return address.startswith("127.") or address == "::1"


def _is_loopback_only(info: NodeInfo) -> bool:
    """A machine whose nodes are all on loopback addresses: dialling oneself is then right."""
    return all(_is_loopback(i.address) or not i.address or not i.up for i in info.interfaces)
