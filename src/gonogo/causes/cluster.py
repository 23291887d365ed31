"""From findings about a cluster's objects to a diagnosis, and what follows from pods that never ran."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gonogo.documents.kubernetes import PodsDocument, PodStart
from gonogo.kernel import Findings
from gonogo.model import Certainty, Diagnosis, Evidence, Finding, FindingKey, Repair, Status, Subject

AGENT_PREFIXES = ("NET00", "NOD00", "LNK", "COL", "TRN", "JOB", "GLO", "SFT", "LIM", "STO00")
"""Checks of what agents say: they wait for pods that run."""

NEVER_RAN = "never ran: "  # what is recorded of the agent of a pod that didn't come to run


def failed(findings: Findings, check: str, holds: Callable[[Finding], bool] = lambda f: True) -> list[Finding]:
    """The fails of a check of which that holds."""
    return [f for f in findings.failed(check) if holds(f)]


def diagnose(
    cause: str,
    roots: Iterable[Finding],
    summary: str,
    *,
    repair: Repair,
    commands: Iterable[str] = (),
    follows: Iterable[FindingKey] = (),
    also: Iterable[Evidence] = (),
    subjects: Iterable[Subject] = (),
    next_observation: str = "",
    certainty: Certainty = Certainty.ESTABLISHED,
) -> Diagnosis:
    """What the findings say outright, with what they cite, and what follows from it."""
    found = list(roots)
    evidence = [e for f in found for e in (f.evidence or (Evidence(f.message),))]
    explains = dict.fromkeys([*(f.key for f in found), *follows])
    about = tuple(dict.fromkeys([*(f.subject for f in found), *subjects]))
    return Diagnosis(
        cause, certainty, summary, about, tuple(dict.fromkeys([*evidence, *also])), tuple(explains),
        repair=repair, commands=tuple(dict.fromkeys(commands)), next_observation=next_observation,
    )  # fmt: skip


def not_run(findings: Findings, *reasons: str) -> list[Finding]:
    """The pods that don't run for one of these reasons, or for any."""
    return [f for f in findings.failed("POD103") if not reasons or f.measured in reasons]


def follows(findings: Findings, pods: PodsDocument | None, *reasons: str) -> Iterator[FindingKey]:
    """What comes of pods that don't run for these reasons: their own findings, and what waits for them."""
    stuck = not_run(findings, *reasons)
    if not stuck:
        return
    yield from (f.key for f in stuck)
    names = {f.subject.name for f in stuck}
    absent = {name for p in (pods.pods if pods else ()) if p.pod in names for name in _names(p)}
    running = sum(p.state == "running" for p in pods.pods) if pods else 0
    for f in findings:
        if f.check.startswith(AGENT_PREFIXES) or f.check == "POD104":
            about = f.subject.name in absent or f.subject.to in absent or NEVER_RAN in f.message
            alone = running < 2 and f.status is Status.FAIL
            if f.status is Status.UNKNOWN or (about and f.status in (Status.FAIL, Status.WARN)) or alone:
                yield f.key


def keeps_pods_out(
    cause: str, roots: Iterable[Finding], summary: str, findings: Findings, pods: PodsDocument | None, *,
    repair: Repair, commands: Iterable[str], next_observation: str = "",
) -> Diagnosis:  # fmt: skip
    """Nodes that don't offer what pods ask for: the room that is missing and the pods that wait come of it."""
    found = list(roots)
    subjects = {f.subject for f in found}
    room = failed(findings, "SCH103", lambda f: f.subject in subjects or f.subject.kind == "cluster")
    return diagnose(
        cause, [*found, *room], summary, repair=repair, commands=commands,
        follows=follows(findings, pods, "Unschedulable"), next_observation=next_observation,
    )  # fmt: skip


def no_plugin(
    cause: str, devices: str, findings: Findings, pods: PodsDocument | None, *, number: str, plugin: str, install: str
) -> Iterator[Diagnosis]:
    """Nodes that advertise none by check `number`, and have no plugin that would by check `plugin`."""
    none = {f.subject: f for f in failed(findings, number, lambda f: f.measured == 0)}
    roots = failed(findings, plugin, lambda f: f.subject in none and f.message.startswith("No device plugin"))
    if roots:
        subjects = [f.subject for f in roots]
        yield keeps_pods_out(
            cause, [*roots, *(none[s] for s in subjects)],
            f"No device plugin advertises the {devices} of {names(subjects)}.", findings, pods,
            repair=Repair.INSTALL_COMPONENT, commands=(install,),
            next_observation="kubectl -n kube-system get daemonsets",
        )  # fmt: skip


def names(subjects: Iterable[Subject], most: int = 4) -> str:
    """`node-1, node-2 and 3 more`."""
    told = list(dict.fromkeys(s.name for s in subjects))
    more = f" and {len(told) - most} more" if len(told) > most else ""
    return ", ".join(told[:most]) + more


def _names(pod: PodStart) -> Iterator[str]:
    """By which names findings speak of it: its node's, or its own without the random end."""
    yield pod.node
    yield pod.pod
    yield pod.pod.rpartition("-")[0]
