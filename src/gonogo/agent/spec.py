"""What an agent is told: one JSON document, the same for all agents of a run, and its own index beside it."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field

STEPS = ("node", "ports", "join", "links", "collectives", "storage", "train")
"""All steps, in the order in which they run. `node` and `ports` come before any coordination."""

FRAMEWORK = ("collectives", "storage", "train")
"""The steps that run framework processes in a group."""
RANKED = ("collectives", "train")
"""The steps that run as many processes a node as the job does; of the others one looks for its whole node."""


@dataclass(frozen=True)
class Spec:
    """Durations are seconds, sizes bytes. Peers are in index order; peer 0 is the first candidate to coordinate."""

    run: str
    peers: list[str]  # node names for reports, such as node0
    addresses: list[str]  # what to dial each peer by: a host name (resolved by the agent) or an address
    steps: list[str] = field(default_factory=lambda: list(STEPS))
    level: str = "standard"
    # ports: what rendezvous and collectives use
    rendezvous_port: int = 29500
    agent_port: int = 29400  # the agents' own coordination
    probe_ports: list[int] = field(default_factory=lambda: [35017, 43019, 51001])  # stand for ephemeral ports
    connect_seconds: float = 3.0  # a connect without an answer is silent after this
    start_seconds: float = 5.0  # how long peers may take to start: a refusal before that is tried again
    join_seconds: float = 5.0  # window of the join
    # links
    rounds: int = 5
    slice_seconds: float = 0.25  # one direction of one pair
    pairs_at_once: int = 0  # 0: all pairs of a round together
    # framework steps
    python: str = ""  # what starts framework children where they can't be forked; "": this Python
    backend: str = "gloo"
    ranks_per_node: int = 1  # of the steps in RANKED
    environment: dict[str, str] = field(default_factory=dict)  # of the framework children: GLOO_*, NCCL_* …
    framework_seconds: float = 20.0  # timeout given to the process group
    sizes: list[int] = field(default_factory=lambda: [1 << n for n in range(10, 27)])  # 1 KiB to 64 MiB
    train_steps: int = 30
    loader_workers: int = 2  # processes that load a rank's data through /dev/shm; 0: the rank loads them itself
    storage_paths: list[str] = field(default_factory=list)
    shared_seconds: float = 0.0  # of the limits of the steps in FRAMEWORK: so much is there once, for all of them
    # every step is ended after this
    step_seconds: dict[str, float] = field(
        default_factory=lambda: {
            "node": 5.0, "ports": 15.0, "join": 10.0, "links": 60.0, "collectives": 60.0, "storage": 60.0, "train": 60.0
        }
    )  # fmt: skip

    @classmethod
    def from_json(cls, text: str) -> Spec:
        """Raises ValueError on anything but an object with these fields."""
        data = json.loads(text)
        known = {f.name for f in dataclasses.fields(cls)}
        if not isinstance(data, dict) or set(data) - known:
            raise ValueError(f"not an agent's spec: {sorted(set(data) - known) if isinstance(data, dict) else data!r}")
        return cls(**data)

    def to_json(self) -> str:
        """One line."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)
