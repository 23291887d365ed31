"""No pod of the run is killed, evicted or lost while it runs.

## Why it matters
A container that outgrows its memory limit is killed without a word in its own log; a node that goes away takes its
rank with it. The kubelet's status says which.

## Usual causes
- the memory limit is too small for the framework and its buffers, or a LimitRange set it
- eviction for disk or memory, preemption, a spot interruption
- the node lost power or its kubelet

## Fix
Raise the limit, or see what happened to the node: `kubectl describe node NODE`.

## Source
https://kubernetes.io/docs/tasks/configure-pod-container/assign-memory-resource/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.crowd import crowd
from gonogo.checks.pod.words import in_words
from gonogo.documents.kubernetes import EndsDocument
from gonogo.kernel import Skip, check
from gonogo.model import Evidence, Finding, Status, Subject


@check("POD104")
def pods_end_well(ends: EndsDocument) -> Iterator[Finding]:
    """Only pods that ran; the others are POD103's."""
    yield from crowd(_each(ends))


def _each(ends: EndsDocument) -> Iterator[Finding]:
    ran = [p for p in ends.pods if p.state in ("running", "ended")]
    if not ran:
        raise Skip("No pod of the run came to run (POD103).")
    for pod in ran:
        subject = Subject("pod", pod.pod)
        if pod.state == "ended" and pod.exit_code == 0:
            yield Finding(Status.OK, subject, f"{pod.pod} on {pod.node} ended by itself with exit code 0.")
        elif pod.state == "running" and not pod.reason:
            yield Finding(Status.OK, subject, f"{pod.pod} on {pod.node} still ran when its steps were over.")
        else:
            said = f"{pod.pod}: {pod.reason}, exit code {pod.exit_code}. {pod.message}".strip()
            text = f"{pod.pod} on {pod.node} did not end well: {in_words(pod)}."
            yield Finding(
                Status.FAIL, subject, text, pod.exit_code, 0, "exit code", evidence=(Evidence(said, ends.file),)
            )
