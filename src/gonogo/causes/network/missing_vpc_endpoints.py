"""Private nodes can't reach an AWS API or registry: no endpoint and no way out.

## What is wrong
Subnets without a route to the internet need a VPC endpoint for every AWS API that nodes and pods use: ecr.api,
ecr.dkr, s3, sts, ec2, logs and more. Without it connections time out.

## What settles it
`describe-vpc-endpoints`: the service that timed out isn't in the list, and the subnet's routes have no NAT.

## Fix
Create the interface endpoint (and the gateway endpoint for S3), with a security group that admits 443 from the nodes.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

SERVICES = {
    "dkr.ecr": "ecr.dkr",
    "api.ecr": "ecr.api",
    "s3": "s3",
    "sts": "sts",
    "ec2": "ec2",
    "eks": "eks",
    "fsx": "fsx",
}


@cause("network.missing_vpc_endpoints", refines=("network.route_missing",), also=True)
def missing_vpc_endpoints(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where the endpoints are listed, the service that timed out is not among them, and there is no way out."""
    silent = events.of("image.registry_unreachable", "aws.api_unreachable")
    hosts = [
        h for e in silent for h in (e.get("registry"), e.get("host"), e.get("api"), *_names(e.text)) if "amazonaws" in h
    ]
    listed = objects.of("VpcEndpoints") or [o for o in objects.of("answer") if "VpcEndpoints" in o.data]
    lines = events.of("aws.vpc_endpoint")
    if not hosts or not (listed or lines):
        return
    wanted = next((name for h in hosts for part, name in SERVICES.items() if f"{part}." in h or f".{part}." in h), "")
    have = {str(o.get("ServiceName", "")) for o in objects.of("VpcEndpoints")}
    have |= {name for e in lines for name in re.findall(r"com\.amazonaws\.([\w.-]+)", e.text)}
    routes = [o for o in objects.of("RouteTables") if _way_out(o)]
    if not wanted or any(s.endswith(f".{wanted}") for s in have) or routes:
        return
    region = next((m[1] for h in hosts if (m := re.search(r"\.([a-z]{2}-[a-z]+-\d)\.", h))), "REGION")
    yield diagnosis(
        "network.missing_vpc_endpoints",
        f"{hosts[0]} times out, and the VPC has no endpoint for {wanted}.",
        silent,
        [o.cite("ServiceName" if o.kind == "VpcEndpoints" else ()) for o in listed],
        lines,
        [o.cite("Routes") for o in objects.of("RouteTables")],
        repair=Repair.CHANGE_NETWORK_CONFIG,
        commands=(
            f"aws ec2 create-vpc-endpoint --vpc-id <vpc> --service-name com.amazonaws.{region}.{wanted} "
            "--vpc-endpoint-type Interface --subnet-ids <subnet> --security-group-ids <security-group>",
        ),
    )


def _names(text: str) -> list[str]:
    return re.findall(r"[\w.-]+\.amazonaws\.com", text)


def _way_out(table: Object) -> bool:
    return any(
        r.get("DestinationCidrBlock") == "0.0.0.0/0" and r.get("State", "active") == "active"
        for r in table.items("Routes")
    )
