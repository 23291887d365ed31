"""The entry point isn't in the image.

## What is wrong
The container runtime can't start the container's program: the image has no such file on its PATH.

## Fix
Use an image with Python 3 on its PATH.

## Source
https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair, Status

WORDS = ("executable file not found", "no such file or directory", "command not found")


@cause("pod.command_not_found", refines=("job.rank_died",))
def command_not_found(findings: Findings, workload: Workload) -> Iterator[Diagnosis]:
    """By the runtime's words on the start, not by what a program that ran says of a file."""

    def starts_badly(f: object) -> bool:
        text = str(f)
        return any(r in text for r in ("StartError", "RunContainerError", "ContainerCannotRun")) and any(
            w in text for w in WORDS
        )

    roots = [f for c in ("POD103", "POD104") for f in failed(findings, c, lambda f: starts_badly(f.message))]
    if roots:
        waiting = [f.key for f in findings if f.status in (Status.UNKNOWN, Status.FAIL) and f.subject.kind != "object"
                   and f.check.startswith(("NOD00", "NET00", "LNK", "COL", "TRN", "JOB", "SFT", "GLO"))]  # fmt: skip
        yield diagnose(
            "pod.command_not_found",
            roots,
            f"The image {workload.image} has no python3 to run: {roots[0].message}",
            repair=Repair.CHANGE_IMAGE,
            commands=(f"docker run --rm {workload.image} python3 --version",),
            follows=waiting,
        )
