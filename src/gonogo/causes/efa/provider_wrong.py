"""libfabric uses another provider than efa.

## What is wrong
FI_PROVIDER (or a missing device) makes libfabric choose tcp or sockets. Everything works, slowly.

## Fix
Unset FI_PROVIDER: the plugin picks efa by itself.

## Source
https://github.com/aws/aws-ofi-nccl
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.nodes import count_of, named_types_with_efa
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects, pod_specs, requests
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("efa.provider_wrong", refines=("efa.ofi_nccl_plugin_not_loaded",), also=True)
def provider_wrong(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a provider other than efa was chosen and nodes or pods have EFA."""
    other = re.compile("^(?:tcp|sockets|udp|verbs|shm|net)")
    chosen = events.of("ofi.provider").where(provider=other)
    asked = events.of("env.fi_provider").where(value=other)
    specs = [(o, s) for o, s in pod_specs(objects) if requests(o, s, "vpc.amazonaws.com/efa")]
    nodes = [n for n in objects.of("Node") if count_of(n, "vpc.amazonaws.com/efa")]
    if (chosen or (asked and events.of("ofi.no_provider", "ofi.version"))) and (
        specs or nodes or named_types_with_efa(events) or events.of("host.efa_device")
    ):
        name = next(iter((*chosen.values("provider"), *asked.values("value"))))
        yield diagnosis(
            "efa.provider_wrong",
            f"libfabric uses {name} and not efa{', as FI_PROVIDER says' if asked else ''}.",
            chosen,
            asked,
            named_types_with_efa(events) or events.of("host.efa_device"),
            [o.cite((*s, "containers", 0, "resources", "limits", "vpc.amazonaws.com/efa")) for o, s in specs],
            repair=Repair.CHANGE_JOB,
            subjects=[o.subject for o, _ in specs],
            commands=("unset FI_PROVIDER  # or FI_PROVIDER=efa",),
        )
