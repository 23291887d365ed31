"""A checkpoint that all ranks save together is restored equal.

## Why it matters
It is what a job falls back on after a fault. Saving exercises the path as training does: all ranks at once, each with
its part, one with the list of all.

## Usual causes
- the path is not shared: each rank finds only its own part
- no space for all parts at once
- versions of torch that differ between ranks

## Fix
Mend what STO001 and STO002 name; then `python -m torch.distributed.checkpoint.format_utils` reads what was saved.

## Source
https://pytorch.org/docs/stable/distributed.checkpoint.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.storage.paths import Said, judge
from gonogo.facts.fields import number, text, whole
from gonogo.facts.storage import PathProbe, Storage
from gonogo.kernel import check
from gonogo.model import Figure, Finding, Status, node


@check("STO005")
def checkpoint_restores(storage: Storage) -> Iterator[Finding | Figure]:
    """One finding a node, by torch.distributed.checkpoint."""
    for probe in storage.paths():
        record = probe.told.get("checkpoint")
        if record and record.get("equal") is True:
            for name in ("save", "load"):
                if (seconds := number(record, f"{name}_seconds")) is not None:
                    at = {"path": probe.path, "bytes": whole(record, "bytes")}
                    yield Figure(f"checkpoint_{name}", seconds, "seconds", node(probe.node), at)
    yield from judge(storage, _say)


def _say(probe: PathProbe) -> Said | None:
    record = probe.told.get("checkpoint")
    if record is None:
        if cannot := probe.told.get("unsupported"):
            return Said(Status.SKIP, text(cannot, "text").rstrip("."), (cannot.evidence("what is missing"),))
        return None
    equal, error, size = record.get("equal") is True, text(record, "error"), whole(record, "bytes") or 0
    said = f"{probe.node} restored its part of a checkpoint of {size >> 20} MiB {'equal' if equal else 'not equal'}"
    reason = f" ({_last_line(error)})" if error else ""
    evidence = (record.evidence(f"checkpoint in {probe.path}: equal {equal}{reason}"),)
    return Said(Status.OK if equal else Status.FAIL, f"{said} from {probe.path}{reason}", evidence, equal, True)


def _last_line(error: str) -> str:
    """What a traceback ends with: the lines above it are code and marks."""
    lines = [line.strip() for line in error.splitlines() if any(c.isalnum() for c in line)]
    return next((x for x in reversed(lines) if "Error" in x), lines[-1] if lines else error.strip())[:200].rstrip(".")
