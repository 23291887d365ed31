"""How many training processes a job's manifest starts in each of its pods."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.facts.kube_quantity import ACCELERATORS, quantities
from gonogo.launch.commands import launchers, texts
from gonogo.launch.kinds import RUNTIME, Dict, containers, mapping

_FLAG = re.compile(
    r"(?:--?(?:nproc[_-]per[_-]node|npernode|ntasks-per-node|ppn)|(?<=\s)-N)[= ]+[\"']?(\$?[({]?\w+)|\bppr:(\w+):node\b"
)
"""torchrun's and mpirun's own flag, in a command's words or inside of a shell's line."""
_VARIABLES = ("PET_NPROC_PER_NODE", "NPROC_PER_NODE", "LOCAL_WORLD_SIZE")
MOST_RANKS = 1024
_AS_GPUS = ("auto", "gpu")
"""torchrun's words for one process a GPU."""


def ranks_of(item: Dict, template: Dict) -> int:
    """Ranks of one pod, by who starts them in it, by the job's field or by its own command; 0 if nothing says so."""
    gpus = accelerators_of(template)
    started = (said for launcher in launchers(item) for said in _commands(launcher))
    for told in (started, _fields(item), _commands(template)):
        texts_told = [str(said).strip().lower() for said in told]
        numbers = [gpus if text in _AS_GPUS else int(text) if text.isdigit() else 0 for text in texts_told]
        if found := max((n for n in numbers if 0 < n <= MOST_RANKS), default=0):
            return found
    return 0


def accelerators_of(template: Dict) -> int:
    """Those of one pod, of whatever make."""
    found = [quantities(mapping(mapping(c.get("resources")).get("limits"))) for c in containers(template)]
    return int(max((limits.get(r, 0.0) for limits in found for r in ACCELERATORS), default=0.0))


def _fields(item: Dict) -> Iterator[object]:
    spec = mapping(item.get("spec"))
    trainer, runtime = mapping(spec.get("trainer")), mapping(spec.get(RUNTIME) or spec)
    policies = [trainer, *map(mapping, mapping(runtime.get("mlPolicy")).values()), mapping(spec.get("elasticPolicy"))]
    yield from (spec[key] for key in ("nprocPerNode", "slotsPerWorker") if key in spec)
    yield from (owner[key] for owner in policies for key in ("numProcPerNode", "nProcPerNode") if key in owner)


def _commands(template: Dict) -> Iterator[object]:
    """In its words and variables; of a value that is a variable, what the container sets it to."""
    for text, own in texts(template):
        for groups in _FLAG.findall(" ".join((text, *own.values()))):
            said = "".join(groups)
            yield own.get(said.lstrip("${("), "") if said.startswith("$") else said
        yield from (own[name] for name in _VARIABLES if name in own)
