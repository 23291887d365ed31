"""How ranks and agents ended, over collectives and training: who was killed, who stands still."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gonogo.facts.collectives import Collectives
from gonogo.facts.ranks import Exit, Failure, Rank, home, spell_signal
from gonogo.facts.starved import out_of_time
from gonogo.facts.train import TrainRun
from gonogo.model import Evidence

_KILLED = re.compile(r"killed by signal (\d+)")


@dataclass(frozen=True, slots=True)
class Ending:
    """How one process ended; signal is None unless somebody else than gonogo killed it."""

    who: str  # the rank of collectives, rank 3 of train, or the agent
    said: str  # to follow `it `
    signal: int | None
    at: str  # what it was doing
    at_seconds: float  # since 1970, by the node's clock; 0 where it isn't known
    evidence: tuple[Evidence, ...]
    oom_kills: int = 0  # by the kernel, in its cgroup, while it ran

    @property
    def spelled(self) -> str:
        """signal 9 (SIGKILL)."""
        return spell_signal(self.signal or 0)


@dataclass(frozen=True, slots=True)
class Stall:
    """Why a node is said to stand still; it is sure where its kernel still answers for it, or its agent is mute."""

    text: str
    is_sure: bool
    evidence: tuple[Evidence, ...]
    at: str = ""


Runs = tuple[tuple[str, Collectives | TrainRun], ...]


def runs_of(collectives: Collectives | None, train: TrainRun | None) -> Runs:
    """The runs that there are, by the step's name, in the order in which they ran."""
    named: tuple[tuple[str, Collectives | TrainRun | None], ...] = (("collectives", collectives), ("train", train))
    return tuple((step, run) for step, run in named if run is not None)


def ranks_in(run: Collectives | TrainRun) -> dict[str, Rank]:
    """Rank, as it is spelled -> its process."""
    return {entry.rank.name: entry.rank for entry in run.present.values()}


def nodes_in(run: Collectives | TrainRun) -> tuple[str, ...]:
    """The nodes that were expected."""
    return tuple(dict.fromkeys(home(subject).name for subject in run.ranks))


def _at(run: Collectives | TrainRun, name: str) -> str:
    """What the first of a node's ranks was about to do."""
    return next((rank.at for rank in ranks_in(run).values() if rank.node == name), "")


def endings(collectives: Collectives | None, train: TrainRun | None) -> dict[str, list[Ending]]:
    """Node -> the endings that are known, in order; the agent's own is among them where it was killed."""
    found: dict[str, list[Ending]] = {}
    for step, run in runs_of(collectives, train):
        for name in nodes_in(run):
            found.setdefault(name, [])
        for rank in ranks_in(run).values():
            if rank.exit:
                found[rank.node].append(_of_rank(step, rank, rank.exit))
    for step, run in runs_of(collectives, train):
        for name, how in run.after.ended.items():
            killed = _KILLED.search(how)
            if killed and not any(e.who == "the agent" for e in found.get(name, ())):
                ending = Ending("the agent", how, int(killed[1]), _at(run, name) or step, *last_word(run, name))
                found.setdefault(name, []).append(ending)
    return found


def _of_rank(step: str, rank: Rank, end: Exit) -> Ending:
    who, evidence = f"{rank.local} of {step}", (end.evidence(rank.name),)
    return Ending(who, end.said, end.killed_by, rank.at or "its start", end.at_seconds, evidence, end.oom_kills)


def last_word(run: Collectives | TrainRun, name: str) -> tuple[float, tuple[Evidence, ...]]:
    """When a node's agent ended or was last heard of, and the records of that; (0, nothing) where nothing is known."""
    end, last = run.after.exits.get(name), run.after.last.get(name)
    told = [end.evidence(f"{name}'s agent: {run.after.ended.get(name, '')}")] if end else []
    told += [last.evidence(f"the last word of {name}'s agent")] if last else []
    at = next((r.get("t") for r in (end, last) if r is not None), None)
    return float(at) if isinstance(at, int | float) else 0.0, tuple(told)


def failures(collectives: Collectives | None, train: TrainRun | None, but: str) -> list[Evidence]:
    """The first error of each other rank, the earliest first; `but` is the node at fault, or one of whose ranks is."""
    found: dict[str, Failure] = {}
    for _, run in runs_of(collectives, train):
        for rank in ranks_in(run).values():
            if rank.failure and (rank.node != but or rank.number is not None):
                found.setdefault(rank.name, rank.failure)
    return [f.evidence for f in sorted(found.values(), key=lambda f: f.at_seconds)]


def stalls(collectives: Collectives | None, train: TrainRun | None) -> dict[str, Stall]:
    """Node -> why it is said to stand still.

    A frozen node's kernel still accepts connections for it, and nobody speaks: mute. A frozen rank alone is the one
    that never reported an error while the others did, and had to be ended.
    """
    found: dict[str, Stall] = {}
    for _, run in runs_of(collectives, train):
        for name, stall in _stalls_in(run).items():
            found.setdefault(name, stall)
    return found


def _stalls_in(run: Collectives | TrainRun) -> dict[str, Stall]:
    found: dict[str, Stall] = {}
    for name in nodes_in(run):
        at = _at(run, name)
        mute = [p for p in run.after.probes if p.target == name and p.source != name and p.outcome == "mute"]
        stopped = "stopped answering" in run.after.ended.get(name, "")
        if mute:
            who = ", ".join(dict.fromkeys(p.source for p in mute))
            text = f"its kernel accepts connections of {who}, and nobody there speaks"
            found[name] = Stall(text, True, tuple(p.evidence for p in mute[:3]) + last_word(run, name)[1], at)
        elif stopped:
            found[name] = Stall(f"its agent {run.after.ended[name]}", True, last_word(run, name)[1], at)
    return found or _mute_ranks(list(ranks_in(run).values()))


def _mute_ranks(ranks: list[Rank]) -> dict[str, Stall]:
    """Ranks that had to be ended and never said why; told apart from those who waited only if some did report."""
    late = out_of_time(ranks)
    reported = [r for r in ranks if r.failure]
    ended = [r for r in ranks if r.exit and r.exit.reason == "deadline" and not r.failure]
    sure = bool(reported) and len(ended) == 1 and late is None
    found = {}
    for rank in ended:
        assert rank.exit
        who = "its rank" if rank.number is None else f"its {rank.local}"
        text = f"{who} was ended in {rank.at or 'its start'} when its time was up, and had reported no error"
        text += f"; {late.said}" if late else ""
        found[rank.node] = Stall(text, sure, (rank.exit.evidence(rank.name),), rank.at)
    return found
