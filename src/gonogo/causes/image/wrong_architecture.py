"""The image is for another kind of CPU.

## What is wrong
An image for amd64 on an arm64 node (Graviton, Grace), or the other way round: `exec format error`, or no manifest for
the platform.

## Fix
A multi-platform image, or nodes of the image's architecture (nodeSelector kubernetes.io/arch).

## Source
https://docs.docker.com/build/building/multi-platform/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_SCRIPT = re.compile(r"(?P<script>[\w./-]+\.(?:sh|py|bash|pl|rb))[\"':]* *:? *exec format error")


def headless(event: Event) -> str:
    """The script that could not be started as a program: no #! tells with what; "" for a binary."""
    found = _SCRIPT.search(event.text) if event.signature == "image.wrong_architecture" else None
    return found["script"] if found else ""


@cause("image.wrong_architecture", refines=("image.not_found",), also=True)
def wrong_architecture(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the kernel's or the registry's word, but of a script: no CPU reads one."""
    refused = events.of("image.wrong_architecture")
    other = _of_other_cpus(events, objects)
    seen = refused if other else Events(tuple(e for e in refused if not headless(e)))
    if seen:
        told = [
            n
            for n in objects.of("Node")
            if n.get("status.nodeInfo.architecture") or n.get(("metadata", "labels", "kubernetes.io/arch"))
        ]
        yield diagnosis(
            "image.wrong_architecture",
            "The image is not built for the node's CPU.",
            seen,
            other,
            [
                n.cite(
                    "status.nodeInfo.architecture"
                    if n.get("status.nodeInfo.architecture")
                    else ("metadata", "labels", "kubernetes.io/arch")
                )
                for n in told
            ],
            repair=Repair.CHANGE_IMAGE,
            subjects=[n.subject for n in told],
            commands=("docker manifest inspect <image> | grep architecture",),
        )


def _of_other_cpus(events: Events, objects: Objects) -> Events:
    """Where images say what CPU they are for, and no node has that."""
    nodes = objects.of("Node")
    label = ("metadata", "labels", "kubernetes.io/arch")
    have = {str(a) for n in nodes for a in (n.get("status.nodeInfo.architecture"), n.get(label)) if a}
    files = {n.file.name for n in nodes}
    told = [e for e in events.of("image.architecture") if "arch" not in e.captures or e.file not in files]
    other = [e for e in told if not have & {str(v) for v in e.captures.values()}]
    return Events(tuple(other) if have and len(other) == len(told) else ())
