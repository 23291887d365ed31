"""This AMI release broke GPU containers.

## What is wrong
The NVIDIA container toolkit of a new AMI release fails to set up containers. Nodes of the release before are well.

## Fix
The release before, until it is mended.

## Source
https://github.com/awslabs/amazon-eks-ami/releases
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause(
    "node.ami_nvidia_container_toolkit_regression",
    refines=("runtime.toolkit_misconfigured", "storage.read_only", "pod.command_not_found"),
    also=True,
)
def ami_nvidia_container_toolkit_regression(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where the toolkit's hook fails and nodes of two AMI releases are known."""
    failed = events.of("runtime.hook_failed")
    releases = events.of("host.ami_release")
    if failed and len(releases.values("release")) > 1:
        newest = max(releases.values("release"))
        yield diagnosis(
            "node.ami_nvidia_container_toolkit_regression",
            f"The NVIDIA hook fails on nodes of AMI release {newest}; others are older.",
            failed,
            Events(tuple(sorted(releases, key=lambda e: e.get("release"), reverse=True))),
            repair=Repair.CHANGE_CLUSTER,
            commands=(
                "aws eks update-nodegroup-version --cluster-name <cluster> --nodegroup-name <node-group> "
                "--release-version <older>",
            ),
        )
