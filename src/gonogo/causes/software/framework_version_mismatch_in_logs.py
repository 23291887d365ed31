"""Nodes run different framework or image versions.

## What is wrong
Ranks of one job run different images. They may agree on nothing: store protocol, collectives, pickles.

## Fix
One image, by digest, for all ranks.

## Source
https://kubernetes.io/docs/concepts/containers/images/#image-names
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.causes.scopes import job_of
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects, pod_specs
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Evidence, Repair

_IMAGES = "kubectl get pods -o custom-columns=NAME:.metadata.name,IMAGE:.status.containerStatuses[*].imageID"


@cause("software.framework_version_mismatch", also=True)
def framework_version_mismatch_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where ranks print different versions of the framework and the job failed."""
    refused = events.of("software.cluster_version_mismatch")
    if refused:
        yield diagnosis(
            "software.framework_version_mismatch",
            f"{refused.first.who} runs other versions than the cluster that it would join.",
            refused,
            events.of("k8s.back_off", "k8s.container_exit"),
            repair=Repair.CHANGE_IMAGE,
            commands=(_IMAGES,),
        )
        return
    told = events.of("software.framework_version")
    failed = Events(
        (
            *waiting(events),
            *events.of(
                "torch.nccl_error",
                "nccl.peer_gone",
                "gloo.peer_gone",
                "c10d.rendezvous_failed",
                "python.error_line",
                "c10d.model_mismatch",
                "c10d.collective_mismatch",
            ),
        )
    )
    digests = _digests(objects)
    if digests and failed:
        name = digests[0][0]
        yield diagnosis(
            "software.framework_version_mismatch",
            f"Pods run different builds of {name}: its tag was pulled at different times.",
            [cited for _, cited in digests],
            failed,
            told if len(told.values("version")) > 1 else None,
            repair=Repair.CHANGE_IMAGE,
            commands=(_IMAGES,),
        )
        return
    apart = len(told.values("version")) > 1 and len(told.writers) > 1
    if apart and failed:
        one_each = {e.get("version"): e for e in told}
        yield diagnosis(
            "software.framework_version_mismatch",
            f"Ranks run versions {' and '.join(one_each)} of the framework.",
            Events(tuple(one_each.values())),
            failed,
            [
                o.cite((*s, "containers", 0, "image"))
                for o, s in pod_specs(objects)
                if o.get((*s, "containers", 0, "image"))
            ],
            repair=Repair.CHANGE_IMAGE,
            commands=(_IMAGES,),
        )


def _digests(objects: Objects) -> list[tuple[str, Evidence]]:
    """An image that pods of one job name alike and have in different builds: of each build, where it is told."""
    builds: dict[tuple[str, str], dict[str, Evidence]] = {}
    for pod in objects.of("Pod"):
        for i, c in enumerate(pod.items("status.containerStatuses")):
            _, _, digest = str(c.get("imageID", "")).partition("@")
            if digest and c.get("image"):
                cited = pod.cite(("status", "containerStatuses", i, "imageID"))
                builds.setdefault((job_of(pod.name), str(c["image"])), {}).setdefault(digest, cited)
    return [(image, cited) for (_, image), seen in builds.items() if len(seen) > 1 for cited in seen.values()]
