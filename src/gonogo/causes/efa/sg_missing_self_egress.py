"""The security group has no outbound (or inbound) rule to itself by id, which EFA needs.

## What is wrong
EFA's own traffic is not matched by CIDR rules: a group must admit all traffic from itself and to itself by its id. An
outbound rule for 0.0.0.0/0 is not enough. TCP works, EFA gets no answer.

## Fix
Both rules, all traffic, naming the group itself.

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.network.symptoms import carried_before, waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.rules import Group, security_groups
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair, Subject


@cause("efa.sg_missing_self_egress", also=True)
def sg_missing_self_egress(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where EFA carries the bytes, they get no answer, and a nodes' group does not name itself both ways."""
    unanswered = events.of("efa.unresponsive_receiver")
    stuck = Events((*waiting(events), *events.of("nccl.peer_gone", "ofi.request_failed")))
    on_efa = events.of("ofi.provider").where(provider=re.compile("^efa"))
    if not unanswered and not (on_efa and stuck and not carried_before(events)):
        return
    groups = [g for g in security_groups(objects) if g.rules and (g.is_of_nodes or unanswered) and not _is_whole(g)]
    for egress in (True, False):
        lacking = [g for g in groups if g.names_itself(egress=True) != egress]
        if not lacking:
            continue
        rules = [r for g in lacking for r in (g.egress if egress else g.ingress)]
        names, way = ", ".join(g.id for g in lacking), "outbound" if egress else "inbound"
        group, itself = ("group", "itself") if len(lacking) == 1 else ("groups", "the group itself")
        yield diagnosis(
            "efa.sg_missing_self_egress",
            f"Security {group} {names}: no {way} rule for all traffic names {itself}; EFA needs one both ways.",
            unanswered,
            [r.evidence for r in rules],
            [r.told.cite((*r.path, "IpRanges")) for r in rules if r.cidr],
            on_efa,
            stuck,
            repair=Repair.CHANGE_NETWORK_RULE,
            subjects=[Subject("aws", g.id) for g in lacking],
            commands=[
                f"aws ec2 authorize-security-group-{'egress' if egress else 'ingress'} --group-id {g.id} "
                f"--ip-permissions 'IpProtocol=-1,UserIdGroupPairs=[{{GroupId={g.id}}}]'"
                for g in lacking
            ],
        )


def _is_whole(group: Group) -> bool:
    return group.names_itself(egress=True) and group.names_itself(egress=False)
