"""`gonogo verify` on a fabric of this machine with a fault in it, as tests run it and as bundles are recorded.

python tests/lib/faulty.py rank-killed        runs the scenario and prints what was found
python tests/lib/faulty.py --record all       records tests/bundles anew
"""

from __future__ import annotations

import argparse
import secrets
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from gonogo import plan as plans
from gonogo import registry, target
from gonogo import verify as job
from gonogo.collect.local import LocalTarget
from gonogo.documents import replay
from gonogo.documents.bundle import Bundle
from gonogo.kernel import Registry
from gonogo.model import Report
from gonogo.plan import Plan
from gonogo.selection import reselect, select

PROJECT = Path(__file__).parent.parent.parent
BUNDLES = PROJECT / "tests" / "bundles"
LAUNCHER = PROJECT / "tests" / "faults" / "launcher.py"


@dataclass(frozen=True)
class Recording:
    """What is run to record a bundle."""

    scenario: str
    nodes: int = 3
    environment: Mapping[str, str] = field(default_factory=dict)
    shm_bytes: int = 0
    level: str = "quick"
    storage: str = ""  # a path; "": what the fabric shares
    write_gbytes_per_second: float | None = None  # expected there
    link_gbps: float | None = None  # expected of links
    backend: str = "gloo"
    ranks_per_node: int = 1

    @property
    def plan(self) -> Plan:
        """What the user says."""
        storage = [{"path": self.storage, "write_gbytes_per_second": self.write_gbytes_per_second}]
        told = {
            "job": {"environment": dict(self.environment), "backend": self.backend}
            | ({"ranks_per_node": self.ranks_per_node} if self.ranks_per_node > 1 else {}),
            "storage": storage if self.storage else [],
            "expect": {"link_gbps": self.link_gbps},
        }
        return Plan.model_validate(told)


RECORDINGS = {
    "healthy": Recording("healthy"),
    "healthy-4": Recording("healthy", nodes=4),
    "healthy-1": Recording("healthy", nodes=1),
    "healthy-mtu-1500": Recording("mtu-1500-everywhere"),
    "healthy-even-links": Recording("even-links"),
    "healthy-storage-nearly-full": Recording("storage-nearly-full"),
    "healthy-even-latency": Recording("even-latency"),
    "healthy-5": Recording("healthy", nodes=5),
    "healthy-interface-named": Recording("healthy", environment={"GLOO_SOCKET_IFNAME": "eth0"}),
    "all-ports-dropped": Recording("all-ports-dropped"),
    "rendezvous-port-dropped": Recording("rendezvous-port-dropped"),
    "rendezvous-port-rejected": Recording("rendezvous-port-rejected"),
    "only-rendezvous-port": Recording("all-ports-but-rendezvous-dropped"),
    "inbound-dropped": Recording("inbound-dropped"),
    "outbound-dropped": Recording("outbound-dropped"),
    "inbound-rejected": Recording("inbound-rejected"),
    "inbound-prohibited": Recording("inbound-prohibited"),
    "pair-dropped": Recording("pair-dropped"),
    "port-taken": Recording("rendezvous-port-taken"),
    "addresses-rewritten": Recording("addresses-rewritten"),
    "coordinator-name-unknown": Recording("coordinator-name-unknown"),
    "name-unknown": Recording("name-unknown"),
    "coordinator-name-wrong": Recording("coordinator-name-wrong"),
    "node-slow": Recording("node-slow", nodes=4),
    "latency-high": Recording("latency-high", nodes=4),
    "mtu-black-hole": Recording("mtu-black-hole"),
    "interface-missing": Recording("healthy", environment={"GLOO_SOCKET_IFNAME": "eth9"}),
    "interface-without-route": Recording("interface-without-route", environment={"GLOO_SOCKET_IFNAME": "priv0"}),
    "own-name-loopback": Recording("own-name-loopback"),
    "shm-small": Recording("healthy", shm_bytes=32 << 20),
    "rank-killed": Recording("rank-killed"),
    "rank-killed-in-training": Recording("rank-killed-in-training"),
    "node-killed": Recording("node-killed"),
    "rank-frozen": Recording("rank-frozen"),
    "node-frozen": Recording("node-frozen"),
    "node-frozen-in-ports": Recording("node-frozen-in-ports"),
    "link-down": Recording("link-down"),
    "packets-lost": Recording("packets-lost"),
    "packets-damaged": Recording("packets-damaged"),
    "link-slow": Recording("link-slow"),
    "links-below-plan": Recording("even-links", link_gbps=50),
    "storage-below-plan": Recording("healthy", storage="/srv", write_gbytes_per_second=100),
    "storage-path-missing": Recording("healthy", storage="/nonexistent/fsx"),
    "nccl-without-gpu": Recording("healthy", backend="nccl"),
    "few-connections": Recording("few-connections"),
    "long-connections-dropped": Recording("long-connections-dropped"),
    "address-taken-twice": Recording("address-taken-twice"),
    "neighbour-stale": Recording("neighbour-stale"),
    "clock-ahead": Recording("clock-ahead"),
    "another-torch": Recording("another-torch"),
    "wrong-sum": Recording("wrong-sum"),
    "another-dtype": Recording("another-dtype"),
    "another-collective": Recording("another-collective"),
    "another-shape": Recording("another-shape"),
    "call-skipped": Recording("call-skipped"),
    "steps-late": Recording("steps-late"),
    "data-late": Recording("data-late"),
    "one-batch-fewer": Recording("one-batch-fewer"),
    "healthy-ranks-told": Recording("ranks-told"),
    "rank-told-twice": Recording("rank-told-twice"),
    "world-size-told-wrong": Recording("world-size-told-wrong"),
    "little-memory": Recording("little-memory"),
    "little-cpu": Recording("little-cpu"),
    "little-locked-memory": Recording("little-locked-memory"),
    "few-descriptors": Recording("few-descriptors"),
    "few-processes": Recording("few-processes"),
    "few-ephemeral-ports": Recording("few-ephemeral-ports"),
    "storage-full": Recording("storage-full"),
    "storage-without-inodes": Recording("storage-without-inodes"),
    "storage-read-only": Recording("storage-read-only"),
    "storage-not-shared": Recording("storage-not-shared"),
    "storage-slow": Recording("storage-slow", storage="/srv"),
    "storage-content-wrong": Recording("storage-content-wrong"),
    "storage-rename-torn": Recording("storage-rename-torn"),
    "storage-locks-ignored": Recording("storage-locks-ignored"),
    "conntrack-full": Recording("conntrack-full"),
    "mtu-differs": Recording("mtu-differs"),
    "wrong-average": Recording("wrong-average"),
    "parameters-astray": Recording("parameters-astray"),
    "loss-not-finite": Recording("loss-not-finite"),
    "healthy-two-ranks": Recording("healthy", nodes=2, ranks_per_node=2),
    "one-rank-killed": Recording("one-rank-killed", nodes=2, ranks_per_node=2),
    "two-faults": Recording("inbound-dropped@node0+rank-killed@node2", nodes=4),
}
"""Bundle -> how it was recorded."""


