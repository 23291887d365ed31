"""Level read on a real API server with thousands of nodes and pods, beside `kubectl get nodes,pods -A -o json`.

    python benchmarks/kube.py [--objects 5000]

Starts the test cluster's control plane without nodes (root; one test cluster can be up at a time), makes the objects,
runs both, and prints seconds, seconds of CPU and the greatest memory of each. The bar: under 10 s and under 300 MB for
5,000 of each.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/lib"))

import testbed  # noqa: E402
from kube_world import node, pod  # noqa: E402

from gonogo.clients.kube import NODES, PODS, Cluster  # noqa: E402

BAR_SECONDS, BAR_MB = 10.0, 300.0


def fill(bed: testbed.Bed, count: int) -> None:
    """Nodes and pods as large as real ones, made eight at a time."""
    cluster = Cluster.connect("", "default", bed.kubeconfig)
    images = [{"names": [f"registry.example/{i}@sha256:{i:064x}"], "sizeBytes": 1 << 30} for i in range(50)]

    def one(index: int) -> None:
        name = f"many-{index:05d}"
        item = node(name)
        status = {**item.pop("status"), "images": images}
        cluster.create(NODES, item)
        cluster.merge(NODES, name, "", {"status": status}, "status")
        worker = copy.deepcopy(pod(f"worker-{index:05d}", name, gpu="8"))
        worker["metadata"]["namespace"] = "default"
        container = worker["spec"]["containers"][0]
        container["env"] = [{"name": f"NCCL_{i}", "value": "x" * 40} for i in range(30)]
        worker.pop("status")
        cluster.create(PODS, worker)

    with ThreadPoolExecutor(8) as pool:
        for number, _ in enumerate(pool.map(one, range(count)), 1):
            if number % 1000 == 0:
                print(f"{number} nodes and pods made", file=sys.stderr)


def measured(command: list[str], environment: dict[str, str]) -> tuple[float, float, float, bytes]:
    """Seconds, seconds of CPU, greatest memory in MB and output of a program, by a process of its own."""
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, env=environment)
    seconds = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, done.stdout


def in_child(command: list[str], environment: dict[str, str]) -> tuple[float, float, float, int]:
    """`measured` in a fresh process, since the greatest memory of children only ever grows."""
    code = (
        "import sys, json; sys.path.insert(0, 'benchmarks'); import kube; import os;"
        "s, c, m, out = kube.measured(json.loads(sys.argv[1]), dict(os.environ));"
        "print(json.dumps([s, c, m, len(out)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(command)], capture_output=True, text=True, cwd=ROOT, env=environment
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds, cpu, most, size = json.loads(done.stdout)
    return seconds, cpu, most, size


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=5000)
    parser.add_argument("--keep", action="store_true", help="leave the control plane up")
    asked = parser.parse_args()
    if testbed.is_up():
        raise SystemExit("A test cluster is up; take it down first.")
    bed = testbed.up(2, "--control-plane-only")
    try:
        bed.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=60s")
        began = time.monotonic()
        fill(bed, asked.objects)
        print(f"{asked.objects} nodes and {asked.objects} pods made in {time.monotonic() - began:.0f} s")
        environment = {**os.environ, "KUBECONFIG": bed.kubeconfig}
        gonogo = str(Path(sys.executable).with_name("gonogo"))
        rows = {
            "gonogo verify --level read": [gonogo, "verify", "-n", "default", "--level", "read", "-o", "json"],
            "kubectl get nodes,pods -A -o json": [bed.kubectl_path, "get", "nodes,pods", "-A", "-o", "json"],
        }
        found = {name: in_child(command, environment) for name, command in rows.items()}
        for name, (seconds, cpu, most, size) in found.items():
            print(f"{name:<36} {seconds:6.1f} s {cpu:6.1f} s of CPU {most:7.0f} MB   {size / 1e6:.1f} MB printed")
        seconds, _, most, _ = found["gonogo verify --level read"]
        return 0 if seconds < BAR_SECONDS and most < BAR_MB else 1
    finally:
        if not asked.keep:
            testbed.tool("down")


if __name__ == "__main__":
    sys.exit(main())
