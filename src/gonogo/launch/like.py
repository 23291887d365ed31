"""The user's own job as a pattern: its pod template, how many pods it has, and what kind it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from gonogo.documents.yamlfile import LOADER, MOST_DEPTH, MOST_VALUES, read_file
from gonogo.errors import InputError, did_you_mean, shown
from gonogo.facts.kube_quantity import ACCELERATORS, EFA
from gonogo.launch.podtemplate import TemplateError, checked
from gonogo.launch.ranks import ranks_of
from gonogo.launch.templates import remark_on

Dict = Mapping[str, Any]

MOST_PODS = 100_000

PLACEHOLDER = re.compile(r"\$\{?[A-Za-z_]\w*\}?|\{\{.*?\}\}|<[A-Za-z_][\w -]*>")
"""What a shell, Helm or a reader was to fill in: ${NUM_NODES}, {{ .Values.image }}, <your image>."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """What of a manifest decides where pods run and what they get."""

    kind: str  # apiVersion/kind
    namespace: str
    pods: int  # 0: it doesn't say
    template: Mapping[str, Any]  # a pod template: metadata and spec
    added_labels: Mapping[str, str] = field(default_factory=dict)  # what its controller adds to those of the template
    services: tuple[Mapping[str, Any], ...] = ()  # of the same manifest
    ranks: int = 0  # training processes of one pod; 0: it doesn't say
    remark: str = ""  # which of several pod templates this is, where they differ

    @property
    def rank(self) -> tuple[bool, int]:
        """Greater for what trains than for what only serves it, such as an etcd in the same manifest."""
        limits = [(c.get("resources") or {}).get("limits") or {} for c in self.template["spec"]["containers"]]
        kind = self.kind.rpartition("/")[2]
        return any(r in limit for r in (*ACCELERATORS, EFA) for limit in limits), -list(KINDS).index(kind)


def load(path: Path) -> Pattern:
    """The training job of a manifest. Raises InputError with file, and line where known."""
    data = read_file(path)
    try:
        documents = list(yaml.load_all(data, Loader=LOADER))  # a safe loader
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        hint = " It looks like a Helm template: give what `helm template` prints." if b"{{" in data else ""
        raise InputError(
            f"{path}{where}: not YAML: {str(getattr(error, 'problem', None) or error).partition(chr(10))[0]}.{hint}"
        ) from None
    _bear(documents, path)
    items = [_with_runtime(item, documents) for item in _objects(documents)]
    try:
        found = sorted(filter(None, map(pattern, items)), key=lambda p: p.rank, reverse=True)
    except TemplateError as error:
        raise InputError(f"{path}: {error}") from None
    if found:
        _filled_in(found[0], items, data, path)
        return replace(found[0], services=tuple(i for i in items if i.get("kind") == "Service"))
    kinds = [str(item.get("kind", "")) for item in items]
    if not kinds:
        raise InputError(f"{path}: holds no Kubernetes object; expected a manifest with apiVersion and kind.")
    hint = did_you_mean(kinds[0], KINDS)
    if "TrainJob" in kinds:
        hint = " A TrainJob takes its pods from its runtime: add that ClusterTrainingRuntime to the file."
    elif empty := [kind for kind in kinds if kind in KINDS]:
        raise InputError(f"{path}: the {empty[0]} has no pod template with containers.")
    raise InputError(f"{path}: {', '.join(kinds)} makes no pods; expected one of {', '.join(KINDS)}.{hint}")


def _bear(documents: list[Any], path: Path) -> None:
    """Refuse what aliases blow up, or nest too deep to be walked."""
    stack, seen = [(value, 0) for value in documents], 0
    while stack:
        value, depth = stack.pop()
        seen += 1
        if seen > MOST_VALUES or depth > MOST_DEPTH:
            raise InputError(f"{path}: holds more than {MOST_VALUES} values, or more than {MOST_DEPTH} within another.")
        if isinstance(value, Mapping | list):
            stack += [(v, depth + 1) for v in (value.values() if isinstance(value, Mapping) else value)]


def _filled_in(found: Pattern, items: list[Dict], data: bytes, path: Path) -> None:
    """Refuse what was left for a shell or a reader to fill in, where it decides how the pods run."""
    for value in _deciding(found, items):
        if PLACEHOLDER.search(value):
            line = next((n for n, text in enumerate(data.decode().splitlines(), 1) if value in text), 0)
            name = PLACEHOLDER.findall(value)[0]
            fill = f", such as `envsubst < {path}`" if name.startswith("$") else ""
            raise InputError(f"{path}{f':{line}' * bool(line)}: {shown(value)} still has to be filled in{fill}.")


def _deciding(found: Pattern, items: list[Dict]) -> Iterator[str]:
    """All texts that are no command, argument or environment, which a shell in the pod may well expand."""
    spec = found.template["spec"]
    containers = [
        {key: value for key, value in c.items() if key in ("image", "resources", "volumeMounts")}
        for c in spec["containers"]
        if isinstance(c, Mapping)
    ]
    others = {key: value for key, value in spec.items() if key not in ("containers", "initContainers")}
    counts = [_counts(item) for item in items if str(item.get("kind")) == found.kind.rpartition("/")[2]]
    stack: list[Any] = [found.namespace, others, containers, counts]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            stack += [*value.values()]
        elif isinstance(value, list):
            stack += value


def _counts(item: Dict) -> list[Any]:
    """All that says how many there are, anywhere in an object."""
    found, stack = [], [item.get("spec")]
    while stack:
        value = stack.pop()
        if isinstance(value, Mapping):
            found += [v for k, v in value.items() if k in COUNTS]
            stack += [v for k, v in value.items() if k != "template" or "spec" in _mapping(v)]
        elif isinstance(value, list):
            stack += value
    return found


def pattern(item: Dict) -> Pattern | None:
    """What one object says, or None: a kind that makes no pods. Raises TemplateError."""
    kind = str(item.get("kind", ""))
    read = KINDS.get(kind)
    if not read:
        return None
    pods, template = read(_mapping(item.get("spec")) if kind != "Pod" else item)
    containers = _mapping(template.get("spec")).get("containers")
    if not containers:
        return None
    template = checked(template)
    metadata = _mapping(item.get("metadata"))
    labels = {**_mapping(metadata.get("labels")), **_mapping(_mapping(template.get("metadata")).get("labels"))}
    notes = _mapping(_mapping(template.get("metadata")).get("annotations"))
    meta = {key: {k: str(v) for k, v in value.items()} for key, value in (("labels", labels), ("annotations", notes))}
    return Pattern(
        f"{item.get('apiVersion', '')}/{kind}",
        str(metadata.get("namespace") or ""),
        pods,
        {"metadata": meta, "spec": template["spec"]},
        {key: str(metadata["name"]) for key in ADDED_LABELS.get(kind, ()) if metadata.get("name")},
        ranks=ranks_of(item, template),
        remark=remark_on(item, template),
    )


def _objects(documents: list[Any]) -> Iterator[Dict]:
    for document in documents:
        if isinstance(document, dict):
            items = document.get("items")
            yield from (i for i in items if isinstance(i, dict)) if isinstance(items, list) else (document,)


def _mapping(value: Any) -> Dict:
    return value if isinstance(value, Mapping) else {}


def _count(value: Any, default: int = 1) -> int:
    if isinstance(value, int) and value > MOST_PODS:
        raise TemplateError(f"{value} are more pods than any cluster has.")
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def _pod(item: Dict) -> tuple[int, Dict]:
    return 1, {"metadata": item.get("metadata"), "spec": item.get("spec")}


def _job(spec: Dict) -> tuple[int, Dict]:
    return _count(spec.get("parallelism"), _count(spec.get("completions"))), _mapping(spec.get("template"))


def _replicas(spec: Dict) -> tuple[int, Dict]:
    return _count(spec.get("replicas")), _mapping(spec.get("template"))


def _job_set(spec: Dict) -> tuple[int, Dict]:
    jobs = [j for j in spec.get("replicatedJobs") or [] if isinstance(j, dict)]
    sizes = [(_count(j.get("replicas")), _job(_mapping(_mapping(j.get("template")).get("spec")))) for j in jobs]
    if not sizes:
        return 0, {}
    return sum(replicas * pods for replicas, (pods, _) in sizes), max(sizes, key=lambda s: s[0] * s[1][0])[1][1]


def _by_role(key: str, *roles: str) -> Callable[[Dict], tuple[int, Dict]]:
    """Kubeflow's older kinds: replicas by role; those of the first role that is there give the template."""

    def read(spec: Dict) -> tuple[int, Dict]:
        found = _mapping(spec.get(key))
        present = [_mapping(found[role]) for role in roles if role in found]
        if not present:
            return 0, {}
        return sum(_count(p.get("replicas")) for p in present), _mapping(present[0].get("template"))

    return read


