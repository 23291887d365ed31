"""Why the scheduler placed a pod nowhere, node by node, as its message counts them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gonogo.facts.events import Event, Events

_PART = re.compile(r"(\d+) ((?:\{[^}]*\}|[^,{])+)")
_TAINT = re.compile(r"taint(?:s|\(s\))? ?\{(?P<key>[^:=}]+)(?:[:=] ?(?P<value>[^}]*))?\}")
_RESOURCE = re.compile(r"Insufficient (?P<resource>[\w./-]+)")
SYSTEM_TAINTS = ("node.kubernetes.io/", "node-role.kubernetes.io/", "node.cloudprovider.kubernetes.io/")


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """One message of the scheduler."""

    event: Event
    nodes: int
    reasons: tuple[tuple[int, str], ...]  # how many nodes, and why

    @property
    def insufficient(self) -> dict[str, int]:
        """Resource -> nodes that have too little of it."""
        return {m["resource"].rstrip("."): n for n, text in self.reasons if (m := _RESOURCE.search(text))}

    @property
    def lacking(self) -> int:
        """How many nodes have too little of something, as far as the message tells."""
        return max(self.insufficient.values(), default=0)

    @property
    def taints(self) -> dict[tuple[str, str], int]:
        """(Key, value) of each taint that is not the system's own -> nodes that it keeps the pod off."""
        found = {
            (m["key"].strip(), (m["value"] or "").strip()): n for n, text in self.reasons if (m := _TAINT.search(text))
        }
        return {taint: n for taint, n in found.items() if not taint[0].startswith(SYSTEM_TAINTS)}

    @property
    def unmatched(self) -> int:
        """How many nodes the pod's selector or affinity rules out; a volume's own affinity is none of it."""
        words = ("node affinity", "node selector", "nodeSelector")
        return sum(n for n, text in self.reasons if any(w in text for w in words) and "volume" not in text)

    def count(self, *words: str) -> int:
        """How many nodes are ruled out for a reason that has all of these words."""
        return sum(n for n, text in self.reasons if all(w in text for w in words))


def unschedulable(events: Events) -> tuple[Unschedulable, ...]:
    """All messages of the scheduler, the reasons parsed."""
    return tuple(Unschedulable(e, int(e["nodes"]), _parts(e)) for e in events.of("k8s.unschedulable"))


def without_scale_up(events: Events) -> tuple[Unschedulable, ...]:
    """All messages of the cluster autoscaler that it adds no node, its node groups counted as nodes."""
    told = ((e, _parts(e)) for e in events.of("k8s.no_scale_up"))
    return tuple(Unschedulable(e, sum(n for n, _ in parts), parts) for e, parts in told)


def _parts(event: Event) -> tuple[tuple[int, str], ...]:
    return tuple((int(n), text.strip(" .")) for n, text in _PART.findall(event.get("reasons")))
