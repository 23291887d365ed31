"""Rows of kubectl's tables, and of people's own columns, as the objects that they show a part of."""

from __future__ import annotations

import re
from typing import Any

from gonogo.documents.structured import KIND

_HASHED = re.compile(r"-[a-z0-9]{8,10}$")
_INSTANCE_TYPE = re.compile(r"^[a-z][a-z0-9-]*\d[a-z0-9-]*\.(?:\d*xlarge|metal\S*|large|medium)$")
_RESOURCES = (
    (re.compile(r"EFA"), "vpc.amazonaws.com/efa"),
    (re.compile(r"^(?:NVIDIA.COM/)?GPUS?$|^GPU"), "nvidia.com/gpu"),
    (re.compile(r"HUGEPAGES-2MI"), "hugepages-2Mi"),
)
_ENDS = ("Succeeded", "Complete", "Completed", "Failed", "Running", "Suspended")
NONE = ("<none>", "-", "none", "")


def from_row(row: dict[str, str]) -> tuple[str, dict[str, Any]] | None:
    """Kind and data of the object that a row shows a part of; None for tables of other things."""
    if asked := row.get(KIND, ""):
        return _custom(asked, row)
    columns = set(row)
    metadata: dict[str, Any] = {"name": row.get("NAME", "").split("/")[-1], "namespace": row.get("NAMESPACE", "")}
    if columns >= {"READY", "STATUS", "RESTARTS"}:
        node = row.get("NODE", "")
        status = {
            "phase": row["STATUS"],
            "podIP": row.get("IP", ""),
            "ready": row["READY"],
            "restarts": row["RESTARTS"],
        }
        metadata["labels"] = dict(p.split("=", 1) for p in row.get("LABELS", "").split(",") if "=" in p)
        return "Pod", {"metadata": metadata, "spec": {"nodeName": "" if node in NONE else node}, "status": status}
    if machine := _node(row, metadata):
        return "Node", machine
    if columns >= {"STATUS", "CAPACITY", "ACCESS MODES"} and "VOLUME" in columns:
        spec = {"storageClassName": row.get("STORAGECLASS", "")}
        return "PersistentVolumeClaim", {"metadata": metadata, "status": {"phase": row["STATUS"]}, "spec": spec}
    if columns >= {"DESIRED", "CURRENT", "READY"}:
        kind = "ReplicaSet" if _HASHED.search(metadata["name"]) and "NODE SELECTOR" not in columns else "DaemonSet"
        return kind, {
            "metadata": metadata,
            "status": {"desiredNumberScheduled": row["DESIRED"], "numberReady": row["READY"]},
        }
    if "PROVISIONER" in columns:
        name = metadata["name"].split(" ")[0]
        return "StorageClass", {"metadata": {**metadata, "name": name}, "provisioner": row["PROVISIONER"]}
    if "ENDPOINTS" in columns:
        return "Endpoints", {"metadata": metadata, "addresses": row["ENDPOINTS"]}
    if (state := _state_of_job(row)) and "NAME" in columns:
        return "Job", {"metadata": metadata, "status": {"conditions": [{"type": state, "status": "True"}]}}
    if "NAME" in columns and row.get("STATE", row.get("STATUS", "")) in _ENDS and columns & {"AGE", "DURATION"}:
        word = row.get("STATE") or row["STATUS"]
        return "Job", {"metadata": metadata, "status": {"conditions": [{"type": word, "status": "True"}]}}
    if columns == {"NAME", "SECRETS", "AGE"} or columns == {"NAMESPACE", "NAME", "SECRETS", "AGE"}:
        return "ServiceAccount", {"metadata": metadata}
    if columns >= {"APIVERSION", "KIND"}:
        return "APIResource", {"metadata": metadata, "apiVersion": row["APIVERSION"], "kind": row["KIND"]}
    if columns >= {"NAME", "VERSION", "STATUS", "ISSUES"}:
        return "addon", {"metadata": metadata, "addonName": metadata["name"], "status": row["STATUS"]}
    if "ATTACHREQUIRED" in columns:
        return "CSIDriver", {"metadata": metadata}
    if columns >= {"TYPE", "CLUSTER-IP"}:
        return "Service", {"metadata": metadata, "spec": {"clusterIP": row["CLUSTER-IP"], "type": row["TYPE"]}}
    return None


