"""What checks of ordered pairs share: one finding a pair, out of all its probes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gonogo.facts.ports import BLOCKED, Ports, Probe
from gonogo.kernel import Skip
from gonogo.model import Finding, Status, link


def need_pairs(ports: Ports) -> None:
    """Raises Skip where there is one node alone."""
    if len(ports) < 2:
        raise Skip("One node alone reaches nobody.")


def judge(ports: Ports, *roles: str) -> Iterator[Finding]:
    """Whether each node reaches each other one on all ports of these roles.

    Blocked, mute and exhausted fail. What was not tried, or reached somebody else, is unknown: that port is not proven.
    """
    need_pairs(ports)
    wanted = ports.wanted(*roles)
    for source, target in ports.pairs():
        probes = ports.probes(source, target, *roles)
        reached = {p.port for p in probes if p.connected}
        missed = [p for p in probes if not p.connected]
        untried = [port for port in wanted if port not in {p.port for p in probes}]
        details = _details(wanted, missed, untried)
        yield Finding(
            _status(missed, untried),
            link(source, target),
            f"{source} reaches {target} on {len(reached)} of {len(wanted)} ports ({details}).",
            measured=len(reached),
            expected=len(wanted),
            unit="ports",
            evidence=tuple(p.evidence for p in (missed or probes)),
        )


def _status(missed: Iterable[Probe], untried: Iterable[int]) -> Status:
    outcomes = {p.outcome for p in missed}
    if outcomes & {*BLOCKED, "mute", "exhausted"}:
        return Status.FAIL
    return Status.UNKNOWN if outcomes or tuple(untried) else Status.OK


def _details(wanted: Iterable[int], missed: Iterable[Probe], untried: Iterable[int]) -> str:
    said: dict[str, list[int]] = {}
    for probe in missed:
        said.setdefault(_alike(probe), []).append(probe.port)
    for port in untried:
        said.setdefault("not tried", []).append(port)
    return "; ".join(f"{spell(ports)}: {what}" for what, ports in said.items()) or spell(wanted)


def _alike(probe: Probe) -> str:
    """What happened without its exact duration, so that ports with one fate stand together."""
    if probe.outcome == "silent" and probe.seconds:
        return f"no answer within {probe.seconds:.0f} s"
    return probe.said.partition(" after ")[0]


def spell(ports: Iterable[int]) -> str:
    """29400, 29500."""
    return ", ".join(str(port) for port in ports)
