"""Image pulls are throttled or very slow.

## What is wrong
Many nodes pull one large image at once: the registry's rate limit, or the kubelet's, stretches the start of the job
beyond the ranks' timeouts.

## Fix
A pull-through cache or a mirror in ECR, images that are pulled before (a DaemonSet), a registry account.

## Source
https://docs.aws.amazon.com/AmazonECR/latest/userguide/pull-through-cache.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("image.pull_slow_or_throttled", also=True)
def pull_slow_or_throttled(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a rate limit; or on a pull of over ten minutes beside ranks that gave up waiting."""
    limited = events.of("image.throttled")
    slow = Events(tuple(e for e in events.of("image.pull_took") if int(e.get("minutes") or 0) >= 10 or e.get("hours")))
    waited = waiting(events)
    if limited or (slow and waited):
        yield diagnosis(
            "image.pull_slow_or_throttled",
            "The registry limits the rate of pulls."
            if limited
            else f"A pull took {slow.first.get('minutes')} minutes.",
            limited,
            slow,
            waited,
            repair=Repair.CHANGE_IMAGE,
            commands=(
                "aws ecr create-pull-through-cache-rule --ecr-repository-prefix cache --upstream-registry-url "
                "<registry>",
            ),
        )
