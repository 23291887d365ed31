"""The program did something illegal on the GPU.

## What is wrong
An index out of range, an assertion in a kernel, an illegal access (Xid 13, 31, 43). The GPU is well.

## Fix
CUDA_LAUNCH_BLOCKING=1 shows the true line; check indices (labels, token ids) against sizes.

## Source
https://docs.nvidia.com/deploy/xid-errors/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair

NEAR_SECONDS = 3600.0  # of an Xid and what follows of it: the others' timeout lies between


@cause("gpu.application_fault", refines=("pod.user_code_error",), also=True)
def application_fault(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on CUDA's word, alone or beside such an Xid; not where NCCL's own tests meet the same."""
    told = Events(tuple(e for e in events.of("cuda.application_fault") if "unspecified launch" not in e.text))
    xids = Events(tuple(e for e in events.of("gpu.xid") if e["xid"] in (13, 31, 43)))
    if told.outside(events.of("nccl.test_failed")).all != told.all:
        return
    if told or (
        xids and events.of("torch.nccl_error", "c10d.watchdog_timeout", "nccl.cuda_failure", "python.exception")
    ):
        first = (told or xids).first
        failed = events.of("torch.nccl_error", "c10d.watchdog_timeout", "nccl.cuda_failure", "python.exception")
        fabric = events.of("nccl.multicast_failed", "cuda.nvlink_error")  # what reads peers fails, too, where these do
        is_theirs = bool(told) or any(_is_near(x, f) for x in xids for f in failed)
        yield diagnosis(
            "gpu.application_fault",
            f"The program made an illegal access on the GPU: {first.get('error') or first.get('text')}.",
            told,
            xids,
            Events(tuple(e for e in events.of("python.exception") if e.get("user"))),
            events.of("nccl.cuda_failure", "torch.nccl_error"),
            repair=Repair.CHANGE_CODE,
            certainty=None if is_theirs and not fabric else Certainty.HYPOTHESIS,
            next_observation="With CUDA_LAUNCH_BLOCKING=1 in the env of all ranks the traceback names the "
            "kernel that fails.",
        )


def _is_near(xid: Event, failure: Event) -> bool:
    """Whether an Xid is of the host, or of the minutes, of a rank's failure."""
    if xid.who.host and xid.who.host.split(".")[0] == failure.who.host.split(".")[0]:
        return True
    if not xid.when or not failure.when or xid.when.clock != failure.when.clock:
        return False
    return abs(xid.when.seconds - failure.when.seconds) < NEAR_SECONDS
