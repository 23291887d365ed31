"""The drivers of the pods' claims are installed, and registered on the chosen nodes.

## Why it matters
A volume is made by a driver's controller and mounted by its pod on the node. Where either is missing, the claim or the
pod waits without end.

## Usual causes
- the add-on (aws-fsx-csi-driver, aws-ebs-csi-driver, …) isn't installed
- its DaemonSet doesn't tolerate the GPU nodes' taint

## Fix
`aws eks create-addon --cluster-name CLUSTER --addon-name ADDON`; give its node pods the toleration.

## Source
https://kubernetes-csi.github.io/docs/csi-driver-object.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.kube_cluster import Claim, Volumes
from gonogo.facts.kube_nodes import ChosenNodes, some
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Skip, check
from gonogo.model import Finding, Status, Subject

IN_TREE = {"kubernetes.io/aws-ebs": "ebs.csi.aws.com"}  # names that the API server hands on to a driver
NO_DRIVER = "kubernetes.io/no-provisioner"


@check("STO102")
def driver(storage: Volumes, workload: Workload, nodes: ChosenNodes) -> Iterator[Finding]:
    """A claim without a driver's name, such as an NFS volume, needs none."""
    needed = {name: d for name in workload.claims if (c := storage.claims.get(name)) and (d := _driver(c, storage))}
    if not needed:
        raise Skip("No claim of the pods needs a driver.")
    for name, wanted in needed.items():
        claim = storage.claims[name]
        subject = Subject("object", f"persistentvolumeclaim/{name}")
        if wanted not in storage.drivers:
            text = f"The driver {wanted} of claim {name} is not installed."
            yield Finding(Status.FAIL, subject, text, "absent", wanted, evidence=(claim.evidence(text),))
            continue
        without = [n.name for n in some(nodes).values() if wanted not in storage.on_node.get(n.name, frozenset())]
        have = len(nodes) - len(without)
        text = f"The driver {wanted} of claim {name} is registered on {have} of {len(nodes)} nodes"
        text += f", not on {', '.join(without[:5])}." if without else "."
        status = Status.FAIL if without else Status.OK
        yield Finding(status, subject, text, have, len(nodes), "nodes", evidence=(claim.evidence(text),))


def _driver(claim: Claim, storage: Volumes) -> str:
    made_by = storage.classes.get(claim.storage_class)
    name = claim.driver or (made_by.provisioner if made_by else "")
    return "" if name == NO_DRIVER else IN_TREE.get(name, name)
