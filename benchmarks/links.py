"""Throughput of a link as the agent measures it, against iperf3 in the same namespaces in the same run.

`python benchmarks/links.py` runs five times: iperf3, the agent, iperf3 again; the bar is 0.9 of iperf3's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from statistics import median
from typing import Any

from gonogo.collect.local import LocalTarget
from gonogo.launch import local
from gonogo.launch.fabric import Fabric, Node
from gonogo.launch.switch import Scenario
from gonogo.plan import Plan

RUNS, BAR = 5, 0.9
SECONDS = 1


def iperf3(client: Node, server: Node) -> float:
    """Gbit/s that one stream carries from client to server."""
    listening = subprocess.Popen(
        ["iperf3", "-s", "-1", "--forceflush"], stdout=subprocess.PIPE, preexec_fn=server.enter
    )
    assert listening.stdout
    while b"listening" not in listening.stdout.readline():
        pass
    argv = ["iperf3", "-J", "-t", str(SECONDS), "-c", server.address]
    told = json.loads(subprocess.run(argv, check=True, capture_output=True, preexec_fn=client.enter).stdout)
    listening.communicate()
    return float(told["end"]["sum_received"]["bits_per_second"]) / 1e9


class Beside(Scenario):
    """iperf3 before the agents start and after they have ended."""

    def __init__(self) -> None:
        self.waiting = 0

    def before(self, fabric: Fabric) -> None:
        self.waiting = len(fabric.nodes)
        self._measure(fabric)

    def on_record(self, fabric: Fabric, record: Mapping[str, Any]) -> None:
        self.waiting -= (record["step"], record["kind"]) == ("fabric", "exit")
        if not self.waiting:
            self.waiting = -1
            self._measure(fabric)

    def _measure(self, fabric: Fabric) -> None:
        for client, server in (fabric.nodes, fabric.nodes[::-1]):
            line = {"kind": "iperf3", "gbps": iperf3(client, server)}
            os.write(1, json.dumps(line).encode() + b"\n")


def once() -> tuple[list[float], list[float]]:
    """Gbit/s by the agent and by iperf3, each in both directions."""
    target = LocalTarget(2)
    order = target.order(target.spec(Plan(), ("node", "ports", "join", "links")), Plan())
    argv = [sys.executable, __file__, "launcher"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        process.stdin.write(order)
        process.stdin.flush()
        records = [json.loads(line) for line in process.stdout]
        process.stdin.close()
    values = {kind: [r["gbps"] for r in records if r["kind"] == kind] for kind in ("throughput", "iperf3")}
    return values["throughput"], values["iperf3"]


def main() -> int:
    """Print each run and the median ratio; 0 if it is above the bar."""
    ratios = []
    for run in range(RUNS):
        ours, theirs = once()
        ratios.append(median(ours) / median(theirs))
        print(
            f"run {run + 1}: agent {median(ours):.1f} Gbit/s of {len(ours)}, iperf3 {median(theirs):.1f} Gbit/s "
            f"of {len(theirs)}: {ratios[-1]:.2f}",
            flush=True,
        )
    print(f"link throughput: {median(ratios):.2f} of iperf3's, median of {RUNS} runs; the bar is {BAR}")
    return 0 if median(ratios) >= BAR else 1


if __name__ == "__main__":
    sys.exit(local.main(Beside()) if sys.argv[1:] == ["launcher"] else main())
