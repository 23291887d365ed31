"""How many training processes a job's manifest starts in each of its pods."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gonogo.facts.kube_quantity import ACCELERATORS, quantities

Dict = Mapping[str, Any]

_FLAG = re.compile(r"--?(?:nproc[_-]per[_-]node|npernode|ntasks-per-node)(?:[= ]+)(\w+)")
"""torchrun's and mpirun's own flag, in a command's words or inside of a shell's line."""
_VARIABLES = ("PET_NPROC_PER_NODE", "NPROC_PER_NODE", "LOCAL_WORLD_SIZE")
_AS_GPUS = ("auto", "gpu")
"""torchrun's words for one process a GPU."""


def ranks_of(item: Dict, template: Dict) -> int:
    """Ranks of one pod: by the job's own field, else by its container's command or variables; 0 if nothing says so."""
    for said in (*_fields(item), *_commands(template)):
        text = str(said).strip().lower()
        if text.isdigit() and 0 < int(text) <= 1024:
            return int(text)
        if text in _AS_GPUS and (gpus := accelerators_of(template)):
            return gpus
    return 0


def accelerators_of(template: Dict) -> int:
    """Those of one pod, of whatever make."""
    found = [quantities(_mapping(_mapping(c.get("resources")).get("limits"))) for c in _containers(template)]
    return int(max((limits.get(r, 0.0) for limits in found for r in ACCELERATORS), default=0.0))


def _fields(item: Dict) -> Iterator[object]:
    spec = _mapping(item.get("spec"))
    yield from (spec[key] for key in ("nprocPerNode", "slotsPerWorker") if key in spec)
    policy = _mapping(_mapping(spec.get("runtime")).get("mlPolicy"))
    for owner in (_mapping(spec.get("trainer")), _mapping(policy.get("torch")), _mapping(policy.get("mpi"))):
        yield from (owner[key] for key in ("numProcPerNode",) if key in owner)


def _commands(template: Dict) -> Iterator[object]:
    for container in _containers(template):
        words = [*_list(container.get("command")), *_list(container.get("args"))]
        yield from _FLAG.findall(" ".join(map(str, words)))
        told = {e.get("name"): e.get("value") for e in _list(container.get("env")) if isinstance(e, Mapping)}
        yield from (told[name] for name in _VARIABLES if name in told)


def _containers(template: Dict) -> list[Dict]:
    return [c for c in _list(_mapping(template.get("spec")).get("containers")) if isinstance(c, Mapping)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: object) -> Dict:
    return value if isinstance(value, Mapping) else {}
