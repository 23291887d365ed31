"""Every agent lives until the run is over.

## Why it matters
Training waits for its slowest and dies with its first dead: one node that goes away ends the job for all.

## Usual causes
- the process was killed: out of memory, preemption, a node repair
- the process was stopped or its node hangs
- a fault of gonogo's own agent, which then leaves a traceback

## Fix
Look at what ended it: `dmesg` on the node for the out-of-memory killer, the pod's events on Kubernetes.

## Source
https://man7.org/linux/man-pages/man7/signal.7.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.documents.records import CUT
from gonogo.facts.fields import text
from gonogo.facts.lives import Life, Lives
from gonogo.kernel import check
from gonogo.model import Evidence, Finding, Status, node


@check("NOD002")
def agents_live(lives: Lives) -> Iterator[Finding]:
    """A dead or frozen agent fails; one whose step crashed by our own fault is unknown."""
    for life in lives.agents.values():
        subject = node(life.name)
        evidence = _evidence(life)
        if life.ended.startswith(CUT):
            yield Finding(Status.UNKNOWN, subject, f"{life.name}'s agent: {life.ended}.", evidence=evidence)
        elif life.ended:
            yield Finding(
                Status.FAIL, subject, f"{life.name}'s agent did not live to the end: {life.ended}.", evidence=evidence
            )
        elif life.crashes:
            steps = ", ".join(text(r, "of") for r in life.crashes)
            yield Finding(Status.UNKNOWN, subject, f"{life.name}'s agent crashed in {steps}.", evidence=evidence)
        elif life.last is None:
            yield Finding(Status.UNKNOWN, subject, f"{life.name}'s agent said nothing.")
        else:
            yield Finding(Status.OK, subject, f"{life.name}'s agent lived to the end.", evidence=evidence)


def _evidence(life: Life) -> tuple[Evidence, ...]:
    crashes = (r.evidence(f"{life.name} crashed in {text(r, 'of')}") for r in life.crashes)
    last = [life.last.evidence(f"the last word of {life.name}, in step {life.last_step}")] if life.last else []
    return (*crashes, *last)
