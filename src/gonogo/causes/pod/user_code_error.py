"""The user's own program raised.

## What is wrong
A rank ended with an exception from the program itself. The other ranks then report lost peers and timeouts, which
follow from it.

## Fix
The line that is named.

## Source
https://docs.python.org/3/tutorial/errors.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.network.symptoms import WAITING
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.facts.signatures import Role
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair

_FOLLOWS = re.compile(
    r"^(?:torch\.distributed\.|.*ChildFailedError|.*DistBackendError|.*DistStoreError|.*DistNetworkError|.*Rendezvous\w+Error"
    r"|.*errors_impl\.(?:Unavailable|Aborted|Cancelled|DeadlineExceeded)Error|.*SignalException|KeyboardInterrupt|SystemExit|subprocess\.CalledProcessError|horovod\..*HorovodInternalError|BrokenPipeError"
    r"|ray\.exceptions\.|.*NVMLError|RPC$|ConnectionResetError|EOFError|.*ProcessExitedException|.*ProcessRaisedException)"
)
OF_SETTINGS = (
    "ConfigAttributeError", "ConfigKeyError", "DatasetNotFoundError", "EntryNotFoundError", "GatedRepoError",
    "HFValidationError", "HydraException", "MissingMandatoryValue", "MisconfigurationException", "ParserError",
    "RepositoryNotFoundError", "ScannerError", "ValidationError",
)  # fmt: skip
"""What libraries raise for settings, names and configurations that are wrong."""
_NEAR_LINES = 12
_OF_TENSORS = re.compile(
    r"shapes cannot be multiplied|[Ss]izes? of tensors? |size mismatch|to be on the same device|expected scalar type"
    r"|Weights only load failed|gated repo|is not a valid model identifier|does not appear to have a file named"
    r"|shape '.*' is invalid|in loading state_dict|a second time|does not require grad|out of (?:range|bounds)\b"
    r"|ops must be configured at program startup"
)
_OF_DEVICES = re.compile(
    r"(?i)^(?:cuda|cudnn|cublas\w*|nccl|hip|cufft|cusolver)\b.{0,30}\b(?:error|status\w*)|\bCUBLAS_STATUS|\bCUDNN_STATUS"
    r"|\b(?:no|not|without)\b.*\b(?:gpus?|cuda|nvml|driver)\b|cuda\.is_available|^\[type\.googleapis"
)
"""What a program says of the machine that it met: the reason is not in the program."""
_OF_THE_SYSTEM = re.compile(
    r"^(?:Connection\w*Error|TimeoutError|socket\.\w+|MemoryError|PermissionError)\b|^(?:OS|IO)Error: \[Errno"
)
"""What Python raises for the kernel's errors, in whoever's frame: of disks, memory, limits, networks, rights."""
_OF_PEERS = re.compile(r"connectFullMesh|gloo/transport/|\bNCCL (?:error|communicator)|[Cc]onnection closed by peer")
"""What a collective's library says of the peers that it can't reach, in whoever's frame."""
OF_PROGRAMS = (
    "AssertionError", "AttributeError", "FileExistsError", "ImportError", "IndexError", "KeyError",
    "ModuleNotFoundError", "NameError", "NotImplementedError", "RecursionError", "TypeError", "UnboundLocalError",
    "UnicodeDecodeError", "ValueError", "ZeroDivisionError", "json.decoder.JSONDecodeError",
)  # fmt: skip
"""What Python raises for mistakes in programs and their settings, whoever's frame it is raised in."""


