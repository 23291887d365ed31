"""Thousands of nodes: those that are well are told together, those that are not one by one."""

from __future__ import annotations

from kube_world import World, daemon_pod, daemon_set, healthy, node, pod

from gonogo.checks.crowd import MOST, crowd
from gonogo.model import Finding, Status, Subject

COUNT = 300


def large() -> World:
    world = healthy()
    names = [f"many-{i:04d}" for i in range(COUNT)]
    world.add(*(node(name) for name in names))
    world.add(*(daemon_pod(owner, name) for name in names for owner in ("aws-node", "aws-efa-k8s-device-plugin")))
    world.add(daemon_set("x", "y"))
    return world


def test_the_odd_ones_of_many_are_named_and_the_rest_is_one_finding() -> None:
    world = large()
    world.node("many-0007")["status"]["allocatable"]["nvidia.com/gpu"] = "7"
    found, diagnoses = world.judge("GPU101", "NOD101", "EFA102")
    assert [str(f.subject) for f in found if f.status is Status.FAIL] == ["node/many-0007"]
    ok = [f for f in found if f.status is Status.OK]
    assert len(ok) == 3 and all(str(f.subject) == "cluster" for f in ok)
    assert f"{COUNT + 1} of {COUNT + 2} nodes alike; the first: 8 of 8 GPUs of node-0" in " ".join(
        f.message for f in ok
    )
    assert [d.cause for d in diagnoses] == ["gpu.fewer_than_type"]


def test_nodes_without_room_are_named_up_to_a_number() -> None:
    world = large()
    world.add(*(pod(f"old-{i}", f"many-{i:04d}", gpu="8") for i in range(COUNT)))
    found, _ = world.judge("SCH103")
    assert found[0].message.startswith(f"2 of {COUNT + 2} nodes have room")
    assert 1 < len(found) < 100


def test_few_are_told_one_by_one() -> None:
    told = [Finding(Status.OK, Subject("node", str(i)), "It is well.") for i in range(MOST)]
    assert list(crowd(told)) == told
