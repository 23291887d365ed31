"""Kinds of Kubernetes objects that make pods: how many of them train, and of which template."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gonogo.facts.kube_quantity import ACCELERATORS, EFA
from gonogo.launch.podtemplate import TemplateError

Dict = Mapping[str, Any]
Pods = tuple[int, Dict]
"""How many pods train, and their template; {} where there is none."""
Group = tuple[str, int, Dict]
"""Pods that an object makes of one template: name or role, number, template."""

MOST_PODS = 100_000
DRIVERS = (
    "launcher", "head", "driver", "coordinator", "submitter", "initializer", "ps", "pserver", "server", "scheduler",
    "evaluator",
)  # fmt: skip
"""Roles whose pods hold no ranks: they drive, feed or prepare those that train."""
STARTS_OTHERS = re.compile(r"\b(?:mpirun|mpiexec|horovodrun)\b")
"""In the command of a pod that has no rank itself: it starts those of the others."""


def mapping(value: object) -> Dict:
    """The value if it is one, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: object) -> list[Dict]:
    """The mappings of a list; [] if it is none."""
    return [v for v in value if isinstance(v, Mapping)] if isinstance(value, list) else []


def listed(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def containers(template: Dict) -> list[Dict]:
    """Those of a pod template."""
    return mappings(mapping(template.get("spec")).get("containers"))


def asks_for_accelerators(template: Dict) -> bool:
    """Accelerators, or the adapters that come with them."""
    limits = [mapping(mapping(c.get("resources")).get("limits")) for c in containers(template)]
    return any(r in limit for r in (*ACCELERATORS, EFA) for limit in limits)


def training(groups: Iterable[Group]) -> Pods:
    """Those of the groups that train: with accelerators where any has some, else all but those that only drive."""
    found = [g for g in groups if containers(g[2])]
    several = len(found) > 1
    kept = [g for g in found if asks_for_accelerators(g[2])]
    kept = kept or [g for g in found if not (several and (only_drives(g[0]) or _starts_others(g)))] or found
    if not kept:
        return 0, {}
    return sum(count for _, count, _ in kept), max(kept, key=lambda g: g[1])[2]


def _starts_others(group: Group) -> bool:
    said = [word for c in containers(group[2]) for word in (*listed(c.get("command")), *listed(c.get("args")))]
    return group[1] == 1 and bool(STARTS_OTHERS.search(" ".join(map(str, said))))


def only_drives(name: str) -> bool:
    """Whether a role's name says that its pods hold no ranks."""
    parts = re.split(r"[-_]", name.lower())
    return any(part.startswith(d) if len(d) > 2 else part == d for part in parts for d in DRIVERS)


def _count(value: Any, default: int = 1) -> int:
    if isinstance(value, int) and value > MOST_PODS:
        raise TemplateError(f"{value} are more pods than any cluster has.")
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def _pod(item: Dict) -> Pods:
    return 1, {"metadata": item.get("metadata"), "spec": item.get("spec")}


def _job(spec: Dict) -> Pods:
    return _count(spec.get("parallelism"), _count(spec.get("completions"))), mapping(spec.get("template"))


def _batch_job(spec: Dict) -> Pods:
    """Of Kubernetes, or of Volcano, which has tasks."""
    return training(_replicas_of(spec.get("tasks"))) if "tasks" in spec else _job(spec)


def _cron_job(spec: Dict) -> Pods:
    return _batch_job(mapping(mapping(spec.get("jobTemplate")).get("spec")))


def _replicas(spec: Dict) -> Pods:
    return _count(spec.get("replicas")), mapping(spec.get("template"))


def _replicas_of(groups: object) -> list[Group]:
    return [(str(g.get("name") or ""), _count(g.get("replicas")), mapping(g.get("template"))) for g in mappings(groups)]


def _job_set(spec: Dict) -> Pods:
    return training(_jobs(spec))


def _jobs(spec: Dict) -> list[Group]:
    """The jobs of a JobSet that run at once: what another waits for until it is complete has gone by then."""
    jobs = mappings(spec.get("replicatedJobs"))
    before = {d.get("name") for j in jobs for d in mappings(j.get("dependsOn")) if d.get("status") == "Complete"}
    sizes = [(j, _job(mapping(mapping(j.get("template")).get("spec")))) for j in jobs if j.get("name") not in before]
    return [(str(j.get("name") or ""), _count(j.get("replicas")) * pods, t) for j, (pods, t) in sizes]


def _by_role(key: str, *roles: str) -> Callable[[Dict], Pods]:
    """Kubeflow's older kinds: replicas by role; those of the first role that is there give the template."""

    def read(spec: Dict) -> Pods:
        found = {str(role).lower(): mapping(part) for role, part in mapping(spec.get(key)).items()}
        present = [found[role.lower()] for role in roles if role.lower() in found]
        if not present:
            return 0, {}
        return sum(_count(p.get("replicas")) for p in present), mapping(present[0].get("template"))

    return read


def _mpi_job(spec: Dict) -> Pods:
    """The workers: the launcher has ranks only where it says so, or where there is nobody else."""
    workers = _by_role("mpiReplicaSpecs", "Worker")(spec)
    launcher = _by_role("mpiReplicaSpecs", "Launcher")(spec)
    if not workers[1]:
        return launcher
    return workers[0] + (launcher[0] if spec.get("runLauncherAsWorker") is True else 0), workers[1]


def _train_job(spec: Dict) -> Pods:
    """The trainer's words over those of its runtime's job `node`."""
    trainer, runtime = mapping(spec.get("trainer")), mapping(spec.get(RUNTIME))
    job_set = mapping(mapping(runtime.get("template")).get("spec"))
    nodes = [job for job in mappings(job_set.get("replicatedJobs")) if _is_trainer(job)]
    count, template = _job_set({"replicatedJobs": nodes} if nodes else job_set)
    pod = {**mapping(template.get("spec"))}
    own = {key: trainer[key] for key in ("image", "command", "args") if key in trainer}
    if pod or any(key in trainer for key in ("image", "env", "resourcesPerNode")):
        own |= {"resources": trainer["resourcesPerNode"]} if trainer.get("resourcesPerNode") else {}
        pod["containers"] = _with_own(mappings(pod.get("containers")) or [{"name": NODE}], own, trainer.get("env"))
    for override in _overrides(spec):
        pod |= {k: v for k, v in override.items() if k not in ("containers", "initContainers", "targetJobs")}
    nodes_said = mapping(runtime.get("mlPolicy")).get("numNodes")
    return _count(trainer.get("numNodes"), _count(nodes_said, count)), {**template, "spec": pod}


def _is_trainer(job: Dict) -> bool:
    return job.get("name") == NODE


def _with_own(all_of: list[Dict], own: Dict, env: object) -> list[Dict]:
    at = next((i for i, c in enumerate(all_of) if c.get("name") == NODE), 0)
    first = {**all_of[at], **own}
    if variables := mappings(env):
        names = {e.get("name") for e in variables}
        first["env"] = [*(e for e in mappings(first.get("env")) if e.get("name") not in names), *variables]
    return [*all_of[:at], first, *all_of[at + 1 :]]


def _overrides(spec: Dict) -> Iterable[Dict]:
    """What a TrainJob says of its pods beside its trainer: runtimePatches, and the two names that they had before."""
    for key in ("podTemplateOverrides", "podSpecOverrides"):
        for override in mappings(spec.get(key)):
            targets = [t.get("name") for t in mappings(override.get("targetJobs"))]
            if not targets or NODE in targets:
                yield mapping(override.get("spec")) or override
    for patch in mappings(spec.get("runtimePatches")):
        job_set = mapping(mapping(mapping(patch.get("trainingRuntimeSpec")).get("template")).get("spec"))
        for job in filter(_is_trainer, mappings(job_set.get("replicatedJobs"))):
            yield mapping(mapping(mapping(mapping(job.get("template")).get("spec")).get("template")).get("spec"))


NODE = "node"
"""The job of a runtime, and the container of it, in which the trainer runs."""
RUNTIME = "runtime"
"""Where the runtime's spec is kept in its TrainJob."""


def _leader_worker_set(spec: Dict) -> Pods:
    group = mapping(spec.get("leaderWorkerTemplate"))
    return _count(spec.get("replicas")) * _count(group.get("size")), mapping(group.get("workerTemplate"))


def _ray(spec: Dict) -> Pods:
    """The workers; the head where it is alone, or has accelerators of its own."""
    cluster = next((mapping(spec[key]) for key in ("rayClusterSpec", "rayClusterConfig") if spec.get(key)), spec)
    groups = [
        (str(g.get("groupName") or ""), _ray_workers(g), mapping(g.get("template")))
        for g in mappings(cluster.get("workerGroupSpecs"))
    ]
    return training([*groups, ("head", 1, mapping(mapping(cluster.get("headGroupSpec")).get("template")))])


def _ray_workers(group: Dict) -> int:
    """https://github.com/ray-project/kuberay: GetWorkerGroupDesiredReplicas."""
    least, most = _count(group.get("minReplicas"), 0), _count(group.get("maxReplicas"), MOST_PODS)
    return max(least, min(_count(group.get("replicas"), least), most)) * _count(group.get("numOfHosts"))


def with_shared_memory(spec: Dict) -> dict[str, Any]:
    """A Ray pod's spec with the /dev/shm that KubeRay adds to its first container: addEmptyDir, in the same place."""
    first, *others = mappings(spec.get("containers"))
    mounts = mappings(first.get("volumeMounts"))
    if any(m.get("mountPath") == SHM for m in mounts):
        return dict(spec)
    resources = mapping(first.get("resources"))
    amounts = {**mapping(resources.get("requests")), **mapping(resources.get("limits"))}
    empty = {"medium": "Memory"} | ({"sizeLimit": amounts["memory"]} if "memory" in amounts else {})
    first = {**first, "volumeMounts": [*mounts, {"name": "shared-mem", "mountPath": SHM}]}
    volumes = [*mappings(spec.get("volumes")), {"name": "shared-mem", "emptyDir": empty}]
    return {**spec, "containers": [first, *others], "volumes": volumes}


SHM = "/dev/shm"
RAY = ("RayJob", "RayCluster", "RayService")


def _hyper_pod(spec: Dict) -> Pods:
    return training(_replicas_of(spec.get("replicaSpecs")))


KINDS: dict[str, Callable[[Dict], Pods]] = {
    "TrainJob": _train_job,
    "PyTorchJob": _by_role("pytorchReplicaSpecs", "Worker", "Master"),
    "MPIJob": _mpi_job,
    "JobSet": _job_set,
    "HyperPodPyTorchJob": _hyper_pod,
    "TFJob": _by_role("tfReplicaSpecs", "Worker", "Chief", "Master"),
    "JAXJob": _by_role("jaxReplicaSpecs", "Worker"),
    "PaddleJob": _by_role("paddleReplicaSpecs", "Worker", "Master"),
    "XGBoostJob": _by_role("xgbReplicaSpecs", "Worker", "Master"),
    **dict.fromkeys(RAY, _ray),
    "ClusterTrainingRuntime": lambda spec: _train_job({RUNTIME: spec}),
    "TrainingRuntime": lambda spec: _train_job({RUNTIME: spec}),
    "LeaderWorkerSet": _leader_worker_set,
    "Job": _batch_job,
    "CronJob": _cron_job,
    "StatefulSet": _replicas,
    "Pod": _pod,
    "ReplicaSet": _replicas,
    "Deployment": _replicas,
    "DaemonSet": lambda spec: (0, mapping(spec.get("template"))),
}
"""Kind -> how many pods it makes and of which template, in the order in which a training is looked for."""

RUNTIMES = ("ClusterTrainingRuntime", "TrainingRuntime")
SERVING = ("StatefulSet", "Pod", "ReplicaSet", "Deployment", "DaemonSet")
"""Kinds that often only serve a training, such as its etcd."""

COUNTS = (
    "replicas", "parallelism", "completions", "numNodes", "size", "minReplicas", "numOfHosts", "nprocPerNode",
    "numProcPerNode", "slotsPerWorker",
)  # fmt: skip

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

CONTROLLERS = (
    "controller-uid", "job-name", "pod-template-hash", "controller-revision-hash", "batch.kubernetes.io/",
    "apps.kubernetes.io/", "statefulset.kubernetes.io/", "jobset.sigs.k8s.io/", "alpha.jobset.sigs.k8s.io/",
    "trainer.kubeflow.org/", "training.kubeflow.org/", "leaderworkerset.sigs.k8s.io/", "ray.io/",
)  # fmt: skip
"""How labels and annotations begin that a controller writes into what it makes, as `kubectl get -o yaml` shows it. On
pods of another owner they mislead it, and the API server refuses a Job whose template has another's."""
