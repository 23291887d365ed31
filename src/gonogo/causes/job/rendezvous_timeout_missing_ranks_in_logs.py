"""Some ranks never came.

## What is wrong
The rendezvous was up, and fewer ranks joined than the job has. Those that are missing did not start, ended early,
or look elsewhere.

## Fix
The logs and events of the missing pods.

## Source
https://pytorch.org/docs/stable/elastic/rendezvous.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import dropped, refused, waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects
from gonogo.facts.well import folder_of
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair

_NOT_YET = ("Pending", "ContainerCreating", "PodInitializing", "SchedulingGated")
_WHY = "Why the missing ranks did not come: their own logs (kubectl logs --previous), pods and events."


@cause("job.rendezvous_timeout_missing_ranks", also=True)
def rendezvous_timeout_missing_ranks_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where the store counts its clients, or a master that is known never listened.

    That ranks are missing is what many faults look like: it is a fault of its own where a pod is seen that never began.
    """
    short = Events(
        tuple(
            e
            for e in events.of("c10d.clients_missing", "c10d.store_barrier_timeout", "jax.barrier_timeout")
            if int(e["joined"]) < int(e["expected"])
        )
    )
    short = short or _still_waiting(events)
    turned = refused(events)
    tried = dropped(events)
    unready = [
        p
        for p in objects.of("Pod")
        if str(p.get("status.phase")) not in ("Running", "Succeeded", "Failed", "Completed")
    ]
    sure = None if any(_never_began(p) for p in unready) else Certainty.HYPOTHESIS
    running = [p for p in objects.of("Pod") if p.get("status.phase") == "Running"]
    if short:
        first = short.first
        joined = max(int(e["joined"]) for e in short)
        yield diagnosis(
            "job.rendezvous_timeout_missing_ranks",
            f"{joined} of {first['expected']} ranks came to the rendezvous{_missing(short)}.",
            short,
            [p.cite("status.phase") for p in unready],
            waiting(events),
            tried,
            repair=Repair.INSPECT,
            subjects=[p.subject for p in unready],
            commands=(
                "kubectl get pods -o wide",
                "kubectl logs <missing-pod> --previous",
            ),
            certainty=sure,
            next_observation=_WHY if sure else "",
        )
    elif turned and (tried or events.of("c10d.rendezvous_failed")) and not events.of("host.firewall_rule"):
        yield diagnosis(
            "job.rendezvous_timeout_missing_ranks",
            f"Nothing listens on {next(iter(turned.values('address')), 'the master')}: rank 0 never came.",
            turned,
            tried,
            waiting(events),
            [p.cite("status.phase") for p in unready],
            repair=Repair.INSPECT,
            commands=("kubectl describe pod <master-pod>", "kubectl logs <master-pod>"),
            certainty=sure,
            next_observation=_WHY if sure else "",
        )
    elif unready and running and (waits := Events((*waiting(events), *events.of("tf.waits_for_worker")))):
        yield diagnosis(
            "job.rendezvous_timeout_missing_ranks",
            f"{unready[0].name} did not run while the other ranks waited for it.",
            waits,
            [p.cite("status.phase") for p in unready],
            tried,
            repair=Repair.INSPECT,
            subjects=[p.subject for p in unready],
            commands=(f"kubectl describe pod {unready[0].name}",),
            certainty=sure,
            next_observation=_WHY if sure else "",
        )


def _never_began(pod: Object) -> bool:
    """Whether a pod waits for its node or its containers, and not for what has a name of its own, as an image has."""
    phase = str(pod.get("status.phase"))
    waits = [
        str(((c.get("state") or {}).get("waiting") or {}).get("reason")) for c in pod.items("status.containerStatuses")
    ]
    return phase.startswith((*_NOT_YET, "Init:")) and not any(w.endswith(("BackOff", "Pull", "Error")) for w in waits)


def _still_waiting(events: Events) -> Events:
    """Ranks that said so more than once, where nothing is seen to come after."""
    waits = events.of("c10d.store_barrier_waits")
    said_again = waits.counts.get("c10d.store_barrier_waits", 0) > len(waits)
    after = events.of("c10d.store_barrier_done", "nccl.rank_init", "job.finished", "train.*")
    past = {folder_of(e.file) for e in after}
    return Events(
        tuple(
            e for e in waits if said_again and folder_of(e.file) not in past and int(e["joined"]) < int(e["expected"])
        )
    )


def _missing(short: Events) -> str:
    """Who never came, where all others are seen to wait."""
    told = {int(e["waiter"]) for e in short if e.signature == "c10d.store_barrier_waits"}
    expected = int(short.first["expected"])
    absent = sorted(set(range(expected)) - told)
    if not told or len(told) != max(int(e["joined"]) for e in short):
        return ""
    return f"; rank{'s' if len(absent) > 1 else ''} {', '.join(map(str, absent))} did not"