def _train_job(spec: Dict) -> tuple[int, Dict]:
    trainer = _mapping(spec.get("trainer"))
    own = {k: trainer[k] for k in ("image", "env") if k in trainer}
    if resources := trainer.get("resourcesPerNode"):
        own["resources"] = resources
    count, template = _job_set(_mapping(_mapping(spec.get(RUNTIME)).get("template")).get("spec") or {})
    pod = {**_mapping(template.get("spec"))}
    first, *others = pod.get("containers") or [{"name": "node"}]
    if own or len(pod) > 0:
        pod["containers"] = [{**first, **own}, *others]
    for override in spec.get("podTemplateOverrides") or ():
        pod |= {k: v for k, v in _mapping(_mapping(override).get("spec")).items() if k not in ("containers",)}
    return _count(trainer.get("numNodes"), _count(_ml_nodes(spec), count)), {**template, "spec": pod}


RUNTIME = "runtime"
"""Where `_with_runtime` keeps the runtime's spec in its TrainJob."""


def _ml_nodes(spec: Dict) -> Any:
    return _mapping(_mapping(spec.get(RUNTIME)).get("mlPolicy")).get("numNodes")


def _with_runtime(item: Dict, documents: list[Any]) -> Dict:
    """A TrainJob with its runtime's spec, where the same manifest holds that."""
    if item.get("kind") != "TrainJob":
        return item
    spec = _mapping(item.get("spec"))
    name = _mapping(spec.get("runtimeRef")).get("name")
    for other in _objects(documents):
        kind = other.get("kind")
        if (
            kind in ("ClusterTrainingRuntime", "TrainingRuntime")
            and _mapping(other.get("metadata")).get("name") == name
        ):
            return {**item, "spec": {**spec, RUNTIME: other.get("spec")}}
    return item


