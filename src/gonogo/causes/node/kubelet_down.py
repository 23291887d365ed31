"""A node stopped answering.

## What is wrong
The control plane hears nothing from the kubelet: the node is down, out of memory, cut off, or its runtime hangs.

## Fix
The instance's console output and system log; replace the node.

## Source
https://kubernetes.io/docs/concepts/architecture/nodes/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects
from gonogo.facts.unschedulable import unschedulable
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair, Subject


@cause("node.kubelet_down", refines=("job.rank_died",), also=True)
def kubelet_down(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a node stopped answering and did not come back before the job suffered."""
    seen = events.of("node.not_ready")
    stopped = events.of("kubelet.stopped")
    gone = [
        (n, i)
        for n in objects.of("Node")
        for i, c in enumerate(n.items("status.conditions"))
        if c.get("type") == "Ready" and c.get("status") in ("Unknown", "False")
    ]
    unable = events.of("kubelet.command_failed")
    if unable and stopped and not events.of("kubelet.registered", "node.ready"):
        yield diagnosis(
            "node.kubelet_down",
            f"The kubelet does not start: {unable.first.get('error')[:140]}",
            unable,
            stopped,
            repair=Repair.REPLACE_NODE,
            commands=("journalctl -u kubelet -n 50  # on the node",),
        )
    slurm = events.of("slurm.node_failed")
    if slurm:
        names = [v for name in ("node", "failed", "listed") for v in slurm.values(name)]
        yield diagnosis(
            "node.kubelet_down",
            f"{', '.join(dict.fromkeys(names)) or 'A node'} stopped answering Slurm's controller.",
            slurm,
            repair=Repair.REPLACE_NODE,
            subjects=[Subject("node", n) for n in dict.fromkeys(names)],
            commands=("scontrol show node <node>", "aws ec2 get-console-output --instance-id <instance> --latest"),
        )
    rows = [n for n in objects.of("Node") if n.is_table and str(n.get("status.ready", "")).startswith("NotReady")]
    suffered = Events((*waiting(events), *events.of("nccl.peer_gone", "gloo.peer_gone", "horovod.shut_down")))
    stuck = events.of("node.not_ready").where(hours=re.compile(r"\d"))
    shown = seen.where(state=re.compile("Ready|message"))
    alone = any(u.nodes == u.count("node.kubernetes.io/unreachable") for u in unschedulable(events) if u.nodes)
    if (gone or rows) or (seen and (suffered or stopped or stuck or shown or alone) and not objects.of("Node")):
        used = {str(p.get("spec.nodeName")) for p in objects.of("Pod") if p.get("spec.nodeName")}
        elsewhere = bool(used) and not suffered and not used & {n.name for n in (*(n for n, _ in gone), *rows)}
        sure = (seen or stopped or (rows and suffered)) and not elsewhere
        subjects = [n.subject for n, _ in gone] + [n.subject for n in rows]
        yield diagnosis(
            "node.kubelet_down",
            f"{', '.join(s.name for s in subjects) or 'A node'} stopped answering."
            if not stuck
            else f"{_named(stuck)} has not looked after its containers for {stuck.first.get('hours')} h.",
            seen,
            [n.cite(("status", "conditions", i, "status")) for n, i in gone],
            [n.cite() for n in rows],
            stopped,
            suffered,
            repair=Repair.REPLACE_NODE,
            subjects=subjects,
            certainty=None if sure or (not elsewhere and any(_silent(n, i) for n, i in gone)) else Certainty.HYPOTHESIS,
            next_observation="Why it is not ready: kubectl describe node (Conditions), journalctl -u kubelet on it.",
            commands=("kubectl describe node <node>", "aws ec2 get-console-output --instance-id <instance> --latest"),
        )


def _named(stuck: Events) -> str:
    host = next((e.who.host for e in stuck if e.who.host), "")
    return f"The kubelet of {host}" if host else "A kubelet"


def _silent(node: Object, condition: int) -> bool:
    """Whether the control plane heard nothing from it; a kubelet that says that it is not ready says why."""
    return str(node.get(("status", "conditions", condition, "status"))) == "Unknown"
