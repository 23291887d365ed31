"""No route between the subnets, or none out.

## What is wrong
A route table has no entry for where packets should go, or its entry leads to a gateway that was deleted (state
blackhole). Connections time out.

## Fix
Point the route at a gateway that exists.

## Source
https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Route_Tables.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.network.symptoms import asked_addresses, dropped
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects
from gonogo.facts.rules import within
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair, Subject


@cause("network.route_missing", also=True)
def route_missing(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a blackhole route, or a table with no default route, beside connections that time out."""
    silent = Events(
        (
            *events.of(
                "image.registry_unreachable", "aws.api_unreachable", "kubelet.not_joined", "net.connect_timed_out"
            ),
            *dropped(events),
        )
    )
    if told := events.of("aws.path_explained").where(code=re.compile("ROUTE")):
        yield diagnosis(
            "network.route_missing",
            "Reachability Analyzer finds no route on the path.",
            told,
            silent,
            repair=Repair.CHANGE_NETWORK_CONFIG,
            commands=("aws ec2 describe-route-tables --query 'RouteTables[].Routes'",),
        )
        return
    if not silent:
        return
    if found := _outside_of_all(objects, silent) or _one_way(objects, silent):
        yield found
        return
    if holes := events.of("aws.route_blackhole"):
        to = holes.first.get("to") or holes.first.get("network")
        yield diagnosis(
            "network.route_missing",
            f"The route to {to} leads nowhere: its target is gone.",
            silent,
            holes,
            repair=Repair.CHANGE_NETWORK_CONFIG,
            commands=("aws ec2 describe-route-tables --query 'RouteTables[].Routes'; ip route",),
        )
        return
    for table in objects.of("RouteTables"):
        for i, route in enumerate(table.items("Routes")):
            if route.get("State") == "blackhole":
                to = route.get("DestinationCidrBlock", "?")
                gone = next(
                    (
                        str(route[k])
                        for k in ("NatGatewayId", "VpcPeeringConnectionId", "GatewayId", "TransitGatewayId")
                        if k in route
                    ),
                    "its target",
                )
                id = str(table.get("RouteTableId", "RTB"))
                yield diagnosis(
                    "network.route_missing",
                    f"The route to {to} in {id} leads nowhere: {gone} is gone.",
                    silent,
                    [table.cite(("Routes", i, "State")), table.cite(("Routes", i))],
                    repair=Repair.CHANGE_NETWORK_CONFIG,
                    subjects=(Subject("aws", id),),
                    commands=(
                        f"aws ec2 replace-route --route-table-id {id} --destination-cidr-block {to} "
                        f"--nat-gateway-id <nat-gateway>",
                    ),
                )
                return
        external = events.of(
            "image.registry_unreachable", "aws.api_unreachable", "kubelet.not_joined", "net.connect_timed_out"
        )
        closed = any("DestinationPrefixListId" in r for r in table.items("Routes")) and all(
            ".amazonaws.com" in e.text or "endpoint_url=" in e.text or e.signature == "aws.api_unreachable"
            for e in external
        )
        if (
            external
            and table.items("Routes")
            and not any(r.get("DestinationCidrBlock") == "0.0.0.0/0" for r in table.items("Routes"))
        ):
            yield diagnosis(
                "network.route_missing",
                f"{table.get('RouteTableId', 'The route table')} has no default route, and what is outside times out.",
                silent,
                [table.cite("Routes")],
                repair=Repair.CHANGE_NETWORK_CONFIG,
                certainty=Certainty.HYPOTHESIS if closed else None,
                next_observation="Which endpoints the VPC has, and whether it is meant to have no way out: "
                "aws ec2 describe-vpc-endpoints."
                if closed
                else "",
                commands=(
                    f"aws ec2 create-route --route-table-id {table.get('RouteTableId', '<route-table>')} "
                    "--destination-cidr-block 0.0.0.0/0 --nat-gateway-id <nat-gateway>",
                ),
            )
            return


def _outside_of_all(objects: Objects, silent: Events) -> Diagnosis | None:
    """A private address that no route of the tables that are known leads to."""
    tables = [t for t in objects.of("RouteTables") if t.items("Routes")]
    targets = [
        str(to)
        for t in tables
        for r in t.items("Routes")
        if r.get("State", "active") == "active"
        and (to := r.get("DestinationCidrBlock") or r.get("DestinationPrefixListId"))
    ]
    lost = [a for a in asked_addresses(silent) if tables and not any(_takes_in(to, a) for to in targets)]
    if not lost:
        return None
    id = str(tables[0].get("RouteTableId", "RTB"))
    return diagnosis(
        "network.route_missing",
        f"{id} has no route to {lost[0]}: it knows {', '.join(targets)}.",
        silent,
        [tables[0].cite("Routes"), tables[0].cite(("Routes", 0, "DestinationCidrBlock"))],
        repair=Repair.CHANGE_NETWORK_CONFIG,
        subjects=(Subject("aws", id),),
        commands=(
            f"aws ec2 create-route --route-table-id {id} --destination-cidr-block {lost[0]}/16 "
            "--transit-gateway-id <gateway>",
        ),
    )


def _one_way(objects: Objects, silent: Events) -> Diagnosis | None:
    """Two networks, one of which has the address that was asked, and a table of one without a route to the other."""
    local = {
        t: [str(r.get("DestinationCidrBlock")) for r in t.items("Routes") if r.get("GatewayId") == "local"]
        for t in objects.of("RouteTables")
    }
    for there, theirs in local.items():
        asked = [a for a in asked_addresses(silent) if any(within(a, cidr) for cidr in theirs)]
        for here, own in local.items() if asked else ():
            if set(own) & set(theirs):
                continue
            for table, wanted in ((here, theirs), (there, own)):
                if wanted and not any(_leads(r, wanted[0]) for r in table.items("Routes")):
                    return _lacks(table, wanted[0], silent)
    return None


def _leads(route: dict[str, object], network: str) -> bool:
    to = str(route.get("DestinationCidrBlock") or route.get("DestinationPrefixListId") or "")
    way_out = any(k in route for k in ("NatGatewayId", "InstanceId")) or str(route.get("GatewayId", "")).startswith(
        "igw-"
    )
    return route.get("State", "active") == "active" and not way_out and (_takes_in(to, network) or within(to, network))


def _lacks(table: Object, network: str, silent: Events) -> Diagnosis:
    id = str(table.get("RouteTableId", "RTB"))
    return diagnosis(
        "network.route_missing",
        f"{id} has no route to {network}, the network of the other ranks: what is sent there, or back, is lost.",
        silent,
        [table.cite("RouteTableId"), table.cite(("Routes", 0, "DestinationCidrBlock"))],
        repair=Repair.CHANGE_NETWORK_CONFIG,
        subjects=(Subject("aws", id),),
        commands=(
            f"aws ec2 create-route --route-table-id {id} --destination-cidr-block {network} "
            "--vpc-peering-connection-id <peering>",
        ),
    )


def _takes_in(target: str, address: str) -> bool:
    return target.startswith("pl-") or within(address, target)
