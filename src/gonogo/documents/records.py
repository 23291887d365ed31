"""Agents' records as documents: one file a node, lines in the order in which they were written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gonogo.model import Evidence


@dataclass(frozen=True, slots=True)
class Record:
    """One record and the line of the bundle that it stands on."""

    data: Mapping[str, Any]
    file: str  # agents/node0.jsonl
    line: int  # from 1

    @property
    def node(self) -> str:
        """The name of the writer."""
        return str(self.data["node"])

    @property
    def kind(self) -> str:
        """What it records; see gonogo.agent.records."""
        return str(self.data["kind"])

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def get(self, key: str, default: Any = None) -> Any:
        """A field, or the default: records come from other versions, too."""
        return self.data.get(key, default)

    def evidence(self, text: str) -> Evidence:
        """This line as evidence, with what it says in words."""
        return Evidence(text, self.file, self.line)


@dataclass(frozen=True, slots=True)
class StepLog:
    """All records of one step, of all nodes, published when the step is over or given up.

    `ended` holds how the run of agents stands at that moment, by node: "" for an agent that is well, or why it is not
    ("killed by signal 9", "stopped answering at 10:03:07", "was cut off at the step's deadline").
    """

    nodes: tuple[str, ...]  # expected, in index order
    records: tuple[Record, ...]
    ended: Mapping[str, str]

    def of(self, *kinds: str, node: str = "") -> Iterator[Record]:
        """The records of these kinds, of one node or of all."""
        return (r for r in self.records if r.kind in kinds and (not node or r.node == node))


CUT = "its records end"
"""How `ended` begins where documents end before the agent did: how it ended is not known."""


class NodeLog(StepLog):
    """Step `node`, with the `agent` and `fabric` records so far."""


class PortsLog(StepLog):
    """Step `ports`."""


class LinksLog(StepLog):
    """Steps `join` and `links`."""


class CollectivesLog(StepLog):
    """Step `collectives`, with the `agent` and `fabric` records so far."""


class StorageLog(StepLog):
    """Step `storage`."""


class TrainLog(StepLog):
    """Step `train`, with the `agent` and `fabric` records so far."""


LOGS: dict[str, type[StepLog]] = {
    "node": NodeLog,
    "ports": PortsLog,
    "links": LinksLog,
    "collectives": CollectivesLog,
    "storage": StorageLog,
    "train": TrainLog,
}
"""Step -> the document that carries it."""

_ALIVE = ("agent", "fabric")
_STEPS: dict[str, tuple[str, ...]] = {
    "node": ("node", *_ALIVE),
    "ports": ("ports",),
    "links": ("join", "links"),
    "collectives": ("collectives", "join", *_ALIVE),
    "storage": ("storage",),
    "train": ("train", "join", *_ALIVE),
}
"""Step -> the steps whose records its document holds; what survivors looked at after it (`after`) comes along."""


def step_log(step: str, nodes: Iterable[str], records: Iterable[Record], ended: Mapping[str, str]) -> StepLog:
    """The document of one step (a key of LOGS), out of all records so far; order is kept."""
    mine = tuple(r for r in records if r.get("step") in _STEPS[step] or r.get("after") == step)
    return LOGS[step](tuple(nodes), mine, dict(ended))