def _cron_job(spec: Dict) -> tuple[int, Dict]:
    return _job(_mapping(_mapping(spec.get("jobTemplate")).get("spec")))


def _batch_job(spec: Dict) -> tuple[int, Dict]:
    """Of Kubernetes, or of Volcano, which has tasks."""
    return _largest(spec.get("tasks")) if "tasks" in spec else _job(spec)


def _largest(groups: Any) -> tuple[int, Dict]:
    """Groups of pods, each with replicas and a template: all their pods, and the template of the largest group."""
    found = [g for g in groups if isinstance(g, Mapping)] if isinstance(groups, list) else []
    if not found:
        return 0, {}
    most = max(found, key=lambda g: _count(g.get("replicas")))
    return sum(_count(g.get("replicas")) for g in found), _mapping(most.get("template"))


def _leader_worker_set(spec: Dict) -> tuple[int, Dict]:
    group = _mapping(spec.get("leaderWorkerTemplate"))
    return _count(spec.get("replicas")) * _count(group.get("size")), _mapping(group.get("workerTemplate"))


def _ray(spec: Dict) -> tuple[int, Dict]:
    """The workers: the head drives them."""
    cluster = _mapping(spec.get("rayClusterSpec")) or spec
    return _largest(cluster.get("workerGroupSpecs"))


def _hyper_pod(spec: Dict) -> tuple[int, Dict]:
    return _largest(spec.get("replicaSpecs"))


KINDS: dict[str, Callable[[Dict], tuple[int, Dict]]] = {
    "TrainJob": _train_job,
    "PyTorchJob": _by_role("pytorchReplicaSpecs", "Worker", "Master"),
    "MPIJob": _by_role("mpiReplicaSpecs", "Worker"),
    "JobSet": _job_set,
    "HyperPodPyTorchJob": _hyper_pod,
    "TFJob": _by_role("tfReplicaSpecs", "Worker", "Chief"),
    "JAXJob": _by_role("jaxReplicaSpecs", "Worker"),
    "PaddleJob": _by_role("paddleReplicaSpecs", "Worker", "Master"),
    "XGBoostJob": _by_role("xgbReplicaSpecs", "Worker", "Master"),
    "RayJob": _ray,
    "RayCluster": _ray,
    "LeaderWorkerSet": _leader_worker_set,
    "Job": _batch_job,
    "CronJob": _cron_job,
    "StatefulSet": _replicas,
    "Pod": _pod,
    "ReplicaSet": _replicas,
    "Deployment": _replicas,
    "DaemonSet": lambda spec: (0, _mapping(spec.get("template"))),
}
"""Kind -> how many pods it makes and of which template, in the order in which a training is looked for."""

COUNTS = ("replicas", "parallelism", "completions", "numNodes", "size", "minReplicas", "nprocPerNode", "slotsPerWorker")

ADDED_LABELS = {
    "Job": ("job-name", "batch.kubernetes.io/job-name"),
    "JobSet": ("jobset.sigs.k8s.io/jobset-name",),
    "TrainJob": ("jobset.sigs.k8s.io/jobset-name",),
    **dict.fromkeys(
        ("PyTorchJob", "MPIJob", "TFJob", "JAXJob", "PaddleJob", "XGBoostJob"), ("training.kubeflow.org/job-name",)
    ),
    **dict.fromkeys(("RayJob", "RayCluster"), ("ray.io/cluster",)),
    "LeaderWorkerSet": ("leaderworkerset.sigs.k8s.io/name",),
}
"""Kind -> labels by which its controller marks pods with the job's name: Services and policies select by them."""
