"""Which lines take which others back: good news of an object, of what runs in pods, of a machine's new start."""

from __future__ import annotations

from collections.abc import Mapping

STICKY = ("gpu.", "hardware.", "train.loss", "clock.", "node.interruption", "network.duplicate")
PLATFORM = (
    "k8s.", "queue.", "image.", "cni.", "storage.mount", "storage.waits", "storage.driver", "storage.class",
    "storage.provisioning", "storage.multi", "node.", "kubelet.", "kernel.", "dns.server", "pod.", "iam.", "quota.",
    "capacity.", "eks.", "aws.", "clock.", "slurm.", "karpenter.",
)  # fmt: skip
GOOD_NEWS: Mapping[str, tuple[str, ...]] = {
    "c10d.joined": ("dns.name_unknown", "c10d.connect_errno"),
    "k8s.scheduled": (
        "k8s.unschedulable",
        "k8s.no_scale_up",
        "k8s.warning",
        "queue.",
        "k8s.quota_exceeded",
        "k8s.preempted",
    ),
    "image.pull_took": ("image.", "k8s.warning"),
    "k8s.container_started": (
        "k8s.unschedulable",
        "k8s.no_scale_up",
        "k8s.warning",
        "k8s.quota",
        "k8s.admission",
        "k8s.topology",
        "k8s.probe",
        "pod.config",
        "image.",
        "storage.",
        "cni.",
        "queue.",
    ),
    "k8s.created": ("k8s.", "queue."),
    "queue.admitted": ("queue.", "k8s.unschedulable", "k8s.preempted", "k8s.evicted"),
    "node.launched": ("capacity.", "k8s.unschedulable", "k8s.no_scale_up"),
    "node.ready": ("node.not_ready", "k8s.warning"),
    "node.removed": ("node.not_ready",),
    "kubelet.registered": ("kubelet.", "node.not_ready", "cni.not_ready", "k8s.api_unreachable", "aws.api_unreachable"),
    "node.disk_pressure_over": ("node.disk_pressure", "k8s.warning"),
    "node.memory_pressure_over": ("k8s.warning",),
    "clock.stepped": ("clock.", "kubelet."),
    "storage.provisioned": ("storage.", "k8s.warning", "k8s.unschedulable"),
    "storage.attached": ("storage.multi", "storage.mount", "k8s.warning"),
    "k8s.lease_acquired": ("k8s.api_unreachable", "kubelet.api_error"),
    "eks.created": ("capacity.", "kubelet.not_joined", "quota."),
}
UNTIL_BOOT = ("gpu.driver", "gpu.fabric", "gpu.off_bus", "cuda.", "runtime.", "kubelet.", "cni.")
"""What a new start of the machine mends, where a job goes well since."""
OF_PODS = (
    "k8s.unschedulable", "k8s.no_scale_up", "k8s.warning", "k8s.quota", "k8s.oom", "k8s.back_off", "k8s.container",
    "k8s.evicted", "k8s.preempted", "k8s.probe", "k8s.admission", "k8s.topology", "image.", "storage.mount",
    "storage.waits", "storage.driver", "storage.provisioning", "cni.no_address", "cni.not_ready", "queue.",
    "kernel.oom", "node.not_ready", "pod.config",
)  # fmt: skip
OF_MEETING = ("dns.name_unknown", "c10d.connect_errno")
"""What ranks say while they look for each other, over once they met."""
UNOWNED = ("kernel.oom_kill", "k8s.warning", "node.not_ready")