@cache
def every_check() -> Registry:
    """The registry as it was when this process started."""
    return registry.load()


def run(
    scenario: str,
    root: Path,
    *,
    plan: Plan | None = None,
    nodes: int = 4,
    level: str = "quick",
    only: tuple[str, ...] = (),
    shm_bytes: int = 0,
) -> Report:
    """Verify with that fault, and keep the bundle in a new folder."""
    plan, known, name = plan or Plan(), every_check(), secrets.token_hex(3)
    here = target.local(plan, nodes=nodes, level=level, run=name)
    local = here.given[LocalTarget]
    assert isinstance(local, LocalTarget)
    faulty = replace(local, launcher=(sys.executable, str(LAUNCHER), scenario), shm_bytes=shm_bytes)
    here = replace(here, given={**here.given, LocalTarget: faulty})
    selection = select(known, list(only), [])
    return job.verify(
        here, plan, registry=known, selection=selection, run_id=name, level=level, bundle=Bundle.create(root)
    )


def again(root: Path) -> Report:
    """Judge a recorded bundle."""
    recorded, known = replay.read(root), every_check()
    plan = plans.recorded(recorded.run.get("plan"), str(root))
    old = target.recorded(recorded.run, recorded.logs, recorded.notes, root.name)
    assert old.run
    chosen = reselect(known, recorded.run)
    return job.verify(old, plan, registry=known, selection=chosen, run_id=old.run.id, level=old.run.level)


def summary(report: Report) -> str:
    """What a person who records looks at."""
    lines = [f"{report.verdict}"]
    lines += [
        f"  {f.check} {f.status} {f.subject}: {f.message}" for f in report.findings if f.status in ("fail", "unknown")
    ]
    for d in report.diagnoses:
        lines.append(f"{d.cause} [{d.certainty}] {', '.join(map(str, d.subjects))}: {d.summary}")
        lines += [f"    evidence {e.file}:{e.line} {e.text}" for e in d.evidence]
        lines += [f"    explains {', '.join(map(str, d.explains))}"]
        lines += [f"    run {c}" for c in d.commands]
        lines += [f"    under it {c.cause}: {c.summary}" for c in d.consequences]
    return "\n".join(lines)


def record(name: str) -> Report:
    """Run what a bundle is made of, and keep it in place of the old one."""
    what = RECORDINGS[name]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "bundle")
        report = run(what.scenario, root, plan=what.plan, nodes=what.nodes, level=what.level, shm_bytes=what.shm_bytes)
        (root / "report.json").unlink()
        for path in root.rglob("*.json*"):
            path.write_text(
                path.read_text().replace(str(PROJECT), "/opt/gonogo").replace(sys.base_prefix, "/usr/local")
            )
        shutil.rmtree(BUNDLES / name, ignore_errors=True)
        shutil.copytree(root, BUNDLES / name)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description="Verify a fabric with a fault in it.")
    parser.add_argument("scenario", nargs="?", default="healthy")
    parser.add_argument("--record", metavar="BUNDLE", nargs="+", help="bundles to record anew, or all")
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--level", default="quick")
    given = parser.parse_args()
    if given.record:
        for name in RECORDINGS if given.record == ["all"] else given.record:
            print(f"== {name}\n{summary(record(name))}", flush=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        print(summary(run(given.scenario, Path(folder, "bundle"), nodes=given.nodes, level=given.level)))


if __name__ == "__main__":
    main()
