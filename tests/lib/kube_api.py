"""A namespace with jobs as its API server shows it, in memory: lists, logs, refusals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import httpx2 as httpx

from gonogo.clients.kube import Cluster

Dict = dict[str, Any]
SPACE = "/api/v1/namespaces/ml"
JOBS = "/apis/batch/v1/namespaces/ml/jobs"
PODS, EVENTS = f"{SPACE}/pods", f"{SPACE}/events"
NODES, NODE_EVENTS = "/api/v1/nodes", "/api/v1/namespaces/default/events"
CLAIMS, QUOTAS = f"{SPACE}/persistentvolumeclaims", f"{SPACE}/resourcequotas"
SERVICES = f"{SPACE}/services"
TRACEBACK = """epoch 0
Traceback (most recent call last):
  File "/app/train.py", line 31, in <module>
    main()
  File "/app/train.py", line 17, in main
    raise ValueError("batch of 0")
ValueError: batch of 0
"""


def stamped(text: str, minute: int = 7) -> str:
    return "".join(
        f"2026-11-30T10:{minute:02}:{n:02}.{n:09} {line}\n".replace(f"{n:09} ", f"{n:09}Z ")
        for n, line in enumerate(text.splitlines())
    )


@dataclass
class Api:
    """An API server of these lists and logs."""

    lists: dict[str, list[Dict]] = field(default_factory=dict)
    logs: dict[str, str] = field(default_factory=dict)  # pod/container, or with /previous -> text
    later: dict[str, str] = field(default_factory=dict)  # what a log gains after its first reading
    groups: dict[str, Dict] = field(default_factory=dict)  # what /apis/… says
    denied: set[str] = field(default_factory=set)
    codes: dict[str, int] = field(default_factory=dict)
    asked: list[httpx.Request] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        path, query = request.url.path, request.url.params
        if path in self.codes:
            return httpx.Response(self.codes[path], json={"kind": "Status", "message": "no"})
        if path in self.denied:
            text = f'{path.rpartition("/")[2]} is forbidden: User "u" cannot list resource "x" in API group ""'
            return httpx.Response(403, json={"kind": "Status", "code": 403, "message": text})
        if path.endswith("/log"):
            name = f"{path.split('/')[-2]}/{query.get('container')}" + "/previous" * ("previous" in query)
            if name not in self.logs:
                return httpx.Response(400, json={"kind": "Status", "message": f"no log of {name}"})
            lines = self.logs[name].splitlines(keepends=True)
            if "sinceTime" in query:  # the second reading
                lines = [line for line in (*lines, *self.later.get(name, "").splitlines(keepends=True))
                         if line[:19] >= query["sinceTime"][:19]]  # fmt: skip
            lines = lines[-int(query.get("tailLines") or len(lines)) :]
            return httpx.Response(200, text="".join(lines)[: int(query["limitBytes"])])
        if path in self.groups:
            return httpx.Response(200, json=self.groups[path])
        if path in self.lists:
            found = self.lists[path]
            if "involvedObject.kind=Node" in query.get("fieldSelector", ""):
                found = [e for e in found if e["involvedObject"]["kind"] == "Node"]
            return httpx.Response(200, json={"items": found, "metadata": {}})
        for listed, items in self.lists.items():
            for item in items:
                if path == f"{listed}/{item['metadata']['name']}":
                    return httpx.Response(200, json=item)
        return httpx.Response(404, json={"kind": "Status", "code": 404, "message": "not found"})

    def cluster(self) -> Cluster:
        http = httpx.Client(base_url="https://api", transport=httpx.MockTransport(self.answer))
        return Cluster(http, "eks", "ml", 1)


def thing(name: str, owner: tuple[str, str] | None = None, **more: Any) -> Dict:
    owners = [{"kind": owner[0], "name": owner[1], "uid": f"{owner[0]}-{owner[1]}"}] if owner else []
    return {"metadata": {"name": name, "namespace": "ml", "uid": f"u-{name}", "ownerReferences": owners}, **more}


def job(name: str, owner: tuple[str, str] | None = None) -> Dict:
    found = thing(name, owner, status={"failed": 1}, spec={"template": {"spec": {"containers": [
        {"name": "main", "image": "i", "env": [{"name": "NCCL_DEBUG", "value": "INFO"},
                                               {"name": "WANDB", "value": "hidden-value"}]}]}}})  # fmt: skip
    found["metadata"]["uid"] = f"Job-{name}"
    return found


def pod(name: str, owner: tuple[str, str], node: str = "node-0", code: int = 1, reason: str = "Error") -> Dict:
    ended = {"terminated": {"exitCode": code, "reason": reason}} if code >= 0 else {"running": {}}
    status = {"phase": "Failed" if code > 0 else "Running", "containerStatuses": [
        {"name": "main", "restartCount": 0, "state": ended}]}  # fmt: skip
    spec = {"nodeName": node, "containers": [{"name": "main", "image": "i"}], "volumes": [
        {"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}  # fmt: skip
    return thing(name, owner, spec=spec, status=status)


def event(kind: str, name: str, reason: str, message: str, at: str, uid: str = "") -> Dict:
    about = {"kind": kind, "namespace": "ml", "name": name, "uid": uid or f"u-{name}", "apiVersion": "v1"}
    return {"metadata": {"name": f"{name}.{reason}".lower(), "namespace": "ml"}, "involvedObject": about,
            "reason": reason, "message": message, "type": "Warning", "firstTimestamp": at, "lastTimestamp": at,
            "count": 1}  # fmt: skip


def world() -> Api:
    """A job that raised on the node it was on, beside another whose image is not there."""
    ours, theirs = ("Job", "train"), ("Job", "train-big")
    return Api(
        {
            JOBS: [job("train"), job("train-big")],
            PODS: [pod("train-abc", ours), pod("train-big-xyz", theirs, "node-1")],
            EVENTS: [
                event("Pod", "train-abc", "FailedScheduling", "0/2 nodes are available: 2 Insufficient cpu.",
                      "2026-11-30T10:00:00Z"),
                event("Pod", "train-abc", "Started", "Started container main", "2026-11-30T10:00:09Z"),
                event("Pod", "train-abc", "Scheduled", "Successfully assigned ml/train-abc to node-0",
                      "2026-11-30T10:00:05Z"),
                event("Pod", "train-big-xyz", "Failed", 'Failed to pull image "x": x: not found: manifest unknown',
                      "2026-11-30T10:00:05Z"),
            ],
            NODES: [{"metadata": {"name": n}, "status": {}} for n in ("node-0", "node-1")],
            NODE_EVENTS: [event("Node", n, "NodeReady", f"Node {n} status is now: NodeReady",
                                "2026-11-30T09:00:00Z") for n in ("node-0", "node-1")],
            CLAIMS: [thing("data"), thing("other")],
            SERVICES: [
                thing("train", spec={"clusterIP": "None", "selector": {"job-name": "train"}}),
                thing("web", spec={"clusterIP": "172.20.0.9", "selector": {"app": "web"}}),
            ],
            QUOTAS: [thing("team", status={"hard": {"pods": "9"}, "used": {"pods": "1"}})],
        },
        {"train-abc/main": stamped(TRACEBACK)},
    )  # fmt: skip
