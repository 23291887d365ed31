"""A node's interface went down while the job ran.

## What is wrong
The node connected before, and now its own kernel says that the network is unreachable: the interface was set down, or
lost its address. Its peers get no answer; all ranks wait until their timeout, and none of their messages names it.

## Fix
`ip link show` and the kernel's log on that node say when and why; NetworkManager, a driver's reset and a DHCP lease
that ended are the usual ones.

## Source
https://man7.org/linux/man-pages/man8/ip-link.8.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import on
from gonogo.causes.consequences import stopped, waiting
from gonogo.facts.collectives import Collectives
from gonogo.facts.endings import runs_of
from gonogo.facts.ports import Ports, Probe
from gonogo.facts.train import TrainRun
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Repair, node

_NO_NETWORK = (99, 100, 101)  # EADDRNOTAVAIL, ENETDOWN, ENETUNREACH


@cause("network.interface_down", refines=("job.rank_stalled",))
def interface_down(
    findings: Findings, ports: Ports, collectives: Collectives | None, train: TrainRun | None
) -> Iterator[Diagnosis]:
    """One diagnosis for each node that reached a peer before, and then had no network to any of them."""
    for name in ports.names:
        before = [p for p in ports.present[node(name)].probes if p.connected] if node(name) in ports.present else []
        for step, run in runs_of(collectives, train):
            after = [p for p in run.after.probes if p.source == name and p.target != name]
            if before and after and all(p.errno in _NO_NETWORK for p in after):
                towards = [p for p in run.after.probes if p.target == name and p.source != name and not p.connected]
                yield _diagnosis(name, step, before, after, towards, findings)
                break


def _diagnosis(
    name: str, step: str, before: list[Probe], after: list[Probe], towards: list[Probe], findings: Findings
) -> Diagnosis:
    return Diagnosis(
        cause="network.interface_down",
        certainty=Certainty.ESTABLISHED,
        summary=f"{name} lost its network in {step}: it connected to {before[0].target} before, and now its kernel "
        f"knows no way to any peer (errno {after[0].errno}).",
        subjects=(node(name),),
        evidence=(before[0].evidence, *(p.evidence for p in (*after[:2], *towards[:2]))),
        explains=tuple(dict.fromkeys((*stopped(findings, {name}), *waiting(findings, {name})))),
        repair=Repair.CHANGE_NETWORK_CONFIG,
        commands=(on(name, "ip -br link; ip -br addr; ip route"), on(name, "dmesg -T | grep -iE 'link|eth|ens'")),
        next_observation=f"When the link went: the kernel's log and the network service's on {name}.",
    )
