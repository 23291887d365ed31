"""The first failure is in a previous container.

## What is wrong
The container was restarted, and its present log shows only what follows from the first failure (a taken port, a stale
rendezvous). The cause is in the log before.

## Fix
`kubectl logs --previous`.

## Source
https://kubernetes.io/docs/tasks/debug/debug-application/debug-pods/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects
from gonogo.facts.signatures import Role
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair

_TOLD = (0, 126, 127, 128, 143)
"""Exit codes that say enough: well, not to be started, told to end."""


@cause("job.restart_hides_error", also=True)
def restart_hides_error(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where containers were restarted after an error and the previous log is absent, while ranks only wait."""
    restarted = [
        (p, i)
        for p in objects.of("Pod")
        for i, c in enumerate(p.items("status.containerStatuses"))
        if int(c.get("restartCount", 0)) > 0
        and int(((c.get("lastState") or {}).get("terminated") or {}).get("exitCode", 0)) not in _TOLD
    ]
    previous = [f for f in {e.file for e in events} if "previous" in f]
    stale = Events(
        (
            *waiting(events),
            *events.of("c10d.rendezvous_failed", "c10d.connect_timeout", "gloo.peer_gone", "nccl.peer_gone"),
        )
    )
    loud = events.role(Role.INITIATING)
    silent = (
        not loud
        and not events.of("python.exception")
        and all(_is_down(p, i) or _only_dials(events) or events.of("k8s.back_off") for p, i in restarted)
    )
    if restarted and (stale or silent) and not previous:
        pod = restarted[0][0]
        yield diagnosis(
            "job.restart_hides_error",
            f"{pod.name} was restarted after an error; this log does not have it.",
            [p.cite(("status", "containerStatuses", i, "restartCount")) for p, i in restarted],
            [p.cite(("status", "containerStatuses", i, "lastState", "terminated", "exitCode")) for p, i in restarted],
            stale,
            repair=Repair.INSPECT,
            subjects=[p.subject for p, _ in restarted],
            certainty=Certainty.SUPPORTED,
            commands=(f"kubectl logs {pod.name} --previous",),
        )


def _is_down(pod: Object, place: int) -> bool:
    """Whether a container does not run now: it waits to be started again, or has ended."""
    state = pod.items("status.containerStatuses")[place].get("state") or {}
    return "running" not in state and bool(state)


def _only_dials(events: Events) -> bool:
    """Whether all that the present logs show is a rank on its way to the others."""
    return bool(events.of("c10d.connect_attempt")) and not events.of(
        "nccl.rank_init", "train.metrics_progress", "nccl.via", "train.checkpoint_loaded"
    )
