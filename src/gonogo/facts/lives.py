"""How long each agent lived, over the whole run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gonogo.documents.records import CollectivesLog, LinksLog, NodeLog, PortsLog, Record, StepLog, StorageLog, TrainLog
from gonogo.facts.fields import records, text
from gonogo.kernel import parser


@dataclass(frozen=True, slots=True)
class Life:
    """One agent; `ended` is "" while it is well."""

    name: str
    ended: str
    last_step: str
    crashes: tuple[Record, ...]  # of our own code, caught by the agent's guard
    last: Record | None


@dataclass(frozen=True, slots=True)
class Lives:
    """Expected node -> its agent's life, up to the last step that the run waited for."""

    agents: Mapping[str, Life]


@parser
def lives(
    node: NodeLog,
    ports: PortsLog | None,
    links: LinksLog | None,
    collectives: CollectivesLog | None,
    storage: StorageLog | None,
    train: TrainLog | None,
) -> Lives:
    """From all logs that this run has anyway."""
    logs: list[StepLog] = [log for log in (node, ports, links, collectives, storage, train) if log]
    return Lives({name: _life(name, logs) for name in node.nodes})


def _life(name: str, logs: list[StepLog]) -> Life:
    mine = [r for log in logs for r in log.records if r.get("node") == name]
    last = max(mine, key=lambda r: r.line, default=None)
    crashes = {r.line: r for log in logs for r in records(log, "agent", "crash") if r.get("node") == name}
    ended = next((log.ended[name] for log in reversed(logs) if log.ended.get(name)), "")
    return Life(name, ended, text(last, "step") if last else "", tuple(crashes.values()), last)
