"""What the AWS CLI prints with `--output text` of route tables and security groups, as the answers it was made of."""

from __future__ import annotations

import re
from typing import Any

ROWS = re.compile(r"(?m)^(?:ROUTES|ENTRIES|IPPERMISSIONS(?:EGRESS)?|USERIDGROUPPAIRS)\t")
_CIDR = re.compile(r"^\d+\.\d+\.\d+\.\d+/\d+$")
_TARGETS = {
    "local": "GatewayId", "igw-": "GatewayId", "vgw-": "GatewayId", "vpce-": "GatewayId", "nat-": "NatGatewayId",
    "pcx-": "VpcPeeringConnectionId", "tgw-": "TransitGatewayId", "eni-": "NetworkInterfaceId",
}  # fmt: skip


def answers(text: str) -> dict[str, list[dict[str, Any]]]:
    """RouteTables and SecurityGroups, each with the line of its first row under ""."""
    tables: dict[str, dict[str, Any]] = {}
    groups: list[dict[str, Any]] = []
    acls: list[dict[str, Any]] = []
    id, permission = "", {}
    for number, line in enumerate(text.split("\n")):
        cells = line.split("\t")
        if named := re.search(r"\brtb-\w+", line):
            id = named[0]
        if cells[0] == "ROUTES":
            table = tables.setdefault(id, {"": number, "RouteTableId": id, "Routes": []})
            table["Routes"].append({"": number, **_route(cells[1:])})
        elif cells[0] == "NETWORKACLS":
            name = next((c for c in cells if c.startswith("acl-")), "")
            acls.append({"": number, "NetworkAclId": name, "Entries": []})
        elif cells[0] == "ENTRIES" and acls:
            acls[-1]["Entries"].append({"": number, **_entry(cells[1:])})
        elif cells[0] == "PORTRANGE" and acls and acls[-1]["Entries"] and len(cells) > 2:
            ports = [int(c) for c in cells[1:3] if c.isdigit()]
            acls[-1]["Entries"][-1]["PortRange"] = {"From": min(ports, default=0), "To": max(ports, default=65535)}
        elif cells[0] == "SECURITYGROUPS":
            name = next((c for c in cells if re.fullmatch(r"sg-\w+", c)), "")
            groups.append({"": number, "GroupId": name, "IpPermissions": [], "IpPermissionsEgress": []})
        elif cells[0].startswith("IPPERMISSIONS") and groups:
            permission = {"": number, **_permission(cells[1:]), "UserIdGroupPairs": [], "IpRanges": []}
            groups[-1]["IpPermissionsEgress" if cells[0].endswith("EGRESS") else "IpPermissions"].append(permission)
        elif cells[0] == "USERIDGROUPPAIRS" and permission:
            permission["UserIdGroupPairs"] += [{"GroupId": c} for c in cells if re.fullmatch(r"sg-\w+", c)]
        elif cells[0] == "IPRANGES" and permission:
            permission["IpRanges"] += [{"CidrIp": c} for c in cells if _CIDR.match(c)]
    found = {"RouteTables": list(tables.values()), "SecurityGroups": groups, "NetworkAcls": acls}
    return {key: some for key, some in found.items() if some}


def _route(cells: list[str]) -> dict[str, Any]:
    told: dict[str, Any] = {"State": "blackhole" if "blackhole" in cells else "active"}
    for cell in cells:
        if _CIDR.match(cell):
            told["DestinationCidrBlock"] = cell
        elif cell.startswith("pl-"):
            told["DestinationPrefixListId"] = cell
        elif key := next((k for prefix, k in _TARGETS.items() if cell.startswith(prefix)), ""):
            told[key] = cell
    return told


def _permission(cells: list[str]) -> dict[str, Any]:
    """The CLI puts the keys in the order of the alphabet: from, protocol, to."""
    ports = [int(c) for c in cells if re.fullmatch(r"-?\d+", c) and c != "-1"]
    protocol = next((c for c in cells if c in ("tcp", "udp", "icmp", "-1")), "-1")
    return {"IpProtocol": protocol, **({"FromPort": ports[0], "ToPort": ports[-1]} if ports else {})}


def _entry(cells: list[str]) -> dict[str, Any]:
    """Cells in the order of their keys: network, egress, protocol, action, number."""
    numbers = [c for c in cells if re.fullmatch(r"-?\d+", c)]
    return {
        "CidrBlock": next((c for c in cells if _CIDR.match(c)), ""),
        "Egress": "True" in cells,
        "RuleAction": "deny" if "deny" in cells else "allow",
        "Protocol": numbers[0] if len(numbers) > 1 else "-1",
        "RuleNumber": int(numbers[-1]) if numbers else 0,
    }
