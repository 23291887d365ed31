"""The namespace's Pod Security level admits the pods.

## Why it matters
A namespace that enforces `baseline` or `restricted` refuses pods with host networking, host paths, added capabilities
or a root user. The Job exists, its pods don't, and only its events say why.

## Usual causes
- the manifest asks for hostNetwork, hostIPC, privileged or IPC_LOCK, which EFA doesn't need
- `restricted` wants runAsNonRoot, no privilege escalation, all capabilities dropped and a seccomp profile

## Fix
Take away what isn't needed, or use a namespace whose label `pod-security.kubernetes.io/enforce` is lower.

## Source
https://kubernetes.io/docs/concepts/security/pod-security-standards/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gonogo.facts.kube_cluster import Namespace
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import check
from gonogo.model import Finding, Status, Subject

BASELINE_CAPABILITIES = frozenset(
    [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ]
)
RESTRICTED_VOLUMES = frozenset(
    ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"]
)


@check("POD101")
def pod_security(namespace: Namespace, workload: Workload) -> Iterator[Finding]:
    """By the label; a level that the API server has by default shows only in its own answer (POD102)."""
    subject = Subject("object", f"namespace/{namespace.name}")
    if not namespace.exists:
        yield Finding(Status.FAIL, subject, f"There is no namespace {namespace.name}.")
        return
    level = namespace.enforced
    against = list(violations(level, workload.spec))
    label = f"pod-security.kubernetes.io/enforce: {level or 'not set'}"
    evidence = (namespace.evidence(f"{namespace.name}: {label}"),)
    if against:
        text = f"Namespace {namespace.name} enforces {level}, against which the pods have {', '.join(against)}."
        yield Finding(Status.FAIL, subject, text, len(against), 0, "settings", evidence=evidence)
    else:
        text = f"Namespace {namespace.name} enforces {level or 'no level by label'}, and the pods keep to it."
        yield Finding(Status.OK, subject, text, 0, 0, "settings", evidence=evidence)


def violations(level: str, spec: Mapping[str, Any]) -> Iterator[str]:
    """What of a pod's spec a level forbids. gonogo adds what `restricted` wants, unless the spec says otherwise."""
    if level not in ("baseline", "restricted"):
        return
    yield from (name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name))
    volumes = spec.get("volumes") or []
    yield from (f"hostPath volume {v.get('name')}" for v in volumes if "hostPath" in v)
    pod = spec.get("securityContext") or {}
    for container in spec.get("containers") or []:
        own = container.get("securityContext") or {}
        added = set((own.get("capabilities") or {}).get("add") or [])
        if own.get("privileged"):
            yield "privileged"
        allowed = {"NET_BIND_SERVICE"} if level == "restricted" else BASELINE_CAPABILITIES
        yield from (f"capability {name}" for name in sorted(added - allowed))
        if level == "restricted":
            if own.get("allowPrivilegeEscalation") is True:
                yield "allowPrivilegeEscalation"
            if (
                own.get("runAsUser", pod.get("runAsUser")) == 0
                or own.get("runAsNonRoot", pod.get("runAsNonRoot")) is False
            ):
                yield "root as its user"
    if level == "restricted":
        for volume in volumes:
            yield from (
                f"{k} volume {volume.get('name')}" for k in volume if k not in (*RESTRICTED_VOLUMES, "name", "hostPath")
            )
