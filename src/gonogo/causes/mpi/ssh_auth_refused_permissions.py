"""sshd, or ssh, refuses the key for its owner or mode.

## What is wrong
A mounted key has the wrong mode or owner, so StrictModes (or the client) ignores it, and mpirun can't start on the
hosts.

## Fix
defaultMode 0400 for the Secret, a user that owns it; or sshd without StrictModes in the image.

## Source
https://man.openbsd.org/sshd_config#StrictModes
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("mpi.ssh_auth_refused_permissions", refines=("mpi.host_unreachable",), also=True)
def ssh_auth_refused_permissions(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on ssh's or sshd's word."""
    seen = events.of("ssh.key_refused")
    if seen:
        yield diagnosis(
            "mpi.ssh_auth_refused_permissions",
            f"ssh refuses the key: {seen.first.get('error')}.",
            Events(tuple(sorted(seen, key=lambda e: "Permission denied" in e.text))),
            events.of("mpi.daemon_failed"),
            repair=Repair.CHANGE_IMAGE,
            commands=("ls -ld ~/.ssh ~/.ssh/*  # in launcher and worker",),
        )
