"""Ports that packets don't pass, sorted into the fewest faults that account for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gonogo.facts.ports import BLOCKED, Ports, Probe
from gonogo.facts.shapes import Pair, Shape, shapes

ByPort = dict[tuple[str, str, int], Probe]
"""(from, to, port) -> the probe of it."""

ARP_SECONDS = 2.5
"""Nobody answers for the address: the kernel asks three times, a second apart. A rule that rejects is sooner, unless
its ICMP error is held back by the kernel's own limit on them and comes with the next attempt."""

AT_ONCE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Blocked:
    """One fault: the same ports, for the same set of pairs, blocked in the same way."""

    shape: Shape
    ports: tuple[int, ...]
    all_ports: bool  # that were tried
    how: str  # dropped, rejected or unreachable
    one_way: bool  # the same ports connect in the other direction
    probes: tuple[Probe, ...]
    open: tuple[Probe, ...]  # what does connect, and shows that the rest is well: other ports, or the way back

    @property
    def spelled(self) -> str:
        """port 29500, ports 1, 2, or all 5 ports tried (1, 2 …)."""
        listed = ", ".join(map(str, self.ports))
        if self.all_ports and len(self.ports) > 1:
            return f"all {len(self.ports)} ports tried ({listed})"
        return f"port{'s' if len(self.ports) > 1 else ''} {listed}"


def blocked(ports: Ports) -> list[Blocked]:
    """All faults, those between all nodes first.

    Only probes of ports on which the target is known to listen count: nobody there, a dead agent or a name that does
    not resolve are no blocked ports.
    """
    probes = {(p.source, p.target, p.port): p for n in ports.present.values() for p in n.probes}
    bad = {key: p for key, p in probes.items() if p.outcome in BLOCKED and ports.listens(p.target, p.port)}
    tried = {(source, target) for source, target, _ in probes}
    made = []
    for (one_way, _, numbers), by in _groups(bad, probes).items():
        for shape in shapes(by.keys(), tried, ports.names):
            mine = tuple(p for pair in shape.pairs for p in by[pair])
            made.append(_fault(shape, tuple(sorted(numbers)), one_way, mine, list(probes.values())))
    return sorted(made, key=lambda b: -len(b.probes))


def _groups(bad: ByPort, probes: ByPort) -> dict[tuple[bool, str, frozenset[int]], dict[Pair, list[Probe]]]:
    """Pairs with one fate: one way or both, the same outcome, on the same ports."""
    groups: dict[tuple[bool, str, frozenset[int]], dict[Pair, list[Probe]]] = {}
    for one_way in (False, True):
        by_pair: dict[Pair, list[Probe]] = {}
        for p in _ways(bad, probes, one_way):
            by_pair.setdefault((p.source, p.target), []).append(p)
        for pair, mine in by_pair.items():
            for outcome, found in _by_outcome(mine).items():
                groups.setdefault((one_way, outcome, frozenset(p.port for p in found)), {})[pair] = found
    return groups


def _ways(bad: ByPort, probes: ByPort, one_way: bool) -> list[Probe]:
    """Of the bad probes those whose way back connects on the same port, or those whose way back doesn't."""
    back = {key: probes.get((key[1], key[0], key[2])) for key in bad}
    return [p for key, p in bad.items() if bool((b := back[key]) and b.connected) is one_way]


def _fault(
    shape: Shape, numbers: tuple[int, ...], one_way: bool, mine: tuple[Probe, ...], every: Iterable[Probe]
) -> Blocked:
    pairs = set(shape.pairs) | ({(b, a) for a, b in shape.pairs} if one_way else set())
    around = [p for p in every if (p.source, p.target) in pairs]
    ports_there = {p.port for p in every if (p.source, p.target) in shape.pairs}
    passing = tuple(p for p in around if p.connected)
    return Blocked(shape, numbers, ports_there <= set(numbers), how(mine), one_way, mine, passing)


def _by_outcome(mine: Iterable[Probe]) -> dict[str, list[Probe]]:
    """One pair's blocked probes by what became of them: silent, refused or unreachable.

    A kernel sends few ICMP errors a second, so that of many connections some hear nothing: those go with the others.
    """
    found: dict[str, list[Probe]] = {}
    for p in mine:
        found.setdefault("refused" if p.outcome == "reset" else p.outcome, []).append(p)
    if "unreachable" in found:
        found["unreachable"] += found.pop("silent", [])
    return found


def how(probes: Iterable[Probe]) -> str:
    """dropped: no answer; rejected: a refusal at once; unreachable: none that came sooner than ARP gives up."""
    told = [p for p in probes if p.outcome != "silent"]
    if not told:
        return "dropped"
    took = [p.seconds or 0.0 for p in told]
    no_answer = (
        all(p.outcome == "unreachable" for p in told) and max(took) >= ARP_SECONDS and min(took) >= AT_ONCE_SECONDS
    )
    return "unreachable" if no_answer else "rejected"
