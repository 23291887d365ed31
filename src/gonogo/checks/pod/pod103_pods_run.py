"""Every pod of the run starts.

## Why it matters
What keeps gonogo's pods from starting keeps a training's: no room, no image, no volume, no address. The scheduler and
the kubelet know within seconds.

## Usual causes
- unschedulable: taints, selectors, no free GPUs
- the image doesn't exist, needs credentials, or is for another CPU
- a volume isn't bound or can't be mounted; the container dies at once

## Fix
Follow the reason, which is the scheduler's or kubelet's own; other checks name what is behind it.

## Source
https://kubernetes.io/docs/tasks/debug/debug-application/debug-pods/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.crowd import crowd
from gonogo.checks.pod.words import in_words
from gonogo.documents.kubernetes import PodsDocument
from gonogo.kernel import check
from gonogo.model import Evidence, Finding, Status, Subject


@check("POD103")
def pods_run(pods: PodsDocument) -> Iterator[Finding]:
    """One finding a pod, at the moment when all run or it is known why they don't."""
    yield from crowd(_each(pods))


def _each(pods: PodsDocument) -> Iterator[Finding]:
    for pod in pods.pods:
        subject = Subject("pod", pod.pod)
        if pod.state == "running" or (pod.state == "ended" and pod.exit_code == 0):
            text = f"{pod.pod} runs on {pod.node} after {pod.seconds:.1f} s."
            yield Finding(Status.OK, subject, text, round(pod.seconds, 1), unit="seconds")
            continue
        said = f"{pod.reason}: {pod.message}".strip(": ")
        where = f" on {pod.node}" if pod.node else ""
        text = f"{pod.pod} does not run{where}: {in_words(pod)}."
        yield Finding(
            Status.FAIL, subject, text, pod.reason, "running", evidence=(Evidence(f"{pod.pod}: {said}", pods.file),)
        )
