"""All nodes have as many CPUs to use.

## Why it matters
Data loading, the launch of GPU kernels and TCP all run on the CPU. A node or pod with a smaller share is late in every
step, and all others wait for it.

## Usual causes
- a CPU limit of one pod (`resources.limits.cpu`), or a quota that another controller set
- an instance of another type or size among the nodes

## Fix
Give all pods the same limit, or none; run on instances of one type.

## Source
https://docs.kernel.org/scheduler/sched-bwc.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gonogo.facts.nodes import Nodes
from gonogo.kernel import check
from gonogo.model import Finding, Status

SHARE = 0.5


@check("NOD006")
def cpus_alike(nodes: Nodes) -> Iterator[Finding]:
    """Fails where a node may use less than half of what most can, warns where it differs at all."""
    told = {s: cpus for s, info in nodes.present.items() if (cpus := info.usable_cpus)}
    usual = Counter(told.values()).most_common(1)[0][0] if told else 0.0
    for subject, info in nodes.present.items():
        cpus = told.get(subject)
        quota = f" ({info.cpu_quota:.3g} by the quota of its control group)" if info.cpu_quota else ""
        evidence = (info.record.evidence(f"{info.name}: {info.cpus} CPUs, quota {info.cpu_quota}"),)
        if cpus is None:
            yield Finding(Status.UNKNOWN, subject, f"{info.name} did not tell its CPUs.", evidence=evidence)
            continue
        status = Status.OK if cpus == usual else Status.FAIL if cpus < SHARE * usual else Status.WARN
        message = f"{info.name} may use {cpus:.3g} CPUs{quota}, most nodes {usual:.3g}."
        yield Finding(status, subject, message, cpus, usual, "CPUs", "most nodes", evidence)
