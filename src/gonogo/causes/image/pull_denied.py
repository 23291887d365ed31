"""The registry refuses to give the image.

## What is wrong
No credentials, the wrong ones, or no permission for this repository: another account's ECR, a private registry without
imagePullSecrets.

## Fix
imagePullSecrets, or a repository policy that lets the nodes' account pull.

## Source
https://docs.aws.amazon.com/AmazonECR/latest/userguide/common-errors-docker.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.image.not_found import not_on_hub
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("image.pull_denied", also=True)
def pull_denied(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the registry's refusal, unless it has no such repository."""
    seen = events.of("image.denied").outside(not_on_hub(events, objects))
    if seen:
        image = next(iter(seen.values("image")), "the image")
        yield diagnosis(
            "image.pull_denied",
            f"The registry refuses {image}: {seen.first.get('error')}.",
            seen,
            repair=Repair.CHANGE_PERMISSION,
            commands=("aws ecr get-repository-policy --registry-id <account> --repository-name <repository>",),
        )
