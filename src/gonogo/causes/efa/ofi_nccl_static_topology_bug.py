"""The plugin's topology file doesn't fit the instance.

## What is wrong
aws-ofi-nccl ships a topology file for each type. An old one names devices that this instance does not have (or a
container sees only a part of them), and NCCL fails to build its graph.

## Fix
A newer aws-ofi-nccl; until then unset NCCL_TOPO_FILE.

## Source
https://github.com/aws/aws-ofi-nccl/issues
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects, pod_specs
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("efa.ofi_nccl_static_topology_bug", also=True)
def ofi_nccl_static_topology_bug(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on NCCL's word that the file can't be used, where the OFI plugin set it."""
    failed = events.of("ofi.topology", "nccl.graph_failed")
    files = Events((*events.of("nccl.environment").where(name="NCCL_TOPO_FILE"), *events.of("ofi.topology_set")))
    if failed and files:
        parts = [o.cite((*s, "containers", 0, "resources", "limits", "nvidia.com/gpu")) for o, s in pod_specs(objects)]
        yield diagnosis(
            "efa.ofi_nccl_static_topology_bug",
            "NCCL can't use the topology file that aws-ofi-nccl gave it.",
            failed,
            files,
            events.of("ofi.version"),
            parts,
            repair=Repair.CHANGE_IMAGE,
            commands=("unset NCCL_TOPO_FILE  # and upgrade aws-ofi-nccl",),
        )
