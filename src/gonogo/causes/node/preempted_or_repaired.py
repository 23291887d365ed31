"""The node was taken away: spot interruption, maintenance or repair.

## What is wrong
AWS, or node repair, ended the instance under the job.

## Fix
Capacity that isn't taken back (on demand, a reservation), and checkpoints often enough.

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.signatures import Role
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("node.preempted_or_repaired", refines=("node.kubelet_down", "job.rank_died"), also=True)
def preempted_or_repaired(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a notice of interruption, maintenance or repair beside a job that suffered, or on a scheduled event."""
    seen = events.of("node.interruption")
    scheduled = [
        (s, i)
        for s in (*objects.of("InstanceStatuses"),)
        for i, e in enumerate(s.items("Events"))
        if "Completed" not in str(e.get("Description", ""))
    ]
    suffered = Events(
        (*events.role(Role.INITIATING, Role.CASCADE).outside(seen), *events.of("node.drained").outside(seen))
    )
    if (seen or scheduled) and (suffered or len(seen.files) > 1 or scheduled):
        why = seen.first.get("error") if seen else scheduled[0][0].get(("Events", scheduled[0][1], "Code"))
        yield diagnosis(
            "node.preempted_or_repaired",
            f"{_node(seen) or 'The node'} was taken away ({why}).",
            seen,
            [s.cite(("Events", i, "Code")) for s, i in scheduled],
            events.of("node.not_ready"),
            waiting(events),
            repair=Repair.REPLACE_NODE,
            commands=("aws ec2 describe-instance-status --include-all-instances --query 'InstanceStatuses[].Events'",),
        )


def _node(seen: Events) -> str:
    """The node that a notice names, where all name one."""
    named = re.compile(r"\bnode[/\s:=\"]+((?:ip|i)-[0-9a-f-]+(?:\.[\w.-]+)?)", re.IGNORECASE)
    names = {m[1] for e in seen for m in named.finditer(e.text)}
    return f"Node {names.pop()}" if len(names) == 1 else ""
