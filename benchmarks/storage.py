"""How our write and read compare with fio beside them: `python benchmarks/storage.py [FOLDER]`.

Both write one file in blocks of 1 MiB and make it durable, then read it past the page cache, in turn, several times
over. Prints medians and ratios; ends with 1 if ours is below 0.9 of fio in either.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from gonogo.agent import files

BAR = 0.9
SIZE = 256 << 20
TURNS = 5


def main() -> int:
    """Measure in turns and compare."""
    if not shutil.which("fio"):
        print("fio is not installed: apt-get install fio", file=sys.stderr)
        return 2
    rates: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as name:
        folder = Path(name)
        for _ in range(TURNS):
            for path in folder.iterdir():
                path.unlink()  # both begin with no file
            for act in ("write", "read"):
                rates.setdefault(("ours", act), []).append(_ours(act, folder / "ours"))
                rates.setdefault(("fio", act), []).append(_fio(act, folder))
    worst = 2.0
    for act in ("write", "read"):
        ours, fio = (statistics.median(rates[who, act]) / 1e9 for who in ("ours", "fio"))
        worst = min(worst, ours / fio)
        print(f"{act} of 256 MiB: ours {ours:.3f} GB/s, fio {fio:.3f} GB/s, ratio {ours / fio:.3f}, bar {BAR}")
    return 0 if worst >= BAR else 1


def _ours(act: str, path: Path) -> float:
    seconds = files.write(path, "bench", SIZE)["seconds"] if act == "write" else files.read(path)["seconds"]
    return SIZE / float(seconds)


def _fio(act: str, folder: Path) -> float:
    command = [
        "fio",
        "--name=fio",
        f"--rw={act}",
        "--bs=1M",
        f"--size={SIZE}",
        f"--directory={folder}",
        "--ioengine=psync",
    ]
    command += ["--end_fsync=1", "--fallocate=none"] if act == "write" else ["--direct=1"]
    done = subprocess.run([*command, "--output-format=json"], check=True, capture_output=True, text=True)
    job = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    # With end_fsync fio's own bandwidth counts the fsync, as ours does.
    return float(job[act]["io_bytes"]) / (float(job["job_runtime"]) / 1000)


if __name__ == "__main__":
    sys.exit(main())
