"""Ranks disagree on their number, or two have the same.

## What is wrong
The nodes' RANK and WORLD_SIZE contradict each other. Ranks wait for one that never comes, fail with words about sizes,
or some train on without the others.

## Fix
Let torchrun or the job's controller set them; take out what sets them by hand on the node that differs.

## Source
https://pytorch.org/docs/stable/elastic/run.html#environment-variables
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import MOST, MOST_NODES, on
from gonogo.causes.consequences import bad, stopped
from gonogo.facts.collectives import Collectives
from gonogo.facts.nodes import Nodes
from gonogo.facts.ranks import node_of
from gonogo.facts.whoami import mistaken, odd_variables
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Repair, node


@cause("job.world_size_mismatch")
def world_size_mismatch(findings: Findings, nodes: Nodes, collectives: Collectives | None) -> Iterator[Diagnosis]:
    """At most one diagnosis: the nodes whose variables contradict others', or made ranks take themselves for others."""
    odd = odd_variables(nodes)
    failed = [f for f in findings.failed("JOB004") if f.subject in odd]
    wrong = mistaken(collectives) if collectives else {}
    if not failed and not wrong:
        return
    subjects = tuple(dict.fromkeys([*(f.subject for f in failed), *(node(node_of(rank)) for rank in wrong)]))
    told = failed[0].message if failed else f"{next(iter(wrong.values())).text}."
    who = f"{len(failed)} of {len(nodes)} nodes" if failed else f"{len(wrong)} of {_expected(collectives)} ranks"
    what = "others contradict" if failed else "is not theirs"
    follows = (*bad(findings, "COL001"), *stopped(findings)) if wrong else ()
    yield Diagnosis(
        cause="job.world_size_mismatch",
        certainty=Certainty.ESTABLISHED,
        summary=f"{who} are told a rank or world size that {what}: {told}",
        subjects=subjects,
        evidence=(*(e for f in failed[:MOST] for e in f.evidence), *list(wrong.values())[:MOST]),
        explains=tuple(dict.fromkeys([*(f.key for f in failed), *follows])),
        repair=Repair.CHANGE_JOB,
        commands=tuple(on(s.name, "env | grep -E '^(RANK|WORLD_SIZE|LOCAL_|MASTER_)'") for s in subjects[:MOST_NODES]),
        next_observation="Who sets them: the pod's env, the job's controller, or a script.",
    )


def _expected(collectives: Collectives | None) -> int:
    return len(collectives.group.ranks) if collectives and collectives.group else 0
