"""Nodes run different framework or image versions.

## What is wrong
Ranks of one job run different images. They may agree on nothing: store protocol, collectives, pickles.

## Fix
One image, by digest, for all ranks.

## Source
https://kubernetes.io/docs/concepts/containers/images/#image-names
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.causes.scopes import job_of
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects, pod_specs
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Evidence, Repair

_OTHER_API = re.compile(
    r"unexpected keyword argument|cannot import name|has no attribute|No module named|positional arguments? but"
)
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
    told = Events(tuple(e for e in events.of("software.framework_version") if "requirements" not in e.file))
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
    if mixed := _packages_apart(events):
        yield mixed
        return
    versions = {e.get("version"): e for e in told}
    one_each = {v: e for v, e in versions.items() if not any(w.startswith(f"{v}+") for w in versions)}
    if len(one_each) > 1 and len(told.writers) > 1 and failed:
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


def _packages_apart(events: Events) -> Diagnosis | None:
    """A call that a library does not know, raised on some nodes while others wait, where pip lists two versions."""
    raised = events.of("python.exception").where(message=_OTHER_API)
    others = Events(tuple(e for e in waiting(events) if e.writer not in raised.writers))
    packages = events.of("software.package")
    for name in packages.values("package") if others else ():
        versions = {e.get("version").partition("+")[0]: e for e in packages.where(package=name)}
        calls = Events(tuple(e for e in raised if name in e.get("message") or e.get("frame") != e.get("user")))
        if len(versions) > 1 and calls:
            return diagnosis(
                "software.framework_version_mismatch",
                f"Nodes have different versions of {name}: {' and '.join(versions)}.",
                calls,
                Events(tuple(versions.values())),
                others,
                repair=Repair.CHANGE_IMAGE,
                commands=(f"pip show {name}  # on each node",),
            )
    return None


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
