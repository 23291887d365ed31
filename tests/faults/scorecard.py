"""How well faults are found: every fault is injected for real and verified; healthy look-alikes are run beside them.

python tests/faults/scorecard.py                     every row once, the table on standard output
python tests/faults/scorecard.py --seeds 3 --write   three times, with other victims and numbers of nodes, to docs/
python tests/faults/scorecard.py storage-full healthy    some rows
python tests/faults/scorecard.py --seeds 3 --log FILE    begun anew, it goes on after what is in FILE
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "lib"))

import faulty

from gonogo.model import Report, Status, Verdict
from gonogo.plan import Plan

PAGE = faulty.PROJECT / "docs" / "scorecard.md"
SEEDS = ((3, "last"), (4, "second"), (5, "last"))
"""Nodes, and which of them is the victim, by seed; further seeds begin again."""


@dataclass(frozen=True)
class Row:
    """A fault and what is to be said of it first; `who`: victim, all, pair, others (of the victim), nobody."""

    causes: tuple[str, ...]  # any of them is right as the first one; empty: healthy
    who: str = "victim"
    plan: dict[str, Any] = field(default_factory=dict)
    shm_bytes: int = 0
    level: str = "quick"
    nodes: int = 0  # 0: as the seed says
    scenario: str = ""  # "": the row's name
    both: tuple[str, ...] = ()  # of two faults at once: all root causes, in any order
    check: str = ""  # of what is worth a warning and has no cause: whose findings name the node

    @property
    def healthy(self) -> bool:
        return not self.causes and not self.check


def _row(causes: str, who: str = "victim", **more: Any) -> Row:
    return Row(tuple(causes.split()), who, **more)


def _two(causes: str, nodes: int = 4) -> Row:
    """Faults of node1 and of node2; both are root causes."""
    return _row(causes, "two", both=tuple(causes.split()), nodes=nodes)


_DOWN = "job.rank_died"
ROWS = {
    "healthy": _row(""),
    "mtu-1500-everywhere": _row(""),
    "even-links": _row(""),
    "even-latency": _row(""),
    "storage-nearly-full": _row(""),
    "ranks-told": _row(""),
    "busy-cpus": _row(""),
    "even-cpus": _row(""),
    "interface-named": _row("", scenario="healthy", plan={"job": {"environment": {"GLOO_SOCKET_IFNAME": "eth0"}}}),
    "machine-busy": _row(""),
    "even-cpu-quota": _row(""),
    "seven-nodes": _row("", scenario="healthy", nodes=7),
    # ports
    "all-ports-dropped": _row("network.port_blocked", "all"),
    "rendezvous-port-dropped": _row("network.port_blocked", "all"),
    "rendezvous-port-rejected": _row("network.port_blocked", "all"),
    "all-ports-but-rendezvous-dropped": _row("network.port_blocked", "all"),
    "node-unreachable": _row("network.port_blocked"),
    "inbound-dropped": _row("network.one_way_blocked"),
    "outbound-dropped": _row("network.one_way_blocked"),
    "inbound-rejected": _row("network.one_way_blocked"),
    "inbound-prohibited": _row("network.one_way_blocked"),
    "pair-dropped": _row("network.port_blocked", "pair"),
    "rendezvous-port-taken": _row("job.port_in_use"),
    "few-connections": _row("network.connections_limited"),
    "addresses-rewritten": _row("network.address_rewritten"),
    "address-taken-twice": _row("network.address_conflict"),
    "neighbour-stale": _row("network.address_conflict"),
    # the wire
    "node-slow": _row("network.link_slow"),
    "link-slow": _row("network.link_slow", "pair", nodes=3),
    "links-below-plan": _row("network.below_plan", "nobody", scenario="even-links", plan={"expect": {"link_gbps": 50}}),
    "mtu-black-hole": _row("network.mtu_mismatch"),
    "mtu-black-hole-everywhere": _row("network.mtu_mismatch", "all"),
    "packets-lost": _row("network.packet_loss"),
    "packets-damaged": _row("network.packet_loss"),
    "latency-high": _row("network.latency_high network.link_slow"),
    "long-connections-dropped": _row("network.connection_cut"),
    "link-down": _row("network.interface_down"),
    # processes
    "rank-killed": _row(_DOWN),
    "node-killed": _row(_DOWN),
    "rank-killed-in-training": _row(_DOWN),
    "node-killed-in-join": _row(_DOWN),
    "rank-frozen": _row("job.rank_stalled"),
    "node-frozen": _row("job.rank_stalled"),
    "node-frozen-in-links": _row("job.rank_stalled"),
    "node-frozen-in-ports": _row("job.rank_stalled"),
    # names
    "coordinator-name-unknown": _row("job.rendezvous_dns_not_ready", "all"),
    "coordinator-name-unknown-on-one": _row("job.rendezvous_dns_not_ready"),
    "name-unknown": _row("network.name_unresolved", "others"),
    "coordinator-name-dead": _row("job.master_addr_wrong"),
    "coordinator-name-wrong": _row("job.master_addr_wrong"),
    "own-name-loopback": _row("gloo.interface_wrong", "all"),
    "own-name-loopback-on-one": _row("gloo.interface_wrong"),
    "own-name-unknown": _row("network.name_unresolved"),
    "interface-missing": _row(
        "gloo.interface_wrong", "all", scenario="healthy", plan={"job": {"environment": {"GLOO_SOCKET_IFNAME": "eth9"}}}
    ),
    "interface-loopback": _row(
        "gloo.interface_wrong", "all", scenario="healthy", plan={"job": {"environment": {"GLOO_SOCKET_IFNAME": "lo"}}}
    ),
    "interface-without-route": _row(
        "gloo.interface_wrong", "all", plan={"job": {"environment": {"GLOO_SOCKET_IFNAME": "priv0"}}}
    ),
    # inside of a node
    "shm-small": _row("pod.shm_too_small"),
    "out-of-memory": _row("pod.oom_killed"),
    "little-memory": _row("pod.oom_killed"),
    "little-cpu": _row("node.straggler"),
    "steps-late": _row("node.straggler"),
    "data-late": _row("node.straggler"),
    "mtu-differs": _row("", check="NOD004"),
    "conntrack-full": _row("limits.conntrack_full"),
    "little-locked-memory": _row("limits.memlock_too_small"),
    "few-descriptors": _row("limits.open_files_too_few"),
    "few-processes": _row("limits.processes_too_few"),
    "few-ephemeral-ports": _row("limits.local_ports_too_few"),
    "clock-ahead": _row("node.clock_skew"),
    "another-torch": _row("software.framework_version_mismatch"),
    # storage
    "storage-full": _row("storage.full", "all"),
    "storage-without-inodes": _row("storage.full", "all"),
    "storage-read-only": _row("storage.read_only"),
    "storage-not-shared": _row("storage.checkpoint_not_shared"),
    "storage-slow": _row("storage.slow", plan={"storage": [{"path": "/srv"}]}),
    "storage-below-plan": _row(
        "storage.below_plan",
        "nobody",
        scenario="healthy",
        plan={"storage": [{"path": "/srv", "write_gbytes_per_second": 100}]},
    ),
    "storage-content-wrong": _row("storage.not_visible_between_nodes"),
    "storage-rename-torn": _row("storage.checkpoint_torn"),
    "storage-locks-ignored": _row("", check="STO004"),
    # the job's own
    "rank-told-twice": _row("job.world_size_mismatch", "pair"),
    "world-size-told-wrong": _row("job.world_size_mismatch"),
    "another-collective": _row("job.collective_mismatch"),
    "another-shape": _row("job.collective_mismatch"),
    "call-skipped": _row("job.collective_mismatch"),
    "one-batch-fewer": _row("job.collective_mismatch_uneven_batches"),
    "wrong-sum": _row("collective.wrong_result"),
    "another-dtype": _row("job.collective_mismatch"),
    "wrong-average": _row("collective.wrong_result", "nobody"),
    "parameters-astray": _row("train.ranks_diverge"),
    "loss-not-finite": _row("train.loss_not_finite"),
    # two at once, of node1 and of node2
    "clock-ahead@node1+storage-read-only@node2": _two("node.clock_skew storage.read_only", nodes=0),
    "inbound-dropped@node1+rank-killed@node2": _two("network.one_way_blocked job.rank_died"),
    "packets-lost@node1+few-descriptors@node2": _two("network.packet_loss limits.open_files_too_few"),
    "node-slow@node1+packets-lost@node2": _two("network.link_slow network.packet_loss"),
    "inbound-dropped@node1+wrong-sum@node2": _two("network.one_way_blocked collective.wrong_result"),
    "mtu-black-hole@node1+storage-read-only@node2": _two("network.mtu_mismatch storage.read_only"),
    "little-cpu@node1+storage-not-shared@node2": _two("node.straggler storage.checkpoint_not_shared"),
    "steps-late@node1+another-torch@node2": _two("node.straggler software.framework_version_mismatch"),
}


@dataclass(frozen=True)
class Result:
    """One run of one row."""

    name: str
    seed: int
    detected: bool
    cause_right: bool
    who_right: bool
    said: str  # the first cause and whom it names, or the verdict
    seconds: float
    within_bound: bool


def run(name: str, seed: int, folder: Path) -> Result:
    """Inject, verify, compare."""
    row = ROWS[name]
    nodes, place = SEEDS[seed % len(SEEDS)]
    nodes = row.nodes or nodes
    victim = nodes - 1 if place == "last" else 1
    scenario = row.scenario or name
    if not row.healthy and not row.scenario and row.who not in ("all", "two"):
        scenario = f"{scenario}@node{victim}"
    began = time.monotonic()
    report = faulty.run(
        scenario, folder, plan=Plan.model_validate(row.plan), nodes=nodes, level=row.level, shm_bytes=row.shm_bytes
    )
    seconds = time.monotonic() - began
    return _judge(name, seed, row, report, {f"node{i}" for i in range(nodes)}, victim, seconds)


def _judge(name: str, seed: int, row: Row, report: Report, nodes: set[str], victim: int, seconds: float) -> Result:
    first = report.diagnoses[0] if report.diagnoses else None
    bad = [f"{f.check} {f.status}" for f in report.findings if f.status not in (Status.OK, Status.SKIP)]
    named = {n for s in first.subjects for n in (s.name, s.to) if n} if first else set()
    said = f"{first.cause} on {', '.join(sorted(named)) or 'the cluster'}" if first else f"{report.verdict}, no cause"
    if row.healthy:
        well = report.verdict == Verdict.GO and not report.diagnoses
        said = "" if well else f"{said}: {', '.join(dict.fromkeys(bad))}"
        return Result(name, seed, well, well, well, said, seconds, seconds <= report.run.bound_seconds)
    me = f"node{victim}"
    wanted = {
        "victim": {me},
        "all": nodes,
        "pair": {me, f"node{victim - 1}"},
        "others": nodes - {me},
        "two": {"node1", "node2"},
        "nobody": set[str](),
    }[row.who]
    cause_right = first is not None and first.cause in row.causes
    if row.check:
        warned = [f for f in report.findings if f.check == row.check and f.status == Status.WARN]
        cause_right, named = report.verdict == Verdict.GO, {f.subject.name for f in warned}
        said = f"{row.check} warns of {', '.join(sorted(named)) or 'nobody'}"
    if row.both:
        cause_right = sorted(d.cause for d in report.diagnoses) == sorted(row.both)
        named = {s.name for d in report.diagnoses for s in d.subjects}
        said = " and ".join(d.cause for d in report.diagnoses) or said
    seen = any(f.status in (Status.FAIL, Status.WARN) for f in report.findings)
    return Result(name, seed, seen, cause_right, named == wanted, said, seconds, seconds <= report.run.bound_seconds)


def page(results: Sequence[Result], seeds: int) -> str:
    """The table in Markdown."""
    faults = [r for r in results if not ROWS[r.name].healthy]
    healthy = [r for r in results if ROWS[r.name].healthy]
    lines = [
        "# Scorecard",
        "",
        f"Measured on {time.strftime('%Y-%m-%d')} by `tests/faults/scorecard.py`: faults injected for real into "
        f"a fabric of processes, at level quick, {seeds} time{'s' * (seeds != 1)} each.",
        "",
        f"- detected: {_share(r.detected for r in faults)} runs with a fault",
        f"- first cause right: {_share(r.cause_right for r in faults)}",
        f"- node or link right: {_share(r.who_right for r in faults)}",
        f"- false alarms: {sum(not r.detected for r in healthy)} of {len(healthy)} healthy runs",
        f"- within the stated bound of time: {_share(r.within_bound for r in results)} runs",
        "",
        "| fault | detected | first cause right | node right | seconds | said otherwise |",
        "|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(r.name for r in faults):
        mine = [r for r in faults if r.name == name]
        wrong = "; ".join(dict.fromkeys(r.said for r in mine if not (r.cause_right and r.who_right)))
        cells = [_share(getattr(r, k) for r in mine) for k in ("detected", "cause_right", "who_right")]
        lines.append(f"| {name} | {' | '.join(cells)} | {max(r.seconds for r in mine):.0f} | {wrong} |")
    lines += ["", "| healthy look-alike | GO | seconds | said otherwise |", "|---|---|---|---|"]
    for name in dict.fromkeys(r.name for r in healthy):
        mine = [r for r in healthy if r.name == name]
        wrong = "; ".join(dict.fromkeys(r.said for r in mine if r.said))
        lines.append(f"| {name} | {_share(r.detected for r in mine)} | {max(r.seconds for r in mine):.0f} | {wrong} |")
    return "\n".join(lines) + "\n"


def _share(of: Any) -> str:
    found = list(of)
    return f"{sum(found)} of {len(found)}"


def _logged(log: Path | None) -> list[Result]:
    if log is None or not log.exists():
        return []
    results = [Result(**json.loads(line)) for line in log.read_text().splitlines()]
    return [r for r in results if r.name in ROWS]


def main() -> None:
    parser = argparse.ArgumentParser(description="Inject every fault and count what is found.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="some rows; all if none is named")
    parser.add_argument("--seeds", type=int, default=1, help="how often each")
    parser.add_argument("--write", action="store_true", help=f"to {PAGE.relative_to(faulty.PROJECT)}, too")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="where the runs' bundles are kept")
    parser.add_argument("--log", metavar="FILE", type=Path, help="where each result is added; those in it aren't rerun")
    given = parser.parse_args()
    results = _logged(given.log)
    done = {(r.name, r.seed) for r in results}
    todo = [(name, seed) for seed in range(given.seeds) for name in given.rows or ROWS if (name, seed) not in done]
    with tempfile.TemporaryDirectory() as temporary:
        for name, seed in todo:
            result = run(name, seed, (given.keep or Path(temporary)) / f"{name}-{seed}")
            results.append(result)
            if given.log:
                with given.log.open("a") as log:
                    print(json.dumps(asdict(result)), file=log)
            marks = [("missed", "found")[result.detected], "cause" * result.cause_right, "node" * result.who_right]
            print(f"{name} {seed}: {' '.join(marks)} {result.seconds:.0f} s {result.said}", file=sys.stderr, flush=True)
    text = page(results, given.seeds)
    print(text)
    if given.write:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
