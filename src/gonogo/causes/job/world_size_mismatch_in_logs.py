"""Ranks disagree on their number or indices.

## What is wrong
WORLD_SIZE, RANK or the number of processes a node differ between pods: some wait for ranks that don't exist, others are
turned away.

## Fix
One source for all: torchrun's arguments, or what the operator sets.

## Source
https://pytorch.org/docs/stable/distributed.html#environment-variable-initialization
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Object, Objects, Path
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("job.world_size_mismatch", refines=("job.rendezvous_timeout_missing_ranks", "pod.user_code_error"), also=True)
def world_size_mismatch_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a framework's word, or where ranks print different sizes and the rendezvous failed."""
    told = events.of("job.world_size_mismatch")
    counts = events.of("nccl.mismatched_size").where(error=re.compile("rank count"))
    sizes = events.of("env.ranks")
    differ = len(sizes.values("world_size")) > 1 and bool(waiting(events) or told)
    nodes = events.of("job.nnodes")
    wanted, given = nodes.values("wanted"), nodes.values("given")
    if waiting(events) and len(set(wanted)) == 1 and len(set(given)) == 1 and wanted[0] != given[0]:
        yield diagnosis(
            "job.world_size_mismatch",
            f"The launcher waits for {wanted[0]} nodes, and Slurm gave {given[0]}.",
            nodes,
            waiting(events),
            repair=Repair.CHANGE_JOB,
            commands=("scontrol show job $SLURM_JOB_ID | grep NumNodes",),
            next_observation="torchrun's --nnodes must be that number: --nnodes=$SLURM_NNODES.",
        )
        return
    if twice := _twice(events):
        yield diagnosis(
            "job.world_size_mismatch",
            f"Each of the ranks {', '.join(dict.fromkeys(str(e['rank']) for e in twice))} is there more than once: "
            "the launcher's ranks are not taken over.",
            twice,
            waiting(events),
            events.of("c10d.clients_missing"),
            repair=Repair.CHANGE_JOB,
            commands=("env | grep -e RANK -e WORLD_SIZE -e SLURM_PROCID -e SLURM_NTASKS  # in each task",),
            next_observation="Whether the launcher starts one task for each rank: srun --ntasks-per-node must be the "
            "number of devices.",
        )
        return
    if twins := _twins(events):
        which = twins.first.get("target") or f"{twins.first.get('type')} {twins.first.get('index')}"
        yield diagnosis(
            "job.world_size_mismatch",
            f"More than one process is told to be {which}.",
            twins,
            events.of("tf.other_incarnation"),
            waiting(events),
            repair=Repair.CHANGE_JOB,
            commands=("kubectl exec <pod> -- printenv TF_CONFIG  # in each pod: each index once",),
        )
        return
    if waiting(events) and (by_pod := _told_apart(objects)):
        values = " and ".join(dict.fromkeys(size for _, _, size in by_pod))
        yield diagnosis(
            "job.world_size_mismatch",
            f"Pods with one MASTER_ADDR are told different WORLD_SIZEs: {values}.",
            [pod.cite(path) for pod, path, _ in by_pod],
            sizes,
            waiting(events),
            repair=Repair.CHANGE_JOB,
            subjects=[pod.subject for pod, _, _ in by_pod],
            commands=("kubectl get pods -o jsonpath='{..env[?(@.name==\"WORLD_SIZE\")].value}'",),
        )
        return
    met = events.of("c10d.store_barrier_timeout", "c10d.store_barrier_waits")
    over = Events(tuple(e for e in met if int(e["joined"]) > int(e["expected"])))
    if told or counts or differ or over:
        values = " and ".join(sizes.values("world_size"))
        yield diagnosis(
            "job.world_size_mismatch",
            f"{over.first['joined']} workers came to a store whose ranks are told that they are "
            f"{over.first['expected']}."
            if over and not differ
            else f"Ranks disagree on how many they are{f': {values}' if differ else ''}.",
            told,
            counts,
            over,
            sizes if over else None,
            sizes if differ else None,
            waiting(events),
            repair=Repair.CHANGE_JOB,
            commands=("kubectl get pods -o jsonpath='{..env[?(@.name==\"WORLD_SIZE\")].value}'",),
        )


def _told_apart(objects: Objects) -> list[tuple[Object, Path, str]]:
    """Pods whose environments have one MASTER_ADDR and different WORLD_SIZEs, with the path of that and its value."""
    by_master: dict[str, list[tuple[Object, Path, str]]] = {}
    for pod in objects.of("Pod"):
        for i, container in enumerate(pod.items("spec.containers")):
            told = container.get("env") if isinstance(container, dict) else None
            env = {e.get("name"): (n, e.get("value")) for n, e in enumerate(told or []) if isinstance(e, dict)}
            (_, master), (n, size) = env.get("MASTER_ADDR", (0, None)), env.get("WORLD_SIZE", (0, None))
            if master and size:
                path = ("spec", "containers", i, "env", n, "value")
                by_master.setdefault(str(master), []).append((pod, path, str(size)))
    return next((told for told in by_master.values() if len({size for _, _, size in told}) > 1), [])


def _twice(events: Events) -> Events:
    """Ranks that say who they are, all of them as often, where just so many others never came."""
    told = events.of("lightning.rank") or _listed(events)
    often = {e["rank"]: sum(o["rank"] == e["rank"] for o in told) for e in told}
    short = [e for e in events.of("c10d.clients_missing") if int(e["joined"]) < int(e["expected"])]
    if short and told.of("env.rank"):
        return Events(tuple(e for e in told if often[e["rank"]] > 1))
    if not short or len(set(often.values())) != 1 or min(often.values()) < 2:
        return Events()
    whole = all(int(e["joined"]) == len(often) and int(e["expected"]) == len(told) for e in short)
    return told if whole else Events()


def _twins(events: Events) -> Events:
    """What tells two processes that they are one task of a TensorFlow cluster, where one is turned away or all wait."""
    told: dict[tuple[str, ...], list[Event]] = {}
    for e in events.of("tf.task"):
        told.setdefault(tuple(e.get(k) for k in ("type", "index", "target")), []).append(e)
    by_pod = [some for some in told.values() if some[0].get("target") and len({e.who.pod for e in some}) > 1]
    listed = [some for some in told.values() if some[0].get("type") and len({(e.file, e.line) for e in some}) > 1]
    others = {
        e.file for e in events.of("tf.task") if e.get("type") and e.get("index") != (listed or [[e]])[0][0].get("index")
    }
    listed = [some for some in listed if len({e.who.pod for e in some}) > 1 or some[0].file in others]
    if not (events.of("tf.other_incarnation") or waiting(events)):
        return Events()
    return Events(tuple(e for some in (*by_pod, *listed) for e in some))


def _listed(events: Events) -> Events:
    """The ranks that a file tells of, one for each of WORLD_SIZE processes, where some are told alike."""
    for size in events.of("env.ranks").values("world_size"):
        for file in events.of("env.rank").files:
            told = [e for e in events.of("env.rank") if e.file == file]
            if len(told) == int(size) > len({e["rank"] for e in told}) > 1:
                return Events(tuple(told))
    return Events()
