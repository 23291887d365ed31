"""Stands for agents in tests of framework steps: one process a rank, started as a program of its own.

Usage: agents.py JOB does that job. agents.py alone imports torch once, then forks for each JOB that is named on its
standard input, says the id of the process, and writes its exit code and output to the files `code` and `output` beside
JOB.

JOB is a file with the fields of gonogo.agent.spec.Spec as `spec` and, beside them, `step`, `out` (a folder), `started`
(ranks that start; all, if missing), `path` (where the package is imported from) and `patch` (source that is run in each
agent before its step, with `rank` set: how a test breaks something). Deadlines are passed when there is a file `late`.
"""

import json
import os
import sys
import time
import traceback
import types
from pathlib import Path

DEADLINE_SECONDS = 60


def main(file: str) -> None:
    job = json.loads(Path(file).read_text())
    sys.path.insert(0, job.get("path") or sys.path[0])
    from gonogo.agent import child
    from gonogo.agent.records import Writer
    from gonogo.agent.spec import Spec

    late = Path(job["out"], "late")
    clock = lambda: time.monotonic() + (DEADLINE_SECONDS if late.exists() else 0)  # noqa: E731
    child.time = types.SimpleNamespace(monotonic=clock, sleep=time.sleep)
    spec = Spec(**job["spec"])
    ranks = range(len(spec.peers)) if job.get("started") is None else job["started"]
    pids = []
    for place, rank in enumerate(ranks):
        pid = os.fork()
        if pid:
            pids.append(pid)
            continue
        out = os.open(Path(job["out"], f"{place}.jsonl"), os.O_WRONLY | os.O_CREAT)
        names = {"rank": rank, "place": place, "poll": None, "job": job}
        exec(job.get("patch", ""), names)
        spec = Spec(**{**job["spec"], **names.get("spec", {})})
        writer = Writer(spec.run, spec.peers[rank], out)
        deadline = time.monotonic() + DEADLINE_SECONDS
        child.run_step(job["step"], spec, rank, spec.peers, spec.addresses, writer, deadline, names["poll"])
        os._exit(0)
    for pid in pids:
        os.waitpid(pid, 0)


def serve() -> None:
    """Until standard input ends. Nobody waits for what has ended before the next job comes, so that its id stays."""
    from gonogo.agent import child

    child.preload()
    while line := sys.stdin.readline():
        while _reap():
            pass
        pid = os.fork()
        if not pid:
            _do(line.rstrip("\n"))
        print(pid, flush=True)


def _reap() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def _do(file: str) -> None:
    """In the forked process: one job, in a session of its own."""
    code, folder = 1, Path(file).parent
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        main(file)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        Path(folder, "code").write_text(str(code))
        os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1]) if len(sys.argv) > 1 else serve()
