"""What to collect next where no cause is proven: what settles the lines that are left, then what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gonogo.facts.events import Events
from gonogo.facts.objects import Objects

_LOGS = "kubectl logs <pod> --timestamps (and --previous)"
_PODS = ("Pod", "The pods as they are: kubectl get pods -o yaml, and kubectl describe pods.")
_NODES = ("Node", "The nodes: kubectl get nodes -o yaml.")
_GROUPS = ("SecurityGroups", "The nodes' security groups: aws ec2 describe-security-groups.")
_VOLUMES = (
    ("PersistentVolumeClaim", "The claims and volumes: kubectl get pvc,pv -o yaml, and kubectl describe pvc."),
    ("", "The CSI driver's words: kubectl -n kube-system logs <csi-node-pod> --all-containers --tail 200."),
)
_LUSTRE = (
    ("FileSystems", "The file system: aws fsx describe-file-systems."),
    (
        "SecurityGroups",
        "Its network interfaces and their groups: aws ec2 describe-network-interfaces --network-interface-ids "
        "<those of the file system>, and aws ec2 describe-security-groups.",
    ),
)
_STILL = (
    ("", "Where each rank stands, on every node: py-spy dump --pid <rank's pid>, twice, a minute apart."),
    ("", "The ranks' flight recorders: TORCH_NCCL_TRACE_BUFFER_SIZE=2000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1."),
    ("nvidia-smi", "From every node: nvidia-smi, and dmesg -T | grep -i -e xid -e nvrm."),
    ("", f"The logs of all ranks: {_LOGS}."),
)
_SETTLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "torchrun.scheduler_signal": (
        (
            "",
            "Who ended it: kubectl describe pod <pod>, or sacct -j <job> -o JobID,State,ExitCode,End.",
        ),
    ),
    "dns.": (
        ("Endpoints", "The Service of the name and its addresses: kubectl get services,endpoints -o yaml."),
        ("", "From the same pod: getent hosts <name>, and cat /etc/resolv.conf."),
        _PODS,
    ),
    "storage.lustre": _LUSTRE,
    "storage.": _VOLUMES,
    "cni.": (
        ("Subnets", "The pods' subnets, with their free addresses: aws ec2 describe-subnets."),
        ("", "The CNI's words: kubectl -n kube-system logs -l k8s-app=aws-node -c aws-node --tail 200."),
        _NODES,
    ),
    "image.registry_unreachable": (
        ("VpcEndpoints", "The ways out for AWS's own registry: aws ec2 describe-vpc-endpoints."),
        ("RouteTables", "The other ways out: aws ec2 describe-route-tables."),
    ),
    "image.": (_PODS, ("", "What the registry has: aws ecr describe-images --repository-name <repository>.")),
    "iam.web_identity": (
        ("Role", "The role's trust policy: aws iam get-role --role-name <role>."),
        ("ServiceAccount", "The pod's service account: kubectl get serviceaccount <name> -o yaml."),
        ("Cluster", "The cluster's issuer: aws eks describe-cluster --name <cluster> --query cluster.identity.oidc."),
    ),
    "iam.": (("", "The role's policies: aws iam list-attached-role-policies --role-name <role>."),),
    "capacity.": (("CapacityReservations", "The reservations: aws ec2 describe-capacity-reservations."),),
    "k8s.unschedulable": (_PODS, _NODES),
    "karpenter.": (
        ("NodePool", "The pools and what they may launch: kubectl get nodepools,ec2nodeclasses -o yaml."),
        (
            "",
            "What it could not launch in the last minutes: kubectl logs -n kube-system -l "
            "app.kubernetes.io/name=karpenter --since 15m | grep -i -e capacity -e launch.",
        ),
    ),
    "train.told_stuck": _STILL,
    "train.waits_long": _STILL,
    "train.step_seconds": (
        ("nvidia-smi", "From every node, twice: nvidia-smi -q -d PERFORMANCE,CLOCK,TEMPERATURE,UTILIZATION."),
        ("", "What a step is made of: the time that it waits for its batch and for collectives, of each rank."),
        ("", "From every node, twice: ip -s link, and nstat -az TcpRetransSegs."),
    ),
    "efa.": (_NODES, _GROUPS),
    "ofi.": (_NODES, _GROUPS),
}
"""Beginning of a signature's id -> (kind of object that would be that already, what to collect)."""


def wishes(events: Events, objects: Objects, left: Iterable[str] = ()) -> list[str]:
    """What to collect next, given what is there and the signatures of the lines that nothing explains."""
    kinds = list(dict.fromkeys(left))
    areas = [next((a for a in _SETTLES if kind.startswith(a)), "") for kind in kinds]
    areas = list(dict.fromkeys(a for a in areas if a))
    wanted = [wish for a in areas for kind, wish in _SETTLES[a] if not (kind and objects.of(kind))]
    of_ranks = not areas or any(not kind.startswith((*_SETTLES, "k8s.")) for kind in kinds)
    if of_ranks:
        wanted += _of_logs(events)
    if not objects.of("Pod"):
        wanted.append(_PODS[1])
    if not events.of("k8s.*") and not objects.of("Event"):
        wanted.append("The namespace's events: kubectl get events --sort-by=.lastTimestamp.")
    if of_ranks and not objects.of("Node"):
        wanted.append(_NODES[1])
    if of_ranks and not events.of("gpu.xid") and not objects.of("nvidia-smi"):
        wanted.append("From each node: dmesg -T | grep -i -e xid -e nvrm, and nvidia-smi -q.")
    return list(dict.fromkeys(wanted))


def _of_logs(events: Events) -> list[str]:
    """The logs of the ranks that nobody has given."""
    sizes = [int(e["nranks"]) for e in events.of("nccl.rank_init")]
    sizes += [int(e["world_size"]) for e in events.of("env.ranks")]
    ranks = {e.who.rank for e in events if e.who.rank is not None}
    if sizes and len(ranks) < max(sizes):
        missing = sorted(set(range(max(sizes))) - ranks)
        shown = ", ".join(map(str, missing[:8])) + (" …" if len(missing) > 8 else "")
        return [f"The logs of ranks {shown}: {_LOGS}, with --all-containers."]
    return [f"The logs of all ranks, not of one: {_LOGS} for each pod."] if len({e.file for e in events}) < 2 else []
