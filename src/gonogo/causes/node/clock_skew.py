"""A node's clock is off.

## What is wrong
Training does not notice. Requests to AWS that are signed by that clock are refused from five minutes on, certificates
seem to be expired or not yet valid, and checkpoints chosen by their time are the wrong ones.

## Fix
`chronyc makestep` sets it at once; chrony with 169.254.169.123 keeps it right on AWS. Then start the pods anew.

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/set-time.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import MOST, on
from gonogo.causes.consequences import bad
from gonogo.facts.clocks import Clock, Clocks
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Evidence, Repair, Subject


@cause("node.clock_skew")
def clock_skew(findings: Findings, clocks: Clocks) -> Iterator[Diagnosis]:
    """One diagnosis for each node that is off against most others; one for both of a pair, which of them is open."""
    off = {f.subject: clocks.present[f.subject] for f in findings.of("NOD005") if f.key in bad(findings, "NOD005")
           and f.subject in clocks.present}  # fmt: skip
    if len(clocks) == 2 and len(off) == 2:
        yield _diagnosis(dict(off), findings)
        return
    for subject, clock in off.items():
        yield _diagnosis({subject: clock}, findings)


def _diagnosis(off: dict[Subject, Clock], findings: Findings) -> Diagnosis:
    subject, clock = next(iter(off.items()))
    typical = clock.typical
    way = "ahead of" if typical.seconds > 0 else "behind"
    whose = "the other's" if len(off) > 1 else f"those of {len(clock.by_peer)} other nodes"
    return Diagnosis(
        cause="node.clock_skew",
        certainty=Certainty.ESTABLISHED,
        summary=f"The clock of {subject.name} is {abs(typical.seconds):.1f} s {way} {whose}, give or take "
        f"{typical.error_seconds:.3f} s.",
        subjects=tuple(off),
        evidence=tuple(_evidence(clock)),
        explains=bad(findings, "NOD005", about=set(off)),
        repair=Repair.RESTART_PROCESS,
        commands=tuple(on(s.name, "chronyc tracking; chronyc makestep") for s in off),
        next_observation=f"Whether its time service runs: `chronyc sources` on {subject.name}.",
    )


def _evidence(clock: Clock) -> Iterator[Evidence]:
    for peer, offset in list(clock.by_peer.items())[:MOST]:
        yield offset.probe.record.evidence(f"against {peer}: {offset.seconds:+.3f} s, ± {offset.error_seconds:.3f} s")
