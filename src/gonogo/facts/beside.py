"""Containers beside the one that trains: what ends there is not the job's trouble while that one goes on."""

from __future__ import annotations

from typing import Any

from gonogo.facts.objects import Object, Objects

GPU = "nvidia.com/gpu"


def files_of_helpers(objects: Objects) -> frozenset[str]:
    """Files that tell of pods in which only such a container ended, and the main one runs as it was first started."""
    pods = objects.of("Pod")
    told = {p.file.name for p in pods if only_beside(p)}
    return frozenset(told - {p.file.name for p in pods if not only_beside(p)})


def only_beside(pod: Object) -> bool:
    """Whether what ended in a pod is a container beside the main one, and came up again or ended well."""
    states = {str(c.get("name")): c for c in pod.items("status.containerStatuses")}
    containers = pod.items("spec.containers")
    if len(states) < 2 or not containers:
        return False
    main = str(next((c for c in containers if GPU in str(c.get("resources"))), containers[0]).get("name"))
    own = states.get(main, {})
    ended = [name for name, state in states.items() if _ended(state)]
    down = [n for n in ended if not _goes_on(states[n])]
    return (
        bool(ended)
        and not down
        and main not in ended
        and own.get("restartCount") == 0
        and "running" in _state(own, "state")
    )


def _ended(container: dict[str, Any]) -> bool:
    return bool(_state(container, "lastState").get("terminated") or _state(container, "state").get("terminated"))


def _goes_on(container: dict[str, Any]) -> bool:
    """Whether it runs again, or ended well."""
    now = _state(container, "state")
    over = now.get("terminated")
    return "running" in now or (isinstance(over, dict) and over.get("exitCode") == 0)


def _state(container: dict[str, Any], key: str) -> dict[str, Any]:
    value = container.get(key)
    return value if isinstance(value, dict) else {}
