"""The kernel: facts are asked for by type, published as they come, and judged at once.

A step is a plain function. Its parameters name the facts that it needs, `X | None` meaning "use it if this run has
it anyway"; its return annotation names what it makes:

    collector   needs -> A, or Iterator[A | B]: does I/O, runs in a thread, publishes each fact as soon as it has it
    parser      needs -> A: pure
    check       needs -> Iterator[Finding | Figure]: pure, has an id and a page
    cause       needs -> Iterator[Diagnosis]: pure, re-run whenever findings or facts come

Only what the chosen checks need is collected; what can be parsed of it is there for optional needs and causes, too. A
fact that was promised and never came is `Lost`, and what needed it becomes an unknown or a skip: never an ok.
"""

from gonogo.kernel.facts import Control, Findings, Lost, PerNode, Progress, Skip
from gonogo.kernel.run import CheckDone, CollectorDone, Diagnosed, Event, FactCame, Run
from gonogo.kernel.steps import (
    REGISTRY,
    Cause,
    Check,
    Registry,
    RegistryError,
    Step,
    cause,
    check,
    page,
    parser,
)
from gonogo.model import PREFIXES

__all__ = [
    "PREFIXES",
    "REGISTRY",
    "Cause",
    "Check",
    "CheckDone",
    "CollectorDone",
    "Control",
    "Diagnosed",
    "Event",
    "FactCame",
    "Findings",
    "Lost",
    "PerNode",
    "Progress",
    "Registry",
    "RegistryError",
    "Run",
    "Skip",
    "Step",
    "cause",
    "check",
    "page",
    "parser",
]
