"""How fast `gonogo diagnose` reads: a made log of mixed tools, beside what rg and grep need to find the same anchors.

    python benchmarks/diagnose.py [--megabytes 1000] [--percent 1 30]

Prints what a start costs, the best of ten, then one row for each share of lines that carry an anchor: seconds, MB/s
and the most memory (RSS) of the process.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gonogo.facts.signatures import catalogue

FILLER = (
    "2026-11-30T08:{m:02d}:{s:02d}.{f:06d}Z stdout F [rank{r}] step {n} loss 2.{n:04d} lr 3.0e-04 tokens/s "
    "48{r}12 grad_norm 0.8\n",
    "I1130 08:{m:02d}:{s:02d}.{f:06d}    {n} reconciler.go:41{r}] "
    '"operationExecutor.VerifyControllerAttachedVolume" pod="ml/t-{r}"\n',
    'Nov 30 08:{m:02d}:{s:02d} ip-10-0-1-{r} containerd[{n}]: time="2026-11-30T08:{m:02d}:{s:02d}Z" level=info '
    'msg="loading"\n',
    "worker-{r}:{n}:{n} [{r}] NCCL INFO Channel {m:02d}/0 : {r}[{r}] -> {m}[{r}] via P2P/CUMEM/read\n",
    '{{"level":"info","ts":"2026-11-30T08:{m:02d}:{s:02d}Z","caller":"ipamd/ipamd.go:{n}","msg":"pool is warm"}}\n',
)
ANCHORED = (
    "[W1130 08:{m:02d}:{s:02d}.{f:06d} socket.cpp:752] [c10d] The client socket has timed out after 60s while "
    "trying to connect to (10.0.{r}.17, 29500).\n",
    "worker-{r}:{n}:{n} [{r}] NCCL INFO Channel 00/0 : {r}[{r}] -> {m}[{r}] [send] via NET/AWS Libfabric/{r}/GDRDMA\n",
    "[rank{r}]:[E1130 08:{m:02d}:{s:02d}.{f:06d} ProcessGroupNCCL.cpp:616] [Rank {r}] Watchdog caught "
    "collective operation timeout: "
    "WorkNCCL(SeqNum={n}, OpType=ALLREDUCE, NumelIn=67108864, NumelOut=67108864, Timeout(ms)=600000) ran for "
    "600041 milliseconds\n",
    'Nov 30 08:{m:02d}:{s:02d} ip-10-0-1-{r} kubelet[{n}]: E1130 cni plugin not initialized pod="ml/t-{r}"\n',
    "worker-{r}:{n}:{n} [{r}] NCCL INFO Bootstrap : Using ens5:10.0.{r}.{m}<0>\n",
)


def write(path: Path, megabytes: int, percent: float) -> int:
    """A log of that size with that share of anchored lines; returns the number of lines."""
    rng = random.Random(7)
    chunk, lines = [], 0
    for n in range(40_000):
        form = rng.choice(ANCHORED if rng.random() * 100 < percent else FILLER)
        chunk.append(form.format(m=n // 60 % 60, s=n % 60, f=n * 25 % 1_000_000, r=rng.randrange(8), n=1000 + n % 9000))
    block = "".join(chunk).encode()
    with path.open("wb") as out:
        while (left := megabytes * 1_000_000 - out.tell()) > 0:
            part = block if left >= len(block) else block[: block.index(b"\n", left - 1) + 1]
            out.write(part)
            lines += part.count(b"\n")
    return lines


def timed(argv: list[str], env: dict[str, str] | None = None) -> tuple[float, float]:
    """Seconds, and the most memory in MB, of one command; output goes to a file, since grep stops early for none."""
    with tempfile.NamedTemporaryFile() as sink:
        began = time.perf_counter()
        process = subprocess.Popen(argv, stdout=sink, stderr=sink, env={**os.environ, **(env or {})})
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1, 3):
            raise SystemExit(f"{argv[0]} ended with {process.returncode}: {Path(sink.name).read_text()[:300]}")
    return seconds, used.ru_maxrss / 1000


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--percent", type=float, nargs="+", default=[1, 30])
    options = parser.parse_args()
    gonogo = [str(Path(sys.executable).with_name("gonogo")), "diagnose"]
    with tempfile.TemporaryDirectory() as folder:
        anchors = Path(folder) / "anchors"
        anchors.write_bytes(b"\n".join(catalogue().anchors) + b"\n")
        small = Path(folder) / "small.log"
        write(small, 1, 5)
        line = Path(folder) / "line.log"
        line.write_text("a line\n")
        for name, argv in {
            "python -c pass": [sys.executable, "-c", "pass"],
            "gonogo diagnose, one line": [*gonogo, str(line)],
            "gonogo diagnose, 1 MB, 5 % anchored": [*gonogo, str(small)],
        }.items():
            seconds, memory = min(timed(argv) for _ in range(10))
            print(f"{name:36} {seconds:5.2f} s {'':10} {memory:7.0f} MB")
        for percent in options.percent:
            log = Path(folder) / "mixed.log"
            lines = write(log, options.megabytes, percent)
            print(f"{options.megabytes} MB, {lines} lines, {percent:g} % anchored")
            rows = {"gonogo diagnose": ([*gonogo, str(log)], None)}
            if shutil.which("rg"):
                rows["rg -c -f anchors"] = (["rg", "-c", "-F", "-f", str(anchors), str(log)], None)
            rows["LC_ALL=C grep -c -F -f anchors"] = (
                ["grep", "-c", "-F", "-f", str(anchors), str(log)],
                {"LC_ALL": "C"},
            )
            for name, (argv, env) in rows.items():
                seconds, memory = timed(argv, env)
                print(f"  {name:32} {seconds:7.2f} s {options.megabytes / seconds:7.0f} MB/s {memory:7.0f} MB")


if __name__ == "__main__":
    main()
