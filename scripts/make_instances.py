"""Make src/gonogo/data/instances.jsonl from recorded DescribeInstanceTypes output.

    python scripts/make_instances.py instance_types.json[.gz] DATE > src/gonogo/data/instances.jsonl

The recording is one JSON object, type -> what EC2's DescribeInstanceTypes says of it, such as the one in moto's wheel
(moto/ec2/resources/instance_types.json.gz; DATE is that file's). What the API doesn't say is in the tables below.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

SAYS = "EC2 DescribeInstanceTypes as recorded by moto"
GENERATION = {  # Nitro v3, v4, v5, v6 have EFA v1 … v4; from the EC2 guide's table of EFA generations, 2026-10
    "v1": "g4dn g5 p3dn p4d p4de dl1",
    "v2": "g6 gr6 g6e p5 p5e trn1 trn1n",
    "v3": "p5en trn2 trn2u",
    "v4": "g7 g7e p6-b200 p6-b300",
}
NVLINK = {"p3dn": "NVLink2", "p4d": "NVSwitch 600 GB/s", "p4de": "NVSwitch 600 GB/s", "p5": "NVSwitch 900 GB/s",
          "p5e": "NVSwitch 900 GB/s", "p5en": "NVSwitch 900 GB/s", "p6-b200": "NVLink5 1.8 TB/s",
          "p6-b300": "NVLink5 1.8 TB/s"}  # fmt: skip
# the platform table of aws-ofi-nccl (src/platform-aws.cpp), 2026-10: first match counts; a type without one needs none
GDR = [(r"p3dn\.24xl", False), (r"p4de?\.", True), (r"p5\.4xl", False), (r"p([5-9]|\d\d)", True),
       (r"g5\.48xl", False), (r"g7e\.8xl", False), (r"g7e\.(12|24|48)xl", True), (r"trn", True)]  # fmt: skip
PRICES = {"p4d.24xlarge": 21.96, "p4de.24xlarge": 27.45, "p5.48xlarge": 55.04, "p5en.48xlarge": 63.30,
          "p6-b200.48xlarge": 113.93, "p6-b300.48xlarge": 142.42, "trn1.32xlarge": 21.50,
          "g7e.48xlarge": 33.14}  # fmt: skip
PRICE_DATE = "2026-07"  # karpenter's table of list prices on demand, us-east-1
NOT_RATED = {  # what the type is rated at, where its cards add up to half of it, or to more by one for ENA only
    "p6-b200.48xlarge": 3200.0,
    "p6-b300.48xlarge": 6400.0,
}
MEMORY_MIB = {"Trainium2": 98304}  # the API's 512 GiB a chip is that of a whole group; AWS's architecture page: 96 GiB
BY_HAND: list[dict[str, Any]] = [
    {
        "type": "p6e-gb200.36xlarge", "accelerator": "NVIDIA GB200", "accelerators": 4, "accelerator_mib": 0,
        "resource": "nvidia.com/gpu", "vcpus": 144, "memory_mib": 983040, "architecture": "arm64", "nvme_gb": 0,
        "network_gbps": 1600.0, "network_cards": 17, "efa": 0, "efa_generation": "", "gdr_required": True,
        "nvlink": "NVL72", "usd_per_hour": 0.0, "price_date": "", "date": "2026-10",
        "source": "EC2 guide; its pages contradict one another on EFA, so efa and efa_generation are not known",
    },
]  # fmt: skip


def generation(family: str) -> str:
    return next((v for v, families in GENERATION.items() if family in families.split()), "")


def accelerators(info: dict[str, Any]) -> tuple[str, int, int, str]:
    """Name, count, MiB of one, resource."""
    for gpu in (info.get("GpuInfo") or {}).get("Gpus", []):
        count = gpu["Count"] or gpu.get("LogicalGpuCount", 0)
        name = f"{gpu['Manufacturer']} {gpu['Name']}" + (
            "" if gpu["Count"] else f" 1/{1 / gpu['GpuPartitionSize']:.0f}"
        )
        resource = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Habana": "habana.ai/gaudi"}.get(
            gpu["Manufacturer"], ""
        )
        return name, count, gpu["MemoryInfo"]["SizeInMiB"], resource
    for device in (info.get("NeuronInfo") or {}).get("NeuronDevices", []):
        memory = MEMORY_MIB.get(device["Name"], device["MemoryInfo"]["SizeInMiB"])
        return f"AWS {device['Name']}", device["Count"], memory, "aws.amazon.com/neuron"
    return "", 0, 0, ""


def row(name: str, info: dict[str, Any], date: str) -> dict[str, Any]:
    network = info["NetworkInfo"]
    family = name.partition(".")[0]
    accelerator, count, mib, resource = accelerators(info)
    efa = network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)
    rated = sum(c.get("PeakBandwidthInGbps", 0.0) for c in network["NetworkCards"])
    needs = next((value for pattern, value in GDR if re.match(pattern, name)), False if count and efa else None)
    return {
        "type": name, "accelerator": accelerator, "accelerators": count, "accelerator_mib": mib, "resource": resource,
        "vcpus": info["VCpuInfo"]["DefaultVCpus"], "memory_mib": info["MemoryInfo"]["SizeInMiB"],
        "architecture": info["ProcessorInfo"]["SupportedArchitectures"][0],
        "nvme_gb": info.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0),
        "network_gbps": NOT_RATED.get(name, rated), "network_cards": network["MaximumNetworkCards"], "efa": efa,
        "efa_generation": generation(family) if efa else "", "gdr_required": needs if efa else False,
        "nvlink": NVLINK.get(family, "") if count > 1 else "", "usd_per_hour": PRICES.get(name, 0.0),
        "price_date": PRICE_DATE if name in PRICES else "", "source": SAYS, "date": date,
    }  # fmt: skip


def main(path: str, date: str) -> None:
    raw = Path(path).read_bytes()
    recorded = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    rows = [row(name, info, date) for name, info in recorded.items()]
    wanted = [r for r in rows if r["accelerators"] or r["efa"]]
    wanted += [r for r in BY_HAND if r["type"] not in recorded]
    for r in sorted(wanted, key=lambda r: r["type"]):
        print(json.dumps(r))


if __name__ == "__main__":
    main(*sys.argv[1:])