@cause("pod.user_code_error", also=True)
def user_code_error(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on an exception that is not a framework's word for a lost peer, and that no known line explains."""
    known = [
        e
        for e in events
        if e.role in (Role.INITIATING, Role.CASCADE)
        and e.signature not in ("torchrun.child_exit", "k8s.container_exit", "python.error_line")
    ]
    raised = [
        e
        for e in events.of("python.exception")
        if not _FOLLOWS.match(e.get("type"))
        and not _OF_PEERS.search(e.get("message"))
        and (e.get("user") or e.get("type") in OF_PROGRAMS)
    ]
    own = [e for e in raised if not any(_beside(k, e) for k in known)]
    refused = events.of("python.refused")
    cut = Events(
        tuple(
            e
            for e in events.of("python.error_line")
            if (e.get("type") in OF_PROGRAMS or _OF_TENSORS.search(e.get("message")))
            and not any(_beside(k, e) for k in known)
        )
    )
    unfinished = events.of("ddp.unfinished_reduction")
    probes = Events(tuple(e for e in events.of("k8s.probe_failed") if "will be restarted" in e.text))
    if probes and not own:
        yield diagnosis(
            "pod.user_code_error",
            "The kubelet restarts the container because it does not answer its own liveness probe.",
            probes,
            events.of("k8s.container_exit"),
            events.of("k8s.probe_failed"),
            repair=Repair.CHANGE_JOB,
            commands=("kubectl describe pod <pod> | grep -A2 Liveness",),
            next_observation="Whether the pod lives without its liveness probe, or with a startupProbe before it.",
        )
    if own:
        first = Events(tuple(own)).first
        is_own = first.get("user") == first.get("frame") or any(_is_of_a_program(e) for e in own)
        said = f"{first.get('type')}: {first.get('message')}"
        is_own = is_own and not _OF_DEVICES.search(first.get("message")) and not _OF_THE_SYSTEM.match(said)
        where = first.get("user") or first.get("frame")
        yield diagnosis(
            "pod.user_code_error",
            f"{first.who} raised {first.get('type')}: {first.get('message')[:160]} at {where}.",
            Events((first,)),
            Events(tuple(e for e in own if e is not first)),
            events.of("torchrun.child_exit", "torchrun.root_exit", "k8s.container_exit"),
            repair=Repair.CHANGE_CODE,
            subjects=[first.subject],
            certainty=None if is_own else Certainty.HYPOTHESIS,
            next_observation=""
            if is_own
            else "What it found: the lines before the traceback, nvidia-smi where it ran.",
        )
    elif refused:
        yield diagnosis(
            "pod.user_code_error",
            f"The program ended at once: {refused.first.get('error')[:160]}.",
            refused,
            events.of("torchrun.child_exit", "torchrun.root_exit", "k8s.container_exit"),
            repair=Repair.CHANGE_CODE,
        )
    elif cut and not events.of("python.exception"):
        first = cut.first
        is_own = not _OF_DEVICES.search(first.get("message"))
        yield diagnosis(
            "pod.user_code_error",
            f"{first.who} raised {first.get('type')}: {first.get('message')[:160]}.",
            cut,
            events.of("torchrun.child_exit", "torchrun.root_exit", "k8s.container_exit"),
            repair=Repair.CHANGE_CODE,
            certainty=None if is_own else Certainty.HYPOTHESIS,
            next_observation="The traceback above that line, which names the program's own line.",
        )
    elif unfinished:
        yield diagnosis(
            "pod.user_code_error",
            "The model leaves parameters unused (or uses them twice), which DDP does not allow.",
            unfinished,
            repair=Repair.CHANGE_CODE,
            next_observation="Whether it goes on with DistributedDataParallel(find_unused_parameters=True): "
            "then a branch of "
            "the model is not used in each step.",
        )


def _is_of_a_program(raised: Event) -> bool:
    """Whether only a mistake in a program or its settings raises this, be it inside of a library."""
    name = raised.get("type")
    return (
        name in OF_PROGRAMS or name.rpartition(".")[2] in OF_SETTINGS or bool(_OF_TENSORS.search(raised.get("message")))
    )


def _beside(known: Event, raised: Event) -> bool:
    """Whether a line that is known stands with an exception and explains it: not another rank's, nor a later wait."""
    after = known.line - raised.line
    if known.file != raised.file or not -1 <= after <= _NEAR_LINES:
        return False
    other = known.who.rank is not None and raised.who.rank is not None and known.who.rank != raised.who.rank
    return not other and not (after > 0 and known.signature in WAITING)
