"""No driver for the claim is installed.

## What is wrong
The claim's class names a CSI driver that isn't in the cluster (since 1.23 also gp2 needs ebs.csi.aws.com), so it
waits for ever.

## Fix
The add-on of that driver, with its IAM role.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/ebs-csi.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

ADDONS = {
    "ebs.csi.aws.com": "aws-ebs-csi-driver",
    "efs.csi.aws.com": "aws-efs-csi-driver",
    "fsx.csi.aws.com": "aws-fsx-csi-driver",
    "s3.csi.aws.com": "aws-mountpoint-s3-csi-driver",
}


@cause("storage.csi_driver_not_installed", refines=("storage.pvc_not_bound",), also=True)
def csi_driver_not_installed(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a claim waits for a driver that no list has; an error of the driver itself contradicts it."""
    waits = Events((*events.of("storage.waits_for_provisioner"), *events.of("storage.driver_not_registered")))
    if not waits or events.of("storage.provisioning_failed"):
        return
    driver = next(iter((*waits.values("driver"), *waits.values("other"))), "")
    drivers = objects.of("CSIDriver")
    listed = any(d.name == driver for d in drivers)
    known = bool(drivers) or objects.has("CSIDriver")
    lists = [a for a in objects.of("answer") if isinstance(a.data.get("addons"), list)]
    added = any(ADDONS.get(driver, driver) in a.items("addons") for a in lists)
    if listed or added or not (known or lists or events.of("storage.driver_not_registered")):
        return
    yield diagnosis(
        "storage.csi_driver_not_installed",
        f"The driver {driver or 'of the claim'} is not installed, so the volume is never made.",
        waits,
        [d.cite() for d in objects.of("CSIDriverList")] or [d.cite("metadata.name") for d in drivers],
        [a.cite("addons") for a in lists],
        [c.cite("status.phase") for c in objects.of("PersistentVolumeClaim") if c.get("status.phase") == "Pending"],
        repair=Repair.INSTALL_COMPONENT,
        subjects=[c.subject for c in objects.of("PersistentVolumeClaim")],
        commands=(
            f"aws eks create-addon --cluster-name <cluster> --addon-name {ADDONS.get(driver, driver or '<driver>')}",
        ),
    )
