"""There is no such image or tag.

## What is wrong
The name or tag is misspelt, was deleted, or is in another region; or the pod's pull policy is Never, and nobody put
the image on the node.

## Fix
A tag that exists, or a pull policy that lets the node pull.

## Source
https://kubernetes.io/docs/concepts/containers/images/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects, pod_specs
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair

_REFERENCE = re.compile(r"[\w.][\w./:@-]*")
"""A name that a shell takes as one word."""


@cause("image.not_found", also=True)
def not_found(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the registry's word, but for a refusal in the same answer; or on the kubelet's, which may not pull."""
    seen = Events(
        tuple(
            e for e in events.of("image.not_found") if not re.search(r"pull access denied|unauthorized|403|401", e.text)
        )
    )
    absent = events.of("image.not_on_node")
    if absent and not seen:
        image = next(iter(absent.values("image")), "") or "its image"
        yield diagnosis(
            "image.not_found",
            f"The node does not have {image}, and the pod's pull policy is Never.",
            absent,
            repair=Repair.CHANGE_IMAGE,
            commands=("kubectl get pod <pod> -o jsonpath='{.spec.containers[*].imagePullPolicy}'",),
        )
    hidden = not_on_hub(events, objects)
    if hidden and not seen:
        yield diagnosis(
            "image.not_found",
            f"Docker Hub has no {_image(hidden) or 'such image'}; it refuses it as it would a private one.",
            hidden,
            events.of("image.hub_has_none"),
            repair=Repair.CHANGE_IMAGE,
            certainty=Certainty.SUPPORTED,
            next_observation="How its owner spells it; a private repository would need a login, and the pod has none.",
            commands=("kubectl get pod <pod> -o jsonpath='{.spec.containers[*].image}'",),
        )
    if seen:
        image = _image(seen)
        yield diagnosis(
            "image.not_found",
            f"The registry has no {image or 'such image'}.",
            seen,
            repair=Repair.CHANGE_IMAGE,
            commands=(
                "aws ecr describe-images --registry-id <account> --repository-name <repository> --query "
                "'imageDetails[].imageTags'"
                if not image or ".dkr.ecr." in image
                else f"docker manifest inspect {image if _REFERENCE.fullmatch(image) else '<image>'}",
            ),
        )


def not_on_hub(events: Events, objects: Objects) -> Events:
    """Refusals by Docker Hub of what it shows to nobody without a login, to pods that have none."""
    if not events.of("image.hub_has_none") or any(o.get((*s, "imagePullSecrets")) for o, s in pod_specs(objects)):
        return Events()
    return Events(
        tuple(e for e in events.of("image.denied") if "does not exist or may require" in e.text and _is_of_hub(e))
    )


def _is_of_hub(event: Event) -> bool:
    host = event.get("image").partition("/")[0]
    return host.endswith("docker.io") or "." not in host


def _image(seen: Events) -> str:
    found = re.search(r'image \\?"([^"\\]+)', seen.first.text)
    return next(iter(seen.values("image")), "") or (found[1] if found else "")
