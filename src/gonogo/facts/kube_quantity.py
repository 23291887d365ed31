"""Amounts of resources as Kubernetes writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

GPU = "nvidia.com/gpu"
EFA = "vpc.amazonaws.com/efa"
NEURON = "aws.amazon.com/neuron"
HUGEPAGES = "hugepages-2Mi"
ACCELERATORS = (GPU, NEURON, "amd.com/gpu", "habana.ai/gaudi")

_BINARY = {f"{s}i": 1024.0**n for n, s in enumerate("KMGTPE", 1)}
_DECIMAL = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_FACTORS = _BINARY | _DECIMAL
_SHAPE = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d{1,2})|([KMGTPE]i|[numkMGTPE]?))")


def quantity(text: object) -> float:
    """`5Gi` -> 5368709120.0, `100m` -> 0.1. Raises ValueError."""
    match = _SHAPE.fullmatch(str(text).strip())
    if not match:
        raise ValueError(f"{text!r} is no quantity")
    number, exponent, suffix = match.groups()
    return float(number + (exponent or "")) * _FACTORS[suffix or ""]


def quantities(resources: Mapping[str, object]) -> dict[str, float]:
    """Each amount of a mapping such as `status.allocatable`; what can't be read is left out."""
    found = {}
    for name, text in resources.items():
        try:
            found[name] = quantity(text)
        except ValueError:
            continue
    return found


def added(amounts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The sum by resource."""
    total: dict[str, float] = {}
    for amount in amounts:
        for name, value in amount.items():
            total[name] = total.get(name, 0.0) + value
    return total


def highest(amounts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The greatest by resource."""
    top: dict[str, float] = {}
    for amount in amounts:
        for name, value in amount.items():
            top[name] = max(top.get(name, 0.0), value)
    return top


def shown(resource: str, value: float) -> str:
    """`8`, `3.5`, `5 GiB`: for people."""
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return f"{value / 2**30:.4g} GiB" if value >= 2**30 else f"{value / 2**20:.4g} MiB"
    return f"{value:.4g}"
