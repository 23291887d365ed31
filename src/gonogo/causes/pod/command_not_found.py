"""What the container should start isn't in the image.

## What is wrong
The command or script of the pod does not exist there, isn't executable, has no `#!` line, or its interpreter is
missing.

## Fix
The right path, or an image that has it.

## Source
https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.image.wrong_architecture import headless
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects, pod_specs
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_TOOLS = (
    "curl",
    "dig",
    "fi_info",
    "ibstat",
    "ibv_devinfo",
    "ip",
    "lspci",
    "nc",
    "nslookup",
    "nvidia-smi",
    "ping",
    "ss",
)
"""What people call in a container to look around: that it has none says nothing of the job."""


@cause("pod.command_not_found", also=True)
def command_not_found(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the runtime's, the shell's or the kernel's word."""
    seen = events.of("pod.command_not_found").outside(events.of("storage.lustre_module_missing"))
    scripts = Events(tuple(e for e in events.of("image.wrong_architecture") if headless(e)))
    if scripts:
        name = headless(scripts.first)
        yield diagnosis(
            "pod.command_not_found",
            f"The container can't start {name}: a script without a first line such as #!/bin/sh, or one whose "
            "interpreter is built for another CPU.",
            scripts,
            repair=Repair.CHANGE_IMAGE,
            commands=(f"kubectl run try --rm -it --image <image> --command -- head -c 64 {name}",),
            next_observation="If it begins with #!, whether the image is for the node's CPU: kubectl get nodes -L "
            "kubernetes.io/arch, and docker manifest inspect of the image.",
        )
    if unknown := events.of("mpi.executable_missing"):
        yield diagnosis(
            "pod.command_not_found",
            f"mpirun finds no program {next(iter(events.of('mpi.executable').values('command')), '')} to start.",
            unknown,
            events.of("mpi.executable"),
            repair=Repair.CHANGE_JOB,
            next_observation="Whether it is a word of mpirun's own that is misspelt, or a program that a host's image "
            "lacks.",
        )
    by_hand = [e for e in seen if _named(e).rpartition("/")[2] in _TOOLS or "exec failed: unable to start" in e.text]
    if seen and len(by_hand) < len(seen):
        first = seen.first
        name = _named(first)
        yield diagnosis(
            "pod.command_not_found",
            f"The container can't start {name}: it isn't in the image.",
            seen,
            [
                o.cite((*s, "containers", 0, "command"))
                for o, s in pod_specs(objects)
                if o.get((*s, "containers", 0, "command"))
            ],
            repair=Repair.CHANGE_JOB,
            commands=(f"kubectl run try --rm -it --image <image> --command -- sh -c 'command -v {name}'",),
        )


def _named(event: Event) -> str:
    return event.get("command") or event.get("path") or event.get("shell") or event.get("script")
