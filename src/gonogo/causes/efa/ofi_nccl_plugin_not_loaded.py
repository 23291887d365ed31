"""The OFI plugin is absent or fails to load, so NCCL uses sockets.

## What is wrong
The pods have EFA devices. NCCL reaches them only through libnccl-net.so of aws-ofi-nccl; if the image lacks it, or the
library path does not lead to it, or a library that it needs is missing, NCCL silently uses sockets.

## Fix
The plugin's directory in LD_LIBRARY_PATH (or NCCL_NET_PLUGIN), in an image that has it: an AWS Deep Learning
Container does.

## Source
https://github.com/aws/aws-ofi-nccl
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects, Path, pod_specs, requests
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Evidence, Repair

EFA = "vpc.amazonaws.com/efa"
ONE_NODE = 8
"""Ranks, which most types have GPUs for on one node."""


@cause("efa.ofi_nccl_plugin_not_loaded", also=True)
def ofi_nccl_plugin_not_loaded(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where EFA was requested, by the pods or by libfabric's own variable, and NCCL has no plugin."""
    sockets = Events(
        (
            *events.of("nccl.network").where(network=re.compile("^Socket")),
            *events.of("nccl.via").where(network="Socket"),
        )
    )
    absent = Events(
        tuple(e for e in events.of("nccl.plugin_absent") if "libnccl-net" in e.text or "ncclNetPlugin" in e.text)
    )
    broken = events.of("nccl.plugin_load_failed")
    specs = [(o, s) for o, s in pod_specs(objects) if requests(o, s, EFA)]
    loaded = events.of("ofi.version").writers
    sockets = Events(tuple(e for e in sockets if e.writer not in loaded))
    wanted = Events() if list(pod_specs(objects)) else events.of("env.fi_provider").where(value="efa")
    if not specs and not wanted and not list(pod_specs(objects)):
        wanted = _devices(events, sockets)
    bare = events.of("nccl.verbs_absent") if wanted and absent and not loaded else Events()
    if not (absent or broken) or not (sockets or bare):
        return
    if not specs and not broken and not wanted:
        return
    library = next(iter(broken.values("library")), "")
    told = f": {library} is missing" if library else " (libnccl-net.so was not found)"
    yield diagnosis(
        "efa.ofi_nccl_plugin_not_loaded",
        f"NCCL could not load the OFI plugin{told}, and uses sockets.",
        broken,
        absent,
        sockets or bare,
        wanted,
        [o.cite((*s, "containers", 0, "resources", "limits", EFA)) for o, s in specs],
        [e for o, s in specs for e in _library_path(o, s)],
        repair=Repair.CHANGE_IMAGE,
        subjects=[o.subject for o, _ in specs],
        commands=(
            "find / -name 'libnccl-net*.so*' -exec ldd {} + 2>/dev/null | grep -e so: -e 'not found'  # in the pod",
        ),
    )


def _library_path(one: Object, spec: Path) -> list[Evidence]:
    found = []
    for i, variable in enumerate(one.items((*spec, "containers", 0, "env"))):
        if variable.get("name") in ("LD_LIBRARY_PATH", "NCCL_NET_PLUGIN"):
            found.append(one.cite((*spec, "containers", 0, "env", i, "value")))
    return found


def _devices(events: Events, sockets: Events) -> Events:
    """The EFA devices that a listing shows, unless all ranks are on one node."""
    sizes = [int(e["nranks"]) for e in events.of("nccl.rank_init")]
    if sizes and max(sizes) <= ONE_NODE and not events.of("nccl.via").where(network="Socket"):
        return Events()
    shown = events.of("host.efa_device")
    return Events(tuple(e for e in shown if not e.get("provider") or e.file not in sockets.files))
