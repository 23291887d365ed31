"""PCI access control sends peer-to-peer traffic through the root complex.

## What is wrong
With ACS on the switches, transfers between GPUs (or GPU and NIC) take the long way: slow, or stuck.

## Fix
ACS off in the BIOS or by setpci on all PLX bridges (not in virtual machines).

## Source
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#pci-access-control-services-acs
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("hardware.pci_acs_enabled", also=True)
def pci_acs_enabled(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on lspci's word on a bridge, beside transfers that are slow or stuck."""
    seen = events.of("hardware.pci_acs")
    slow = Events((*events.of("host.peer_bandwidth", "torch.nccl_error", "nccl.ib_error"), *waiting(events)))
    if seen and slow:
        yield diagnosis(
            "hardware.pci_acs_enabled",
            "Access control (ACS) is on at a PCI bridge between the devices.",
            seen,
            slow,
            repair=Repair.CHANGE_CLUSTER,
            commands=("lspci -vvv | grep -e '^[0-9a-f]' -e ACSCtl | grep -B1 'SrcValid+'",),
        )
