"""Locked memory is limited.

## What is wrong
RDMA registers memory, which must be locked. With a small RLIMIT_MEMLOCK that fails.

## Fix
`ulimit -l unlimited` for the container runtime (LimitMEMLOCK=infinity in containerd's unit), then new pods.

## Source
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair

_ANY = ("unlimited", "infinity")


@cause("limits.memlock_too_small", also=True)
def memlock_too_small_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where registering memory failed; a limit of `unlimited` contradicts it.

    Where only EFA's own buffers found no memory, it is likely until a limit is seen: huge pages may be what lacks.
    """
    named = events.of("nccl.register_failed")
    failed = Events((*named, *events.of("efa.receive_buffers")))
    limit, asked = events.of("host.memlock_limit"), objects.of("MemlockLimits")
    told = [*limit.values("soft"), *(str(a.get("soft")) for a in asked)]
    if failed and not (told and all(soft in _ANY for soft in told)):
        soft = next((soft for soft in told if soft not in _ANY), "")
        yield diagnosis(
            "limits.memlock_too_small",
            f"Memory for the adapter could not be locked{f': the limit is {soft}' if soft else ''}.",
            failed,
            limit,
            [a.cite("soft") for a in asked],
            repair=Repair.CHANGE_CLUSTER,
            commands=("systemctl show containerd -p LimitMEMLOCK; ulimit -l  # on the node, and in the pod",),
            certainty=None if named or soft else Certainty.HYPOTHESIS,
            next_observation="" if named or soft else "Where the ranks run: ulimit -l, and grep Huge /proc/meminfo.",
        )
