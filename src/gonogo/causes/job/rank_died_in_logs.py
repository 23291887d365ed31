"""One rank ended by a signal; the others wait.

## What is wrong
A process was killed or crashed (SIGKILL, SIGSEGV, SIGBUS). Its log ends without an exception; the others report
lost peers.

## Fix
Who sent the signal: memory (dmesg), an eviction (events), a bug in native code (core dump).

## Source
https://man7.org/linux/man-pages/man7/signal.7.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair


@cause("job.rank_died", refines=("job.rank_stalled", "job.rendezvous_timeout_missing_ranks"), also=True)
def rank_died_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a signal that is not the launcher's own end."""
    signals = Events(tuple(e for e in events.of("torchrun.signal") if e.get("name") not in ("SIGTERM", "SIGINT")))
    exits = Events(
        tuple(
            e
            for e in events.of("torchrun.child_exit", "torchrun.root_exit")
            if int(e["exitcode"]) in (-9, -11, -7, -6, -4, -8)
        )
    )
    killed = events.of("job.process_killed")
    containers = Events(tuple(e for e in events.of("k8s.container_exit") if int(e["code"]) in (134, 135, 137, 139)))
    uncaught = events.of("cpp.uncaught").files
    gave_up = set(events.of("c10d.watchdog_timeout", "c10d.watchdog_stuck", "torch.watchdog_terminated").files)
    signals, exits, containers = (
        Events(tuple(e for e in some if not (e.file in gave_up and _aborted(e))))
        for some in (signals, exits, containers)
    )
    if signals or exits or killed or containers:
        seen = Events((*signals, *exits, *killed, *containers))
        first = seen.first
        alone = not (signals or exits or killed) and all(int(e["code"]) == 137 for e in containers)
        alone = alone or ((not killed or len(seen.writers) > 1) and all(_may_follow(e) for e in seen))
        alone = alone or all(_aborted(e) and e.file in uncaught for e in seen)
        how = first.get("name") or first.get("how") or (f"exit code {first.get('exitcode') or first.get('code')}")
        yield diagnosis(
            "job.rank_died",
            f"{first.who} ended by a signal ({how}); the other ranks lost it.",
            seen,
            events.of(
                "nccl.peer_gone",
                "gloo.peer_gone",
                "horovod.shut_down",
                "tf.peer_gone",
                "nccl.ib_error",
                "nccl.ras_dead",
            ),
            waiting(events),
            repair=Repair.INSPECT,
            certainty=Certainty.HYPOTHESIS if alone else None,
            next_observation="What ended it: the lines before its end, kubectl describe pod (reason), events, dmesg of "
            "its node, df -h /dev/shm."
            if alone
            else "",
            subjects=[first.subject],
            commands=(
                "kubectl describe pod <pod> | grep -A6 'Last State'",
                "dmesg -T | grep -i -e oom -e segfault  # on its node",
            ),
        )


def _aborted(event: Event) -> bool:
    """Whether a process ended itself by SIGABRT, as NCCL's watchdog does after a timeout: for a reason of its own."""
    code = int(event.captures.get("exitcode", event.captures.get("code", 0)))
    return event.get("name") == "SIGABRT" or code in (-6, 134) or "Aborted" in event.text


def _may_follow(event: Event) -> bool:
    """Whether a process ended itself, was killed, or met memory that could not be had: each has a reason elsewhere."""
    code = int(event.captures.get("exitcode", event.captures.get("code", 0)))
    return _aborted(event) or event.get("name") in ("SIGBUS", "SIGKILL") or code in (-7, -9, 135, 137)
