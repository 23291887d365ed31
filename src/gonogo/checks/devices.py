"""Devices that nodes advertise, against what their type has; and the plug-ins that should advertise them."""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.kube_nodes import ChosenNodes, KubeNode, expected, some
from gonogo.facts.kube_pods import DaemonSet, DaemonSets, Pods
from gonogo.facts.kube_quantity import EFA, GPU, NEURON
from gonogo.model import Evidence, Finding, Status, Subject
from gonogo.plan import Plan

PLUGINS = {
    GPU: ("nvidia-device-plugin", "k8s-device-plugin", "gpu-operator", "nvidia-gpu-device-plugin"),
    NEURON: ("neuron-device-plugin",),
    EFA: ("efa-k8s-device-plugin",),
}
NOUNS = {GPU: "GPUs", NEURON: "Neuron devices", EFA: "EFA adapters"}


def resource_of(node: KubeNode, efa: bool) -> str:
    """The resource that the node's type should advertise."""
    if efa:
        return EFA
    return node.type.resource if node.type and node.type.resource else GPU


def counted(nodes: ChosenNodes, plan: Plan, *, efa: bool) -> Iterator[Finding]:
    """One finding for each node whose type, or the plan, says how many devices it should have."""
    for subject, node in some(nodes).items():
        resource = resource_of(node, efa)
        noun = NOUNS.get(resource, resource)
        should, source = expected(node, resource, plan)
        have = node.allocatable.get(resource, 0.0)
        evidence = (node.evidence(f"{node.name}: allocatable {resource} {have:g}"),)
        if should:
            status = Status.OK if have == should else Status.FAIL
            text = f"{have:g} of {should} {noun} of {node.name} are allocatable."
            if have > should:
                text = f"{node.name} advertises {have:g} {noun}; its {source} has {should}."
            yield Finding(status, subject, text, have, should, "devices", source, evidence)
        elif have and not source:
            text = f"{node.name} advertises {have:g} {noun}; its type {node.type_name or '(none stated)'} is not known."
            yield Finding(Status.UNKNOWN, subject, text, have, evidence=evidence)


def served(nodes: ChosenNodes, sets: DaemonSets, pods: Pods, plan: Plan, *, efa: bool) -> Iterator[Finding]:
    """One finding for each node that should have devices: whether a plug-in runs there and why not."""
    for subject, node in some(nodes).items():
        resource = resource_of(node, efa)
        if not expected(node, resource, plan)[0] or resource not in PLUGINS:
            continue
        plugins = plugins_of(sets, resource)
        yield _served(subject, node, resource, plugins, pods)


def plugins_of(sets: DaemonSets, resource: str) -> tuple[DaemonSet, ...]:
    """The plug-ins for a resource; their names contain one another's."""
    others = {s for other, words in PLUGINS.items() if other != resource for s in map(id, sets.of(*words[:1]))}
    return tuple(s for s in sets.of(*PLUGINS[resource]) if id(s) not in others)


def _served(subject: Subject, node: KubeNode, resource: str, plugins: tuple[DaemonSet, ...], pods: Pods) -> Finding:
    noun = NOUNS[resource]
    if not plugins:
        advertised = node.allocatable.get(resource, 0.0)
        if advertised:
            text = f"{node.name} advertises its {noun}, by something other than a known device plugin."
            return Finding(
                Status.OK, subject, text, evidence=(node.evidence(f"allocatable {resource} {advertised:g}"),)
            )
        return Finding(
            Status.FAIL, subject, f"No device plugin for {noun} is installed, so {node.name} advertises none."
        )
    owners = {f"DaemonSet/{p.name}" for p in plugins}
    here = [p for p in pods.by_node.get(node.name, ()) if p.owner in owners]
    if any(p.ready for p in here):
        return Finding(Status.OK, subject, f"The device plugin for {noun} is ready on {node.name}.")
    if here:
        why = here[0].trouble or f"its phase is {here[0].phase}"
        text = f"The device plugin for {noun} is not ready on {node.name}: {why.rstrip('.')}."
        return Finding(Status.FAIL, subject, text, evidence=(here[0].evidence(f"pod {here[0].name}: {why}"),))
    reasons = [(p, p.excludes(node)) for p in plugins]
    plugin, why = next(((p, w) for p, w in reasons if w), (plugins[0], "no pod of it is there"))
    if not why.startswith("no pod") or pods.everywhere:
        text = f"The device plugin for {noun} does not run on {node.name}: {why} (daemonset/{plugin.name})."
        evidence: tuple[Evidence, ...] = (plugin.evidence(f"{plugin.name}: desired {plugin.desired}; {why}"),)
        return Finding(Status.FAIL, subject, text, plugin.desired, evidence=evidence)
    text = f"Whether the device plugin for {noun} runs on {node.name} is not known: its namespace can't be read."
    return Finding(Status.UNKNOWN, subject, text)
