"""What of each Kubernetes object is kept: enough to judge, small enough for thousands.

Of environment variables, the values of those that training's own libraries read are kept, and of no others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.encode
Dict = dict[str, Any]

METADATA = ("name", "namespace", "uid", "labels", "annotations", "ownerReferences", "creationTimestamp",
            "deletionTimestamp", "resourceVersion")  # fmt: skip
NOTE_BYTES = 1024
POD_SPEC = ("nodeName", "overhead", "priority", "priorityClassName", "schedulerName", "tolerations", "nodeSelector",
            "affinity", "hostNetwork", "serviceAccountName", "restartPolicy", "subdomain", "hostname",
            "runtimeClassName", "schedulingGates", "resourceClaims")  # fmt: skip
CONTAINER = (
    "name",
    "image",
    "resources",
    "restartPolicy",
    "command",
    "args",
    "ports",
    "securityContext",
    "volumeMounts",
    "readinessProbe",
    "startupProbe",
)
POD_STATUS = ("phase", "reason", "message", "conditions", "podIP", "hostIP", "startTime", "qosClass",
              "containerStatuses", "initContainerStatuses")  # fmt: skip
EVENT = ("firstTimestamp", "eventTime", "lastTimestamp", "series", "type", "reason", "count", "involvedObject",
         "message", "source", "reportingComponent")  # fmt: skip
TRAINING_VARIABLE = re.compile(
    r"(?:NCCL|OFI_NCCL|FI|RDMAV|EFA|GLOO|TP|MASTER|TORCH|TORCHELASTIC|PET|TF|HOROVOD|OMPI|OMP|CUDA|NVIDIA|MKL)_[A-Z0-9_]+"
    r"|(?:LOCAL_)?RANK|(?:LOCAL_)?WORLD_SIZE|NNODES|NPROC_PER_NODE|LD_LIBRARY_PATH|PYTHONPATH"
)
CNI_VARIABLE = re.compile(
    r"(?:WARM|MINIMUM|ENABLE|AWS_VPC|POD|NETWORK_POLICY|ENI|MAX|DISABLE)_[A-Z0-9_a-z]+"  # ENABLE_IPv6
)
"""What the network plug-in of EKS is told by its environment."""
NODE_STATUS = ("capacity", "allocatable", "conditions", "addresses", "nodeInfo")


def projected(kind: str, raw: bytes) -> bytes:
    """One object's JSON with what gonogo judges by, on one line."""
    item: Dict = _decode(raw)
    item["metadata"] = _metadata(item.get("metadata") or {})
    if cut := _CUTS.get(kind):
        cut(item)
    return _encode({"apiVersion": item.pop("apiVersion", ""), "kind": item.pop("kind", "") or kind, **item})


def _only(mapping: Mapping[str, Any] | None, keys: tuple[str, ...]) -> Dict:
    return {key: mapping[key] for key in keys if mapping and key in mapping}


def _metadata(metadata: Dict) -> Dict:
    kept = _only(metadata, METADATA)
    if notes := kept.pop("annotations", None):
        short = {
            k: v for k, v in notes.items() if len(v) <= NOTE_BYTES and not k.endswith("last-applied-configuration")
        }
        if short:
            kept["annotations"] = short
    return kept


def _node(item: Dict) -> None:
    item["status"] = _only(item.get("status"), NODE_STATUS)


def _pod(item: Dict) -> None:
    item["spec"] = _pod_spec(item.get("spec") or {})
    item["status"] = _only(item.get("status"), POD_STATUS)


def _pod_spec(spec: Dict) -> Dict:
    kept = _only(spec, POD_SPEC)
    for key in ("containers", "initContainers"):
        if key in spec:
            kept[key] = [_container(container) for container in spec[key]]
    if volumes := [v for v in spec.get("volumes") or [] if not v.get("name", "").startswith("kube-api-access-")]:
        kept["volumes"] = volumes
    return kept


def _container(container: Dict) -> Dict:
    kept = _only(container, CONTAINER)
    if env := _training_variables(container.get("env")):
        kept["env"] = env
    return kept


def _event(item: Dict) -> None:
    """When, how bad and about whom go first, so that the line's head tells them."""
    kept = _only(item, EVENT)
    if about := kept.get("involvedObject"):
        name = about.pop("name", "")
        kept["involvedObject"] = {**_only(about, ("kind", "namespace", "uid", "fieldPath")), "name": name}
    metadata = {"metadata": _only(item.get("metadata"), ("name", "namespace", "creationTimestamp"))}
    version, kind = item.get("apiVersion", ""), item.get("kind", "")
    item.clear()
    item |= {"apiVersion": version, "kind": kind, **kept, **metadata}


def _job(item: Dict) -> None:
    """Whatever its kind, with no value of the environment but training's own, wherever its pod templates are."""
    for part in ("spec", "status"):
        if part in item:
            item[part] = _without_environment(item[part])


def _without_environment(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_environment(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {k: _training_variables(v) if k == "env" else _without_environment(v) for k, v in value.items()}


def _training_variables(env: Any) -> list[Dict]:
    return _variables(env, TRAINING_VARIABLE)


def _variables(env: Any, wanted: re.Pattern[str]) -> list[Dict]:
    variables = [v for v in env if isinstance(v, dict)] if isinstance(env, list) else []
    return [_only(v, ("name", "value")) for v in variables if wanted.fullmatch(str(v.get("name", "")))]


def _daemon_set(item: Dict) -> None:
    template = (item.get("spec") or {}).get("template") or {}
    full = template.get("spec") or {}
    spec = _pod_spec(full)
    if item["metadata"].get("name") == "aws-node":
        for key in ("containers", "initContainers"):
            for kept, whole in zip(spec.get(key, []), full.get(key) or [], strict=True):
                kept["env"] = _variables(whole.get("env"), CNI_VARIABLE)
    labels = (template.get("metadata") or {}).get("labels") or {}
    item["spec"] = {"template": {"metadata": {"labels": labels}, "spec": spec}}


def _crd(item: Dict) -> None:
    """Without the schemas, which are megabytes."""
    spec = item.get("spec") or {}
    versions = [_only(v, ("name", "served", "storage", "deprecated")) for v in spec.get("versions") or []]
    item["spec"] = {**_only(spec, ("group", "names", "scope")), "versions": versions}
    item["status"] = _only(item.get("status"), ("conditions", "storedVersions"))


_CUTS: dict[str, Callable[[Dict], None]] = {
    "Node": _node,
    "Pod": _pod,
    "Event": _event,
    **dict.fromkeys(("Job", "JobSet", "TrainJob", "PyTorchJob", "MPIJob", "TFJob", "XGBoostJob", "JAXJob"), _job),
    "DaemonSet": _daemon_set,
    "CustomResourceDefinition": _crd,
}
