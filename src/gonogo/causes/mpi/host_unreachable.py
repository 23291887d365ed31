"""mpirun can't reach a host.

## What is wrong
ssh to a worker fails: its name does not resolve, nothing listens on port 22, or packets are dropped.

## Fix
Wait for the workers (sshd up, name resolvable) before mpirun; the rules between the nodes.

## Source
https://www.open-mpi.org/faq/?category=rsh
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair


@cause("mpi.host_unreachable", also=True)
def host_unreachable(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on ssh's word, which names the host."""
    seen = events.of("ssh.unreachable")
    if seen:
        first = seen.first
        yield diagnosis(
            "mpi.host_unreachable",
            f"mpirun can't reach {first.get('host') or first.get('name') or 'a host'}: "
            f"{first.get('error') or 'its name does not resolve'}.",
            seen,
            events.of("mpi.daemon_failed"),
            [
                p.cite("status.phase")
                for p in objects.of("Pod")
                if "worker" in p.name and p.get("status.phase") != "Running"
            ],
            repair=Repair.INSPECT,
            certainty=None if first.get("error") or objects.of("Pod") else Certainty.HYPOTHESIS,
            next_observation="Whether the workers' pods are there: kubectl get pods,jobs -o wide; kubectl get events.",
            commands=(f"nc -vz {first.get('host') or first.get('name') or '<host>'} 22  # from the launcher",),
        )
    elif lost := events.of("mpi.no_tcp"):
        peers = events.of("mpi.peer_host")
        host = next((h for h in (*lost.values("host"), *peers.values("host")) if h), "a host")
        yield diagnosis(
            "mpi.host_unreachable",
            f"Processes of Open MPI can't connect to {host}.",
            lost,
            peers,
            events.of("mpi.daemon_failed"),
            repair=Repair.INSPECT,
            commands=("iptables -S; ip -br addr  # on both hosts: what drops, and which interfaces they share",),
            next_observation="Whether it works with one interface named: mpirun --mca btl_tcp_if_include <network>.",
        )
