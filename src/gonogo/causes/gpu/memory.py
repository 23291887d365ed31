"""Who holds a GPU's memory, as logs tell."""

from __future__ import annotations

import re

from gonogo.facts.events import Event, Events

LEAST_GIB = 4.0  # what another process must hold to be blamed
_PROCESS = re.compile(r"Process \d+ has (?P<size>[\d.]+ [KMGT]iB) memory in use")
_UNITS = {"K": 2**-20, "M": 2**-10, "G": 1.0, "T": 2.0**10}


def held_by_others(events: Events) -> Events:
    """Lines in which another process is seen to hold much of the GPU.

    In a container PyTorch can't tell its own process from others, and names itself by the node's number: what it has
    allocated is then nearly all that the named one holds.
    """
    told = events.of("torch.other_process_holds_memory")
    rows = Events(tuple(e for e in events.of("gpu.process_row") if gib(f"{e.get('mib')} MiB") >= LEAST_GIB))
    return Events((*(e for e in told if _foreign_gib(e) >= LEAST_GIB), *rows))


def _foreign_gib(event: Event) -> float:
    held = sum(gib(m["size"]) for m in _PROCESS.finditer(event.text)) or gib(event.get("size"))
    own = 0.0 if event.get("this") else gib(event.get("own")) + gib(event.get("reserved"))
    return held - own


def gib(size: str) -> float:
    """`40.1 GiB` as a number of GiB; 0 for what is no size."""
    number, _, unit = size.partition(" ")
    return float(number) * _UNITS.get(unit[:1], 0.0) if number.replace(".", "", 1).isdigit() else 0.0
