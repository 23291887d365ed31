"""What checks of limits share: one finding a node, on what is left against what the job needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gonogo.facts.nodes import NodeInfo, Nodes, Quota, Room
from gonogo.model import Finding, Status


def judge(
    nodes: Nodes, quota: Callable[[Room], Quota], need: Callable[[NodeInfo], int], what: str, why: str
) -> Iterator[Finding]:
    """Fails where less is free than needed; `what` and `why` are words such as `open files`, `probes of 3 nodes`."""
    for subject, info in nodes.present.items():
        found, wanted = quota(info.room), need(info)
        used = f", {found.used} in use" if found.used is not None else ""
        evidence = (info.record.evidence(f"{info.name}: {found.limit or 'no limit of'} {what}{used}"),)
        if not found.is_told:
            yield Finding(Status.UNKNOWN, subject, f"{info.name} did not tell its limit of {what}.", evidence=evidence)
        elif found.free is None:
            yield Finding(
                Status.OK, subject, f"{info.name} has no limit of {what}.", expected=wanted, evidence=evidence
            )
        else:
            yield Finding(
                Status.OK if found.free >= wanted else Status.FAIL,
                subject,
                f"{info.name} has {found.free} of {found.limit} {what} left, {wanted} needed for {why}.",
                measured=found.free,
                expected=wanted,
                unit=what,
                threshold_source=why,
                evidence=evidence,
            )
