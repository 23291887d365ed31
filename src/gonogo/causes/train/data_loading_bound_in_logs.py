"""The input pipeline is the limit.

## What is wrong
Steps wait for data longer than they compute: too few workers, slow decoding, or slow storage.

## Fix
More workers, pinned memory, prefetch, decoding on the GPU; data nearer to the node.

## Source
https://pytorch.org/docs/stable/data.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.causes.train.steps import step_shares, timed
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("train.data_loading_bound", also=True)
def data_loading_bound_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where waiting for data takes over half of a step, by the job's own numbers."""
    if (timer := timed(events, "train.timer_data")) and timer[0] > 0.5:
        yield diagnosis(
            "train.data_loading_bound",
            f"Waiting for data takes {timer[0]:.0%} of a step.",
            timer[1],
            events.of("train.loader_settings"),
            repair=Repair.CHANGE_CODE,
        )
        return
    profile = Events(tuple(e for e in events.of("train.profile_data") if _percent(e) > 50))
    if profile:
        yield diagnosis(
            "train.data_loading_bound",
            f"Waiting for data takes {_percent(profile.first):.0f}% of the time that the profiler saw.",
            profile,
            events.of("train.loader_settings"),
            repair=Repair.CHANGE_CODE,
            commands=("nproc; top -b -n 1 | head -15  # in the pod",),
        )
        return
    shares = step_shares(objects)
    slow = [s for s in shares if s.data > 0.5 * s.total]
    times = Events(tuple(e for e in events.of("train.step_times") if float(e["data"]) <= float(e["step"])))
    told = Events(tuple(e for e in times if float(e["data"]) > 0.5 * float(e["step"])))
    told = told if 2 * len(told) > len(times) else Events()
    meters = events.of("train.meter_times")
    waits = Events(tuple(e for e in meters if float(e["data"]) > 0.5 * float(e["step"])))
    told = Events((*told, *waits)) if 2 * len(waits) > len(meters) else told
    if not told and len(waits) > 2:  # one wait in many steps is long: workers come round together
        told = Events((*(last := [e for e in meters.all[-1:] if _mean(e) > 0.5]), *(waits if last else ())))
    if slow or told:
        share = slow[0].data / slow[0].total if slow else _mean(told.first)
        yield diagnosis(
            "train.data_loading_bound",
            f"Waiting for data takes {share:.0%} of a step.",
            [s.evidence for s in slow[:4]],
            told,
            events.of("train.loader_settings"),
            repair=Repair.CHANGE_CODE,
            commands=("nproc; top -b -n 1 | head -15  # in the pod",),
            next_observation="Whether steps are faster with more workers: DataLoader(num_workers=8, pin_memory=True, "
            "persistent_workers=True, prefetch_factor=4).",
        )


def _mean(meter: Event) -> float:
    """What share of a step is waiting: by the means of a meter, where it tells them."""
    said = ("data_mean", "mean") if {"data_mean", "mean"} <= meter.captures.keys() else ("data", "step")
    return float(meter[said[0]]) / float(meter[said[1]])


def _percent(profile: Event) -> float:
    return next((float(profile[k]) for k in ("percent", "cpu", "waits") if k in profile.captures), 0.0)
