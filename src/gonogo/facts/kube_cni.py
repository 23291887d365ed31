"""How the Amazon VPC CNI is set: the environment of its DaemonSet, with the plug-in's defaults for what is not said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gonogo.documents.kubernetes import DaemonSetObjects, Object
from gonogo.kernel import parser
from gonogo.model import Evidence

AGENT = "aws-node"
LARGEST_MTU_BYTES = 9001
"""What EC2's interfaces carry within a VPC, and what the plug-in sets by itself."""


@dataclass(frozen=True, slots=True)
class Cni:
    """The plug-in's settings by name, such as WARM_IP_TARGET; none where it isn't there."""

    is_there: bool
    settings: Mapping[str, str] = field(default_factory=dict)
    file: str = ""
    line: int = 0

    def on(self, name: str) -> bool:
        """A setting that is off unless it says true."""
        return self.settings.get(name, "").lower() == "true"

    @property
    def mtu_bytes(self) -> tuple[int, str]:
        """Of the pods' interfaces, and the setting that says so ("": none does)."""
        for name in ("POD_MTU", "AWS_VPC_ENI_MTU"):
            if (value := self.settings.get(name, "")).isdigit():
                return int(value), name
        return LARGEST_MTU_BYTES, ""

    @property
    def drops_by_default(self) -> bool:
        """Whether a pod that no NetworkPolicy selects may talk to nobody."""
        return self.settings.get("NETWORK_POLICY_ENFORCING_MODE", "").lower() == "strict"

    @property
    def isolates_branches(self) -> bool:
        """Whether pods with security groups of their own have those alone: strict, which is the default."""
        return self.settings.get("POD_SECURITY_GROUP_ENFORCING_MODE", "strict").lower() == "strict"

    def evidence(self, *names: str) -> Evidence:
        said = ", ".join(f"{name}={self.settings.get(name, '(not set)')}" for name in names)
        return Evidence(f"daemonset {AGENT}: {said}", self.file, self.line)


@parser
def cni(objects: DaemonSetObjects) -> Cni:
    found = next((item for item in objects if item.name == AGENT), None)
    return Cni(True, _settings(found), found.file, found.line) if found else Cni(False)


def _settings(item: Object) -> dict[str, str]:
    """Of all its containers, of which each has settings of its own."""
    kinds = ("initContainers", "containers")
    containers = [c for kind in kinds for c in item.each("spec", "template", "spec", kind)]
    variables = [v for c in containers for v in c.get("env") or [] if isinstance(v, Mapping)]
    return {str(v["name"]): v["value"] for v in variables if "name" in v and isinstance(v.get("value"), str)}