def _state_of_job(row: dict[str, str]) -> str:
    """How a Job, JobSet or RayJob is, where its table has no column for that alone; "" where it has."""
    if word := row.get("JOB STATUS", row.get("TERMINALSTATE", "")).strip():
        return word.capitalize() if word.capitalize() in _ENDS else ""
    done, _, wanted = row.get("COMPLETIONS", "").partition("/")
    return ("Complete" if done == wanted else "Running") if done.isdigit() and "STATUS" not in row else ""


def _custom(asked: str, row: dict[str, str]) -> tuple[str, dict[str, Any]] | None:
    """The object of a row whose columns are known by their paths, as -o custom-columns was given them."""
    word = asked.split(".")[0].rstrip("s")
    kind = {"no": "Node", "node": "Node", "po": "Pod", "pod": "Pod"}.get(word, "Job" if "job" in word else "")
    made: dict[str, Any] = {"metadata": {"name": "", "labels": {}}, "spec": {}, "status": {}}
    for path, value in row.items():
        if not path.startswith("."):
            continue
        steps = [s.replace("\\", "") for s in re.split(r"(?<!\\)\.", path)[1:]]
        if "[" in path:
            if steps[:2] == ["spec", "taints[*]"] and value not in NONE:
                made["spec"]["taints"] = [{"key": k, "effect": "NoSchedule"} for k in value.split(",")]
            elif steps[1] in ("containerStatuses[0]", "containerStatuses[*]") and value not in NONE:
                states = made["status"].setdefault("containerStatuses", [{}])
                _put(states[0], steps[2:], int(value) if value.isdigit() else value)
            elif steps[0] == "status" and steps[1].startswith("conditions[") and steps[-1] == "type":
                made["status"]["conditions"] = [{"type": value, "status": "True"}]
            continue
        _put(made, steps, "0" if value in NONE and "allocatable" in steps else "" if value in NONE else value)
    return (kind, made) if kind else None


def _put(made: dict[str, Any], steps: list[str], value: Any) -> None:
    inner = made
    for step in steps[:-1]:
        inner = inner.setdefault(step, {})
        if not isinstance(inner, dict):
            return
    inner[steps[-1]] = value


def _node(row: dict[str, str], metadata: dict[str, Any]) -> dict[str, Any] | None:
    """A node: kubectl's own columns, or any that show an instance type or an AMI's release."""
    kubectl = row.keys() >= {"STATUS", "ROLES", "VERSION"}
    kind = next((v for v in row.values() if _INSTANCE_TYPE.match(v)), "")
    if not kubectl and not kind and "AMI-RELEASE" not in row:
        return None
    labels = {"node.kubernetes.io/instance-type": kind} if kind else {}
    if zone := row.get("ZONE"):
        labels["topology.kubernetes.io/zone"] = zone
    if arch := row.get("ARCH"):
        labels["kubernetes.io/arch"] = arch
    offered = {
        resource: "0" if value in NONE else value
        for column, value in row.items()
        for pattern, resource in _RESOURCES
        if pattern.search(column)
    }
    status: dict[str, Any] = {"ready": row.get("STATUS", "")}
    if offered:
        status["allocatable"] = offered
    if address := row.get("INTERNAL-IP"):
        status["addresses"] = [{"type": "InternalIP", "address": address}]
    info = {
        "kubeletVersion": row.get("VERSION", ""),
        "kernelVersion": row.get("KERNEL-VERSION", ""),
        "osImage": row.get("OS-IMAGE", ""),
    }
    status["nodeInfo"] = {k: v for k, v in info.items() if v}
    keys = [k for k in row.get("TAINTS", "").split(",") if k.strip() not in NONE]
    spec = {"taints": [{"key": k.strip(), "effect": "NoSchedule"} for k in keys]} if keys else {}
    return {"metadata": {**metadata, "labels": labels}, "spec": spec, "status": status}
