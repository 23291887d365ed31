"""The network plugin isn't running, or isn't initialised, on a node.

## What is wrong
Without it no pod on the node gets an address, and the node stays NotReady.

## What settles it
The pods of aws-node (or of another plugin) on that node, and their logs.

## Fix
Mend the plugin's pod: its image, its permissions (AmazonEKS_CNI_Policy), its way to the API server.

## Source
https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/troubleshooting.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("cni.plugin_not_ready", refines=("node.kubelet_down",), also=True)
def plugin_not_ready(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the kubelet's word, or on a CNI that can't ask its daemon."""
    seen = events.of("cni.not_ready")
    if seen and not _is_nobodys_node(events):
        agents = [
            p for p in objects.of("Pod") if any(w in p.name for w in ("aws-node", "calico-node", "cilium", "flannel"))
        ]
        bad = [p for p in agents if str(p.get("status.phase")) not in ("Running", "Succeeded")]
        yield diagnosis(
            "cni.plugin_not_ready",
            "The network plugin does not run on the node, so its pods get no address.",
            seen,
            [p.cite("status.phase") for p in bad],
            events.of("k8s.api_unreachable"),
            repair=Repair.INSTALL_COMPONENT,
            commands=(
                "kubectl -n kube-system get pods -l k8s-app=aws-node -o wide",
                "kubectl -n kube-system logs -l k8s-app=aws-node -c aws-node --tail 50",
            ),
        )


def _is_nobodys_node(events: Events) -> bool:
    """Whether the API server refuses the kubelet: no pod, and so no network plugin, comes to such a node."""
    refused = events.of("kubelet.register_refused").where(error=re.compile("Unauthorized"))
    return bool(refused) and not events.of("kubelet.registered")
