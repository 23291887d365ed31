"""Ranks load different versions of NCCL.

## What is wrong
Two images, or a library path that differs, and the ranks' messages have different sizes: init fails or hangs.

## Fix
One image for all ranks.

## Source
https://github.com/NVIDIA/nccl/issues/626
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects, pod_specs
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Evidence, Repair


@cause("software.nccl_version_mismatch", refines=("job.collective_mismatch",), also=True)
def nccl_version_mismatch(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on NCCL's word, or where two versions are in one job that failed; logs that end well are of another."""
    ended = events.of("job.finished").files
    told = Events(tuple(e for e in events.of("nccl.version") if e.file not in ended))
    refused = events.of("nccl.version_refused")
    failed = Events((*events.of("nccl.mismatched_size", "torch.nccl_error", "nccl.peer_gone"), *waiting(events)))
    one_each = {e.get("version"): e for e in told}
    if not refused and (len(one_each) < 2 or not failed or len(told.writers) < 2):
        return
    images = _images(objects)
    is_one_job = bool(refused or images) or _is_one_job(list(one_each.values()), events)
    yield diagnosis(
        "software.nccl_version_mismatch",
        f"Ranks load NCCL {' and '.join(one_each) or 'of different versions'}.",
        refused,
        Events(tuple(one_each.values())),
        failed,
        images,
        repair=Repair.CHANGE_IMAGE,
        commands=("kubectl get pods -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image",),
        certainty=None if is_one_job else Certainty.HYPOTHESIS,
        next_observation="" if is_one_job else "Whether both are of one job: each one's line of ncclCommInitRank.",
    )


def _is_one_job(told: list[Event], events: Events) -> bool:
    """Whether the writers of these versions meet: in one log, as different ranks, or in a communicator of one size."""
    ranks = [e.who.rank for e in told]
    sizes = [{i["nranks"] for i in events.of("nccl.rank_init") if i.file == e.file} for e in told]
    return (
        len({e.file for e in told}) == 1
        or (None not in ranks and len(set(ranks)) == len(ranks))
        or bool(events.of("nccl.mismatched_size") or set.intersection(*sizes))
    )


def _images(objects: Objects) -> list[Evidence]:
    seen: dict[str, Evidence] = {}
    for one, spec in pod_specs(objects):
        for i, container in enumerate(one.items((*spec, "containers"))):
            if (image := str(container.get("image", ""))) and image not in seen:
                seen[image] = one.cite((*spec, "containers", i, "image"))
    return list(seen.values()) if len(seen) > 1 else []
