"""The account's vCPU quota for the family of instances is too small.

## What is wrong
On-demand quotas count vCPUs for each family (P instances: L-417A185B). New accounts have 0 for P.

## Fix
Ask for the number of nodes times the type's vCPUs.

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-on-demand-instances.html#ec2-on-demand-instances-limits
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.data.instances import instance_type
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_CODES = {
    "p": "L-417A185B", "g": "L-DB2E81BA", "vt": "L-DB2E81BA", "trn": "L-2C3B7624", "inf": "L-1945791B",
}  # fmt: skip
"""Family -> the quota of running On-Demand instances. https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html"""
_TYPE = re.compile(r"\b(?:p|g|vt|trn|inf)\d\w{0,3}\.(?:\d*xlarge|metal)\b")
_ALL = (
    "aws service-quotas list-service-quotas --service-code ec2 --query "
    "\"Quotas[?contains(QuotaName, 'On-Demand')].[QuotaName,QuotaCode,Value]\" --output table"
)


@cause(
    "quota.vcpu_limit",
    refines=("capacity.insufficient_instance_capacity", "scheduling.insufficient_resources", "node.not_joined"),
    also=True,
)
def vcpu_limit(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on EC2's word; the quota's value and the group's size tell how much is wanted."""
    seen = events.of("quota.vcpu")
    if not seen:
        return
    quotas = [
        q
        for q in (*objects.of("Quota"), *objects.of("Quotas"))
        if str(q.get("ServiceCode", "ec2")) == "ec2" and q.get("Value") is not None
    ]
    code = str(quotas[0].get("QuotaCode")) if quotas else _code(objects, events)
    limit = next(iter(seen.values("limit")), "") or (f"{quotas[0].get('Value'):g}" if quotas else "")
    wanted = max((_wanted(g) for g in objects.of("nodegroup")), default=0)
    yield diagnosis(
        "quota.vcpu_limit",
        f"The vCPU quota{f' ({limit})' if limit else ''} is too small{f' for {wanted} vCPUs' if wanted else ''}.",
        seen,
        [q.cite("Value") for q in quotas],
        repair=Repair.REQUEST_QUOTA,
        commands=(
            *(() if code else (_ALL,)),
            f"aws service-quotas request-service-quota-increase --service-code ec2 --quota-code "
            f"{code or '<quota-code>'} --desired-value {wanted or '<vcpus>'}",
        ),
    )


def _code(objects: Objects, events: Events) -> str:
    """The quota of the family that node groups or lines are of; empty where they name none, or several."""
    types = [str(t) for g in objects.of("nodegroup") for t in g.items("instanceTypes")]
    types += [m[0] for e in events.of("quota.vcpu") for m in _TYPE.finditer(e.text)]
    codes = {code for t in types for family, code in _CODES.items() if re.match(rf"{family}\d", t)}
    return codes.pop() if len(codes) == 1 else ""


def _wanted(group: Object) -> int:
    known = instance_type(str(next(iter(group.items("instanceTypes")), "")))
    return int(group.get("scalingConfig.desiredSize", 0)) * known.vcpus if known else 0
