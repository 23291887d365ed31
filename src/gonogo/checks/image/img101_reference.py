"""The image is named so that all nodes run the same one.

## Why it matters
`latest`, or no tag, means what the registry has at the moment of the pull: nodes that came at different times run
different images, and a rank with another NCCL hangs the rest.

## Usual causes
- a manifest from a quick start

## Fix
Name a version, or better a digest: `IMAGE@sha256:…`.

## Source
https://kubernetes.io/docs/concepts/containers/images/#image-names
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.facts.kube_workload import Workload
from gonogo.kernel import check
from gonogo.model import Finding, Status, Subject

REFERENCE = re.compile(
    r"(?:(?P<registry>[a-zA-Z0-9][a-zA-Z0-9.-]*(?::\d+)?)/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)


@check("IMG101")
def reference(workload: Workload) -> Iterator[Finding]:
    """Fails on what no container runtime accepts, warns of what moves."""
    image = workload.image
    subject = Subject("object", f"image {image}")
    match = REFERENCE.fullmatch(image)
    if not match:
        yield Finding(Status.FAIL, subject, f"{image!r} is no name of an image.")
    elif match["digest"]:
        yield Finding(Status.OK, subject, f"{image} is named by its digest.")
    elif match["tag"] in (None, "latest"):
        text = f"{image} has {'no tag' if not match['tag'] else 'the tag latest'}: it may differ from node to node."
        yield Finding(Status.WARN, subject, text, match["tag"], "a version or digest")
    else:
        yield Finding(Status.OK, subject, f"{image} is named by its tag {match['tag']}.")
