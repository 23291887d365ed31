"""What `kubectl describe` prints of pods and nodes, as the objects that it describes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_TAINT = re.compile(r"^(?P<key>[^=:]+)(?:=(?P<value>[^:]*))?:(?P<effect>\w+)")
_TOLERATION = re.compile(r"^(?P<key>[^=:\s]+)(?:=(?P<value>[^:\s]*))?(?::(?P<effect>\w+))?(?P<exists> op=Exists)?")


def from_description(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Kind and data of a described pod or node; None for anything else."""
    if "Containers" in data:
        return "Pod", _pod(data)
    if "Allocatable" in data or "Capacity" in data or ("Taints" in data and "Conditions" in data):
        return "Node", _node(data)
    if isinstance(spec := data.get("Spec"), dict) and "PodSelector" in spec:
        return "NetworkPolicy", {"metadata": _metadata(data), "spec": _policy(spec)}
    if "role-arn" in str(data.get("Annotations", "")) or "Mountable secrets" in data:
        annotations = dict(line.partition(": ")[::2] for line in _lines(data, "Annotations") if ": " in line)
        return "ServiceAccount", {"metadata": {**_metadata(data), "annotations": annotations}}
    return None


def _metadata(data: Mapping[str, Any]) -> dict[str, Any]:
    labels = dict(line.partition("=")[::2] for line in _lines(data, "Labels") if "=" in line)
    return {"name": str(data.get("Name", "")), "namespace": str(data.get("Namespace", "")), "labels": labels}


def _node(data: Mapping[str, Any]) -> dict[str, Any]:
    taints = [m.groupdict() for line in _lines(data, "Taints") if (m := _TAINT.match(line))]
    status: dict[str, Any] = {"conditions": _conditions(data)}
    for name, key in (("allocatable", "Allocatable"), ("capacity", "Capacity")):
        offered = data.get(key)
        if isinstance(offered, dict):
            status[name] = {k: v for k, v in offered.items() if isinstance(v, str)}
    told = data.get("System Info")
    if isinstance(told, dict):
        words = {"Kubelet Version": "kubeletVersion", "Kernel Version": "kernelVersion", "OS Image": "osImage"}
        status["nodeInfo"] = {words[k]: v for k, v in told.items() if k in words and isinstance(v, str)}
    status["allocated"] = {row[0]: row[1] for row in _rows(data, "Allocated resources") if len(row) > 1}
    status["pods"] = [{"namespace": row[0], "name": row[1]} for row in _rows(data, "Non-terminated Pods") if row[1:]]
    taken = [{k: v for k, v in t.items() if v} for t in taints]
    return {"metadata": _metadata(data), "spec": {"taints": taken}, "status": status}


def _rows(data: Mapping[str, Any], key: str) -> list[list[str]]:
    """The words of the rows under the line of dashes of a table."""
    inner = data.get(key)
    lines = data.get(f"{key}\0") or (inner.get(f"{key}\0") if isinstance(inner, dict) else None) or []
    dashes = next((i for i, line in enumerate(lines) if str(line).startswith("--")), len(lines))
    return [str(line).split() for line in lines[dashes + 1 :]]


def _conditions(data: Mapping[str, Any]) -> list[dict[str, str]]:
    """The rows of the table of conditions, by the columns that its head names."""
    told = data.get("Conditions")
    lines = told.get("Conditions\0", []) if isinstance(told, dict) else []
    columns = [c[0].lower() + c[1:] for c in lines[0].split()] if lines else []
    rows = [re.split(r" {2,}", line) for line in lines[1:] if not line.startswith("--")]
    return [dict(zip(columns, row, strict=False)) for row in rows]


def _pod(data: Mapping[str, Any]) -> dict[str, Any]:
    node = str(data.get("Node", "")).partition("/")[0]
    containers = data["Containers"] if isinstance(data["Containers"], dict) else {}
    tolerations = [m.groupdict() for line in _lines(data, "Tolerations") if (m := _TOLERATION.match(line))]
    return {
        "metadata": _metadata(data),
        "spec": {
            "nodeName": "" if node == "<none>" else node,
            "nodeSelector": dict(line.split("=", 1) for line in _lines(data, "Node-Selectors") if "=" in line),
            "containers": [_container(n, c) for n, c in containers.items() if isinstance(c, dict)],
            "tolerations": [
                {
                    "key": t["key"],
                    "operator": "Equal" if t["value"] else "Exists",
                    "value": t["value"],
                    "effect": t["effect"],
                }
                for t in tolerations
            ],
        },
        "status": {
            **{
                k: str(data[n])
                for k, n in (("phase", "Status"), ("reason", "Reason"), ("message", "Message"))
                if n in data
            },
            "containerStatuses": [_status(n, c) for n, c in containers.items() if isinstance(c, dict) and "State" in c],
        },
    }


def _container(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    parts = {part.lower(): data[part] for part in ("Limits", "Requests") if isinstance(data.get(part), dict)}
    mounts = [{"mountPath": line.split(" ")[0]} for line in _lines(data, "Mounts")]
    return {"name": name, "image": str(data.get("Image", "")), "resources": parts, "volumeMounts": mounts}


def _status(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of a container's present and former state."""
    count = str(data.get("Restart Count", "0"))
    told: dict[str, Any] = {"name": name, "restartCount": int(count) if count.isdigit() else 0}
    told["ready"] = data.get("Ready") == "True"
    for key, word in (("state", "State"), ("lastState", "Last State")):
        if word in data:
            about = data.get(f"{word}\1")
            told[key] = _state(str(data[word]), about if isinstance(about, dict) else {})
    return told


def _state(word: str, about: Mapping[str, Any]) -> dict[str, Any]:
    if word == "Running":
        return {"running": {}}
    code = str(about.get("Exit Code", "0"))
    reason = {"reason": str(about.get("Reason", ""))}
    return (
        {"terminated": {**reason, "exitCode": int(code) if code.isdigit() else 0}}
        if word == "Terminated"
        else {"waiting": reason}
    )


def _lines(data: Mapping[str, Any], key: str) -> list[str]:
    """The lines of a list, the first of which stands beside the key."""
    value = data.get(key)
    found = [value] if isinstance(value, str) else list(value) if isinstance(value, dict) else []
    return [*found, *data.get(f"{key}\0", [])]


def _policy(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A NetworkPolicy; of several rules of one direction only the last is told apart."""
    told: dict[str, Any] = {
        "podSelector": _selector(str(spec.get("PodSelector", ""))),
        "policyTypes": [t.strip() for t in str(spec.get("Policy Types", "")).split(",") if t.strip()],
    }
    for direction, ends in (("ingress", "From"), ("egress", "To")):
        rule = spec.get(f"Allowing {direction} traffic")
        if not isinstance(rule, dict) or not (rule.get("To Port") or rule.get(ends)):
            continue
        port, _, protocol = str(rule.get("To Port", "")).partition("/")
        peers = rule.get(ends)
        words = {"NamespaceSelector": "namespaceSelector", "PodSelector": "podSelector", "IPBlock": "ipBlock"}
        who = [{words[k]: _selector(str(v))} for k, v in peers.items() if k in words] if isinstance(peers, dict) else []
        ports = [{"port": port, "protocol": protocol}] if port.isdigit() else []
        told[direction] = [{**({"ports": ports} if ports else {}), **({ends.lower(): who} if who else {})}]
    return told


def _selector(text: str) -> dict[str, Any]:
    pairs = dict(p.split("=", 1) for p in text.split(",") if "=" in p and "<none>" not in p)
    return {"matchLabels": pairs} if pairs else {}
