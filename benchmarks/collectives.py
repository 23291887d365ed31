"""How our all_reduce compares with a bare torch.distributed loop beside it: `python benchmarks/collectives.py`.

Both run between the same processes on loopback, in turn, several times over: a machine that gets slower meanwhile
slows both. Ours is the step that `gonogo verify` runs, records, checks of results and all; the bare one is what anybody
would write. Prints both medians and their ratio; ends with 1 if ours reports less than 0.95 of the bare bandwidth.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path

from gonogo.agent import child
from gonogo.agent.records import Writer
from gonogo.agent.spec import Spec
from gonogo.facts.fit import busbw

BAR = 0.95
SIZE = 64 << 20
CALLS = 5


def main() -> int:
    """Measure in turns and compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    child.preload()
    ours, bare = [], []
    for _ in range(options.turns):
        ours.append(statistics.median(_together(options.ranks, _ours)))
        bare.append(statistics.median(_together(options.ranks, _bare)))
    speed = [busbw("all_reduce", SIZE, statistics.median(seconds), options.ranks) for seconds in (ours, bare)]
    print(f"all_reduce 64 MiB, {options.ranks} ranks, gloo: ours {speed[0]:.3f} GB/s, bare {speed[1]:.3f} GB/s busbw")
    print(f"ratio {speed[0] / speed[1]:.3f}, bar {BAR}")
    return 0 if speed[0] >= BAR * speed[1] else 1


def _together(ranks: int, measure) -> list[float]:  # type: ignore[no-untyped-def]
    """What each rank measured, seconds of one call; all ranks run as forks of this process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        pids = []
        for rank in range(ranks):
            pid = os.fork()
            if not pid:
                seconds = measure(rank, ranks, port, Path(folder))
                Path(folder, f"{rank}.txt").write_text(str(seconds))
                os._exit(0)
            pids.append(pid)
        for pid in pids:
            os.waitpid(pid, 0)
        return [float(Path(folder, f"{rank}.txt").read_text()) for rank in range(ranks)]


def _ours(rank: int, ranks: int, port: int, folder: Path) -> float:
    names = [f"node{i}" for i in range(ranks)]
    spec = Spec("bench", names, ["127.0.0.1"] * ranks, rendezvous_port=port, level="deep", sizes=[SIZE])
    path = folder / f"{rank}.jsonl"
    with path.open("wb") as out:
        writer = Writer("bench", names[rank], out)
        child.run_step("collectives", spec, rank, names, spec.addresses, writer, time.monotonic() + 120)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    found = [r["seconds"] for r in records if r["kind"] == "op" and r["op"] == "all_reduce" and r["bytes"] == SIZE]
    return statistics.median(found)


def _bare(rank: int, ranks: int, port: int, folder: Path) -> float:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks)
    tensor = torch.ones(SIZE // 4)
    dist.all_reduce(tensor)
    started = time.perf_counter()
    for _ in range(CALLS):
        dist.all_reduce(tensor)
    seconds = (time.perf_counter() - started) / CALLS
    dist.barrier()
    dist.destroy_process_group()
    return seconds


if __name__ == "__main__":
    sys.exit(main())
