"""A shared library, or a symbol of it, can't be loaded.

## What is wrong
The image lacks a library that a module was built against, or has another version of it.

## Fix
An image whose parts belong together: the framework's wheel for the CUDA that is in it.

## Source
https://man7.org/linux/man-pages/man8/ld.so.8.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects, asked, pod_specs
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_FATAL = re.compile(
    r"error while loading shared libraries|(?:^|\s)(?:ImportError|OSError|RuntimeError): |' not found \(required by"
    r"|symbol lookup error|^\S*\blib(?:torch|c10)\w*\.so: undefined symbol"
)


@cause("software.missing_library", refines=("pod.user_code_error",), also=True)
def missing_library(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a load failed as an error of the program, and not as a note of something optional."""
    raised = {(e.file, e.line) for e in events.of("python.exception")}
    # transformers writes its own line and, under it, that of the import which failed
    raised |= {(e.file, e.line + 1) for e in events.of("python.error_line") if "following error" in e.get("message")}
    fatal = [e for e in events.of("library.missing") if (e.file, e.line) in raised or _FATAL.search(e.text)]
    if without := _without_gpu(events, objects):
        yield without
        return
    apart = events.of("library.mismatched")
    if apart and not fatal:
        yield diagnosis(
            "software.missing_library",
            f"Two libraries do not fit each other: {apart.first.get('error')[:140]}.",
            apart,
            events.of("python.exception"),
            repair=Repair.CHANGE_IMAGE,
            commands=("pip list | grep -i -e torch -e numpy  # in the image",),
        )
    if fatal:
        first = fatal[0]
        what = first.get("symbol") or first.get("version") or first.get("library")
        yield diagnosis(
            "software.missing_library",
            f"{first.get('library')} can't be loaded{f': {what} is missing' if what != first.get('library') else ''}.",
            Events(tuple(fatal)),
            repair=Repair.CHANGE_IMAGE,
            commands=(f"ldconfig -p | grep {first.get('library').split('.so')[0]}  # in the image",),
        )


def _without_gpu(events: Events, objects: Objects) -> Diagnosis | None:
    """A framework leaves GPUs that it sees for want of a library; those of TensorRT it can do without."""
    skipped = events.of("library.gpu_skipped")
    shown = any(True for _ in pod_specs(objects))
    if not skipped or (shown and not asked(objects, "nvidia.com/gpu")):
        return None
    lacks = Events(tuple(e for e in events.of("library.missing") if "libnvinfer" not in e.get("library")))
    what = next(iter(lacks.values("library")), "What the framework needs for GPUs")
    return diagnosis(
        "software.missing_library",
        f"{what} can't be loaded: it runs without the GPUs that it sees.",
        lacks,
        skipped,
        repair=Repair.CHANGE_IMAGE,
        commands=("ldconfig -p | grep -e libcudnn -e libcublas -e libcudart  # in the image",),
    )
