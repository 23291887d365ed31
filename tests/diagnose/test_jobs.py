"""Two jobs in one folder: each is explained by its own lines; programs and files that can't be read are said."""

import json
from pathlib import Path

from gonogo import registry
from gonogo.diagnose import diagnose
from gonogo.model import Report, Verdict


def diagnosed(folder: Path, **files: str) -> Report:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_log", ".log").replace("_json", ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return diagnose(folder, registry=registry.load_causes_of("gonogo.facts.events"))


def pods(**ended: object) -> str:
    items = []
    for name, state in ended.items():
        status = {"phase": "Failed", "containerStatuses": [{"name": "main", "state": {"terminated": state}}]}
        items.append({"kind": "Pod", "metadata": {"name": name.replace("_", "-")}, "status": status})
    return json.dumps({"kind": "List", "apiVersion": "v1", "items": items}, indent=1)


def test_each_job_has_its_own_cause_and_consequences(tmp_path: Path) -> None:
    report = diagnosed(
        tmp_path,
        a__pods_json=pods(ft_worker_0={"exitCode": 1}, ft_worker_1={"exitCode": 137, "reason": "OOMKilled"}),
        a__x_log="[pod/ft-worker-0/main] RuntimeError: Connection closed by peer [10.0.0.1]:123\n",
        b__pods_json=pods(eval_worker_0={"exitCode": 1}, eval_worker_1={"exitCode": 139}),
        b__x_log="[pod/eval-worker-1/main] failed (exitcode: -11) local_rank: 0 (pid: 901) of binary: python\n",
    )
    assert [d.cause for d in report.diagnoses] == ["pod.oom_killed", "job.rank_died"]
    assert all(s.name.startswith("ft-") for s in report.diagnoses[0].subjects)
    for root, job in zip(report.diagnoses, ("ft-", "eval-"), strict=True):
        told = {k.subject.name for d in (root, *root.consequences) for k in d.explains if k.subject.kind == "pod"}
        assert told and all(name.startswith(job) for name in told)


def test_one_jobs_lost_peer_follows_its_own_kill(tmp_path: Path) -> None:
    report = diagnosed(
        tmp_path,
        a__pods_json=pods(ft_worker_1={"exitCode": 137, "reason": "OOMKilled"}),
        a__x_log="[pod/ft-worker-1/main] failed (exitcode: -9) local_rank: 0 (pid: 901) of binary: python\n",
    )
    assert [d.cause for d in report.diagnoses] == ["pod.oom_killed"]
    assert [c.cause for c in report.diagnoses[0].consequences] == ["job.rank_died"]
    assert "Container main of pod ft-worker-1" in report.diagnoses[0].summary
    assert any("ft-worker-1" in command for command in report.diagnoses[0].commands)


def test_a_program_that_names_faults_has_none(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\n\ndef f(e):\n    return 'CUDA out of memory' in str(e)\n")
    report = diagnosed(tmp_path, x_log="step 1 loss 2.0\nTraining complete\n")
    assert report.verdict is Verdict.NOTHING_FOUND
    assert any("source code" in c.reason for c in report.coverage.not_proven)


def test_zstd_is_read_and_damage_is_said(tmp_path: Path) -> None:
    import zstandard

    lines = b"step 1 loss 2.0\n" * 50_000 + b"[1.0] NVRM: Xid (PCI:0000:a0:1d): 79, GPU has fallen off the bus.\n"
    packed = zstandard.ZstdCompressor().compress(lines)
    (tmp_path / "dmesg.log.zst").write_bytes(packed)
    assert [d.cause for d in diagnosed(tmp_path).diagnoses] == ["gpu.xid79_fell_off_bus"]
    for cut in (packed[:5], packed[:-9], packed[:20] + b"\xff" * 20 + packed[40:]):
        (tmp_path / "dmesg.log.zst").write_bytes(cut)
        report = diagnosed(tmp_path, x_log="step 1 loss 2.0\nTraining complete\n")
        assert any("dmesg.log.zst" in c.reason for c in report.coverage.not_proven)


def test_the_first_mover_is_told_by_one_clock(tmp_path: Path) -> None:
    ready = "{t} n{n}:1:1 [0] NCCL INFO comm 0x1 rank {n} nranks 3 nNodes 3 busId 53000 - Init COMPLETE\n"
    late = (
        "{t} [rank{n}]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=1, "
        "NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds\n"
    )
    report = diagnosed(
        tmp_path,
        n0_log=ready.format(t="2026-01-01T10:00:00Z", n=0) + late.format(t="2026-01-01T10:10:00Z", n=0),
        n1_log=ready.format(t="2026-01-01T10:00:01Z", n=1) + late.format(t="2026-01-01T10:10:01Z", n=1),
        n2_log=ready.format(t="2026-01-01T10:05:00Z", n=2) + late.format(t="2026-01-01T10:14:40Z", n=2),
    )
    (told,) = [c.text for c in report.coverage.proven if c.text.startswith("First mover")]
    assert "rank 2" in told  # five minutes ahead by its clock, and yet the first
    assert "clocks differ by up to 299 s" in told
