"""A hostPath over /dev/infiniband hides the devices that the plugin injects.

## What is wrong
The device plugin gives the container its own devices; a hostPath mounted over the directory shows the host's instead,
without permission to use them, and libfabric finds no provider.

## Fix
Remove the volume: the request for `vpc.amazonaws.com/efa` is enough.

## Source
https://github.com/aws-samples/aws-do-eks/pull/63
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects, pod_specs, requests
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause(
    "efa.infiniband_hostpath_breaks_enumeration",
    refines=("efa.ofi_nccl_plugin_not_loaded", "efa.not_requested_by_pod"),
    also=True,
)
def infiniband_hostpath_breaks_enumeration(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a pod requests EFA, mounts the host's /dev/infiniband, and libfabric finds nothing."""
    missing = events.of("ofi.no_provider")
    for one, spec in pod_specs(objects):
        for i, volume in enumerate(one.items((*spec, "volumes"))):
            path = str((volume.get("hostPath") or {}).get("path", "")).rstrip("/")
            if missing and path == "/dev/infiniband" and requests(one, spec, "vpc.amazonaws.com/efa"):
                yield diagnosis(
                    "efa.infiniband_hostpath_breaks_enumeration",
                    f"{one.kind} {one.name} mounts the host's /dev/infiniband over the EFA devices that it was given.",
                    missing,
                    [one.cite((*spec, "volumes", i, "hostPath", "path"))],
                    repair=Repair.CHANGE_JOB,
                    subjects=[one.subject],
                )
                return
