"""A variable is misspelt, obsolete or harmful.

## What is wrong
Variables that once worked around something are copied from job to job. NCCL_P2P_DISABLE and NCCL_SHM_DISABLE make
GPUs of one node talk over the network.

## Fix
Unset it; NCCL chooses well by itself.

## Source
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects, asked
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_HARMFUL = re.compile(r"^NCCL_(?:P2P_DISABLE|SHM_DISABLE|P2P_LEVEL|IB_DISABLE|NET_DISABLE\w*)$")


@cause("nccl.env_variable_wrong", also=True)
def env_variable_wrong(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where transports within a node are switched off and channels run over the network, on GPUs with NVLink."""
    if wrong := _other_network(events, objects):
        yield wrong
        return
    seen = events.of("nccl.environment").where(name=_HARMFUL)
    off = Events(
        tuple(e for e in seen if e.get("value").rstrip(".") in ("1", "LOC", "0") and "IB_" not in e.get("name"))
    )
    via = events.of("nccl.via")
    shared = events.of("nccl.via_shm") if any("P2P" in n for n in off.values("name")) else Events()
    linked = events.of("host.nvlink_topology")
    if off and ((via and (linked or len(off.values("name")) > 1)) or (shared and linked)):
        names = ", ".join(off.values("name"))
        instead = via.first.get("network") if via else "the host's memory"
        yield diagnosis(
            "nccl.env_variable_wrong",
            f"{names} keeps NCCL from NVLink and shared memory: it uses {instead} inside the node.",
            off,
            via,
            shared,
            linked,
            repair=Repair.CHANGE_JOB,
            commands=(f"unset {' '.join(off.values('name'))}",),
        )


EFA = "vpc.amazonaws.com/efa"


def _other_network(events: Events, objects: Objects) -> Diagnosis | None:
    """Where a variable names a network that isn't there, or sockets although the pods have EFA."""
    told = events.of("nccl.environment").where(name=re.compile("^NCCL_(?:NET(?:_PLUGIN)?|ALGO|PROTO)$"))
    absent = events.of("nccl.network_unknown")
    plain = told.where(name=re.compile("NET"), value=re.compile("(?i)^(?:socket|none)"))
    sockets = events.of("nccl.network").where(network=re.compile("^Socket"))
    wanted = asked(objects, EFA)
    offered = [n for n in objects.of("Node") if str(n.get(("status", "allocatable", EFA), "0")) not in ("0", "")]
    if not absent and not (plain and sockets and (wanted or offered)):
        return None
    name = plain.first if plain else absent.first
    return diagnosis(
        "nccl.env_variable_wrong",
        f"{name.get('name')}={name.get('value')} keeps NCCL from EFA: it uses sockets."
        if plain and sockets
        else f"NCCL is told to use what it does not have: {absent.first.get('error')[:120]}.",
        plain or told,
        absent,
        sockets,
        [o.cite(path) for o, path in wanted[:2]],
        [n.cite(("status", "allocatable", EFA)) for n in offered[:2]] if not wanted else (),
        repair=Repair.CHANGE_JOB,
        subjects=[o.subject for o, _ in wanted],
        commands=("unset NCCL_NET NCCL_NET_PLUGIN  # in the job's environment",),
    )
