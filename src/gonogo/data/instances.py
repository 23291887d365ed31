"""EC2 instance types with accelerators or EFA: what a node of a type must have.

The rows are `instances.jsonl`, made by scripts/make_instances.py; each says where it is from and as of when.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One type. 0 and "" mean none, or not known where `source` says so."""

    type: str
    accelerator: str  # "NVIDIA H100"
    accelerators: int
    accelerator_mib: int  # memory of one
    resource: str  # what its device plugin advertises: nvidia.com/gpu, aws.amazon.com/neuron; "" for none
    vcpus: int
    memory_mib: int
    architecture: str
    nvme_gb: int
    network_gbps: float  # all cards together
    network_cards: int
    efa: int  # adapters
    efa_generation: str  # v1 … v4
    gdr_required: bool | None  # the OFI plugin refuses to run without GPUDirect RDMA; None: not known
    nvlink: str
    usd_per_hour: float  # list price on demand in us-east-1; 0: not known
    price_date: str
    source: str
    date: str

    @property
    def family(self) -> str:
        """`p5en` of p5en.48xlarge."""
        return self.type.partition(".")[0]

    @property
    def node_gbytes_per_second(self) -> float:
        """The rate of the node's network in GB/s, as bounds on collectives need it."""
        return self.network_gbps / 8


@cache
def catalog() -> dict[str, InstanceType]:
    """All types by name."""
    text = files("gonogo.data").joinpath("instances.jsonl").read_text(encoding="utf-8")
    return {row["type"]: InstanceType(**row) for row in map(json.loads, text.splitlines())}


def instance_type(name: str) -> InstanceType | None:
    """The row of a type, or None: not in the catalog."""
    return catalog().get(name)
