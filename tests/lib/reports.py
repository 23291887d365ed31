"""One report with everything in it, for renderers."""

from __future__ import annotations

from gonogo.model import (
    CLUSTER,
    Certainty,
    Claim,
    Coverage,
    Diagnosis,
    Evidence,
    Figure,
    Finding,
    Repair,
    Report,
    RunInfo,
    Status,
    TargetInfo,
    Timing,
    Verdict,
    link,
    node,
    rank,
)

_PROBE = Evidence("node1 → node0: no answer on port 29500 after 3 s, dropped", "agents/node1.jsonl", 57)
_FAILED = tuple(
    Finding(
        Status.FAIL, link(f"node{a}", f"node{b}"), f"node{a} does not reach node{b} on port 29500.",
        evidence=(_PROBE,), check="NET001",
    )
    for a in range(3) for b in range(3) if a != b
)  # fmt: skip

FINDINGS = (
    Finding(Status.UNKNOWN, CLUSTER, "No rank trained (waits for NET001).", check="TRN001"),
    Finding(Status.WARN, node("node2"), "node2 has 64 MiB of /dev/shm.", 64, 1024, "MiB", "plan", check="NOD004"),
    Finding(Status.SKIP, CLUSTER, "No floor to hold it against.", check="COL004"),
    Finding(Status.OK, node("node0"), "node0 answers.", True, check="NOD001"),
    Finding(Status.FAIL, rank(3), "The loss of rank 3 is nan.", float("nan"), 2.5, check="TRN002", traceback="secret"),
    *_FAILED,
)

DIAGNOSES = (
    Diagnosis(
        "network.port_blocked", Certainty.ESTABLISHED,
        "Port 29500 is dropped between all 3 nodes: 6 of 6 directions.", (link("node1", "node0"),), (_PROBE,) * 7,
        tuple(f.key for f in _FAILED), repair=Repair.CHANGE_NETWORK_RULE,
        commands=("nsenter --net=/proc/$(pgrep -f gonogo:node0)/ns/net nft list ruleset  # long as it is: one line",),
        consequences=(
            Diagnosis("job.rank_died", Certainty.SUPPORTED, "Rank 3 gave up.", (rank(3),), (), (FINDINGS[0].key,)),
        ),
    ),
    Diagnosis(
        "train.diverged", Certainty.HYPOTHESIS, "Rank 3 computes wrong numbers.", (rank(3),), (),
        contradicts=(Evidence("its parameters agree"),), next_observation="Run gonogo verify --only train there.",
    ),
)  # fmt: skip

REPORT = Report(
    verdict=Verdict.NO_GO,
    run=RunInfo(
        "k7f3",
        "0.1.0",
        "standard",
        1_796_000_000.0,
        1_796_000_041.5,
        74.0,
        agent_sha256="ab" * 32,
        flags=(("-f", "my plan.yaml"), ("--nodes", "3"), ("--only", "network,train,link")),
    ),
    target=TargetInfo(
        "local", "this machine", "this machine, 3 nodes in network namespaces", (), ("kube context prod",)
    ),
    plan={"name": "vision"},
    coverage=Coverage(
        (Claim("1 of 3 nodes", "", ("NOD001",)),),
        (
            Claim("Training completes", "No rank trained.", ("TRN001",)),
            Claim("12 checks", "not asked for"),
        ),
    ),
    findings=FINDINGS,
    diagnoses=DIAGNOSES,
    figures=(
        Figure("all_reduce_alpha", 0.0023, "seconds", at={"op": "all_reduce", "ranks": 3}, check="COL004"),
        Figure("busbw", 0.2, "GB/s", at={"op": "all_reduce", "ranks": 3, "bytes": 1024}, check="COL004"),
        Figure("busbw", 1.25, "GB/s", at={"op": "all_reduce", "ranks": 3, "bytes": 1 << 26}, check="COL004"),
        Figure("link_throughput", 9.5, "Gbit/s", link("node0", "node1"), check="LNK002"),
        Figure("link_throughput", 1.5, "Gbit/s", link("node1", "node0"), check="LNK002"),
        Figure("loss", float("inf"), "", rank(3), check="TRN002"),
    ),
    timings=(Timing("node", 0.9), Timing("ports", 3.2)),
    titles={"NET001": "All nodes reach each other on the rendezvous port", "TRN001": "Training completes"},
)

GO = Report(
    verdict=Verdict.GO,
    run=REPORT.run,
    target=REPORT.target,
    plan={},
    coverage=Coverage((Claim("3 of 3 nodes"), Claim("All ranks agree"))),
    findings=(Finding(Status.OK, node("node0"), "node0 answers.", check="NOD001"),),
    diagnoses=(),
    figures=(),
)
