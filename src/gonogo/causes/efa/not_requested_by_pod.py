"""The pods ask for no EFA devices, so NCCL uses TCP.

## What is wrong
The nodes advertise `vpc.amazonaws.com/efa` and the pods don't request it: no device reaches the container.
Variables such as FI_PROVIDER=efa change nothing. NCCL falls back to sockets, and training is several times slower.

## Fix
`vpc.amazonaws.com/efa: N` in requests and limits, next to `nvidia.com/gpu`.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.nodes import count_of, named_types_with_efa
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects, Path, pod_specs, requests
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair

ACCELERATORS = ("nvidia.com/gpu", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore")
EFA = "vpc.amazonaws.com/efa"
MOST_GPUS = 16
"""More ranks than any one node has GPUs are on several."""


@cause("efa.not_requested_by_pod", refines=("efa.ofi_nccl_plugin_not_loaded",), also=True)
def not_requested_by_pod(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where nodes offer EFA, a pod that asks for GPUs asks for none, and NCCL says sockets; by logs alone, of
    several nodes whose plugin gave up, it is only likely."""
    sockets = Events(
        (
            *events.of("nccl.network").where(network=re.compile("^Socket")),
            *events.of("nccl.via").where(network="Socket"),
        )
    )
    nodes = [n for n in objects.of("Node") if (count_of(n, EFA) or 0) > 0]
    specs = [(o, s) for o, s in pod_specs(objects) if any(requests(o, s, r) for r in ACCELERATORS)]
    without = [(o, s) for o, s in specs if not requests(o, s, EFA) and not _is_alone(o, s, events)]
    named = named_types_with_efa(events)
    shown = Events((*sockets, *events.of("ofi.no_provider")))
    if not specs and not nodes and sockets:
        yield from _likely(events, sockets)
    on_neuron = [o for o, s in without if not requests(o, s, ACCELERATORS[0])]
    gave_up = nodes and on_neuron and events.of("ofi.init_failed", "ofi.no_provider")  # which has no other network
    if not without or not ((sockets and nodes) or gave_up or (shown and named and not objects.of("Node"))):
        return
    one, spec = without[0]
    without_it = "NCCL uses sockets" if sockets else "collectives find no network"
    count = (count_of(nodes[0], EFA) if nodes else 0) or "as many as the type has"
    yield diagnosis(
        "efa.not_requested_by_pod",
        f"The nodes offer {count} EFA devices and {one.kind} {one.name} requests none: {without_it}."
        if nodes
        else f"{one.kind} {one.name} requests no EFA devices on {named.first.get('type')}, and libfabric finds none.",
        events.of("ofi.no_provider"),
        sockets,
        [n.cite(("status", "allocatable", EFA)) for n in nodes[:1]],
        named if not nodes else None,
        [one.cite((*spec, "containers", 0, "resources"))],
        events.of("ofi.init_failed"),
        repair=Repair.CHANGE_JOB,
        subjects=[one.subject],
        commands=(
            "kubectl get nodes -o "
            "custom-columns='NODE:.metadata.name,EFA:.status.allocatable.vpc\\.amazonaws\\.com/efa'",
        ),
        next_observation=f"With {EFA}: {count} in the requests and limits of the pod template, NCCL_DEBUG=INFO says: "
        "Selected provider is efa.",
    )


def _is_alone(one: Object, spec: Path, events: Events) -> bool:
    """Whether one such pod has GPUs for all ranks that there are: nothing goes from node to node."""
    sizes = [int(e["nranks"]) for e in events.of("nccl.rank_init")]
    between = events.of("nccl.via").where(network="Socket")
    return bool(sizes) and not between and max(sizes) <= requests(one, spec, ACCELERATORS[0])


def _likely(events: Events, sockets: Events) -> Iterator[Diagnosis]:
    gave_up = Events(tuple(e for e in events.of("ofi.no_provider", "ofi.init_failed") if e.file in sockets.files))
    ranks = [e for e in events.of("nccl.rank_init") if int(e.get("nranks")) > MOST_GPUS]
    if gave_up and ranks:
        yield diagnosis(
            "efa.not_requested_by_pod",
            f"{ranks[0].get('nranks')} ranks exchange gradients over TCP sockets: the EFA plugin was loaded, found "
            "nothing to use and gave up. On nodes with EFA that is most often a pod that requests none.",
            sockets,
            gave_up,
            repair=Repair.CHANGE_JOB,
            commands=(
                "kubectl get pods,nodes -o yaml > objects.yaml  # then gonogo diagnose with it beside the logs",
                "fi_info -p efa  # in a pod: what libfabric finds there",
            ),
            next_observation=f"Whether the nodes' allocatable has {EFA} and the pods' limits do.",
            certainty=Certainty.HYPOTHESIS,
        )
