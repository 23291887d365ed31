"""Step `collectives`: every collective that training uses, over a sweep of sizes, each result checked exactly."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from gonogo.agent.group import Group, StepWriter, process_group
from gonogo.agent.operations import OPERATIONS, Buffers, Pattern, largest_group
from gonogo.agent.spec import Spec

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int64": torch.int64}
SIZE_SECONDS = {"quick": 0.05, "standard": 0.1, "deep": 1.0}  # of measuring one size once
MOST_ITERATIONS = 50
SMALL_BYTES = 8 * 1021  # an odd number of elements of any type
MORE_BYTES = ((1 << 20) + 4 * 1021, 1 << 22)  # no power of two, and one that is cut into many segments
BATCH_BYTES = 1 << 20
MOST_CALLS = 8
SHARE_OF_STEP = 0.6  # of the step's deadline; the rest is for start, end and surprise


@dataclass(frozen=True)
class Case:
    """One measurement: all its values are the same on all ranks."""

    op: str
    bytes: int
    dtype: str = "float32"
    repeat: int = 1  # which pass over this size
    proof: bool = False  # whether it works and is right; how fast it is does not matter


@dataclass(frozen=True)
class Measured:
    """Seconds of single calls, and what was wrong with their results."""

    samples: list[float]
    calls: int
    wrong: int
    max_error: float
    wrong_from: list[int]
    suspects: list[int]


def cases(spec: Spec, ranks: int) -> list[Case]:
    """What to measure, in order: a proof of every collective in every type, then how fast all_reduce is at each size,
    its largest two sizes again to know the spread, and at last two larger sizes of the rest.

    Proofs come first and are cheap, so that a slow fabric loses sizes and no kind. Speed is all_reduce's to tell.
    """
    sweep = sorted(spec.sizes)
    found = [case for op in OPERATIONS for name in DTYPES if (case := _case(op, SMALL_BYTES, ranks, name, proof=True))]
    found += [Case("all_reduce", size) for size in sweep]
    found += [Case("all_reduce", size, repeat=2) for size in sweep[-2:]]
    if spec.level != "quick":
        larger = [size for size in MORE_BYTES if size <= sweep[-1]]
        rest = [op for op in OPERATIONS if op != "all_reduce"]
        found += [case for op in rest for size in larger if op != "barrier" and (case := _case(op, size, ranks))]
    return found


def _case(op: str, size: int, ranks: int, dtype: str = "float32", proof: bool = False) -> Case | None:
    """One case, its size rounded up to what the ranks can share; None if it makes no sense with so many ranks."""
    operation, kind = OPERATIONS[op], DTYPES[dtype]
    if ranks < operation.least_ranks or ranks > largest_group(kind) or (op == "barrier" and dtype != "float32"):
        return None
    width = kind.itemsize * (ranks if operation.sharded else 1)
    return Case(op, 0 if op == "barrier" else -(-size // width) * width, dtype, proof=proof)


def run(spec: Spec, rank: int, members: list[str], log: StepWriter) -> None:
    """Measure all cases and write one `op` record for each."""
    ends = time.monotonic() + SHARE_OF_STEP * spec.step_seconds["collectives"]
    with process_group(spec, members, log) as group:
        sweep = Sweep(spec, group, log, ends)
        for case in cases(spec, group.size):
            sweep.run(case)
        sweep.close()


class Sweep:
    """Goes through cases and leaves out those that would not end in time: a slow fabric is a number, not a hang."""

    def __init__(self, spec: Spec, group: Group, log: StepWriter, ends: float) -> None:
        self._group, self._log, self._ends = group, log, ends
        self._seconds = SIZE_SECONDS.get(spec.level, SIZE_SECONDS["standard"])
        self._left = ends - time.monotonic()
        self._patterns = {name: Pattern(dtype, group) for name, dtype in DTYPES.items()}
        self._last: dict[str, tuple[int, float]] = {}  # op -> bytes and seconds of its last case
        self._slope = 0.0  # seconds a byte, of whatever moved them fastest
        self._cut: dict[str, dict[str, Any]] = {}  # op -> what was left out
        self._has_told_calls = False

    def run(self, case: Case) -> None:
        """Measure one case, if it fits and the backend has it."""
        predicted = 3 * self._predict(case)  # the trial and at least two more
        if predicted > self._left:
            cut = {"op": case.op, "sizes": [], "predicted_seconds": predicted, "left_seconds": self._left}
            self._cut.setdefault(case.op, cut)["sizes"].append(case.bytes)
            return
        where = {"op": case.op, "bytes": case.bytes, "dtype": case.dtype, "repeat": case.repeat}
        self._log.at("op", **where)
        try:
            measured = self._measure(case)
        except NotImplementedError as error:
            self._log.write("unsupported", **where, text=str(error))
            return
        self._log.write(
            "op",
            **where,
            ranks=self._group.size,
            iterations=len(measured.samples),
            calls=measured.calls,
            seconds=statistics.median(measured.samples),
            min_seconds=min(measured.samples),
            max_seconds=max(measured.samples),
            wrong=measured.wrong,
            max_error=measured.max_error,
            wrong_from=measured.wrong_from,
            suspects=measured.suspects,
        )
        if measured.wrong and not self._has_told_calls:
            self._has_told_calls = True
            self._log.calls()  # ranks whose types differ by no byte get wrong numbers and no error

    def close(self) -> None:
        """Say what was left out."""
        for cut in self._cut.values():
            self._log.write("cut", **cut)

    def _predict(self, case: Case) -> float:
        """Seconds of one call: what the last size took, and what the bytes beyond it take at the best speed seen."""
        size, seconds = self._last.get(case.op, (0, 0.0))
        return seconds + max(0, case.bytes - size) * self._slope

    def _learn(self, case: Case, seconds: float) -> None:
        self._last[case.op] = case.bytes, seconds
        if case.bytes:
            self._slope = min(self._slope or seconds / case.bytes, seconds / case.bytes)

    def _measure(self, case: Case) -> Measured:
        """Time batches of calls, each on data of its own, and check each result.

        - A batch, not a call: at 1 KiB the clock and the barrier cost as much as the call. From 1 MiB up it is a call.
        - A barrier before each batch: ranks that come late from checking must not count as slow network.
        - Filling and checking are outside of the timed part; the fill also touches every page before the clock starts.
        - A first call is not counted: it opens connections and sizes buffers. Its time, the greatest of all ranks',
          decides how many follow, so that all ranks go on together and a slow fabric ends in time.
        - The clock stops when this rank's result is there; ranks differ, and their records show it.
        """
        trial = Batch(case, self._patterns[case.dtype], 1)
        slowest, spent = self._group.greatest(trial.time(), time.monotonic() - self._ends)
        self._left = -spent  # the least that any rank has left
        self._learn(case, slowest)
        affordable = max(1, int(min(self._seconds, self._left / 2) / max(slowest, 1e-6)))  # calls
        calls = max(1, min(MOST_CALLS, BATCH_BYTES // max(case.bytes, 1), affordable // 3))
        batch = trial if calls == 1 or case.proof else Batch(case, self._patterns[case.dtype], calls)
        iterations = 2 if case.proof else max(2, min(MOST_ITERATIONS, affordable // calls))
        samples = [batch.time() for _ in range(iterations)]
        made = [trial] if batch is trial else [trial, batch]
        return Measured(
            samples,
            batch.calls,
            sum(one.wrong for one in made),
            max(one.max_error for one in made),
            sorted(set().union(*(one.wrong_from for one in made))),
            sorted(set.intersection(*(one.suspects for one in made))) if any(one.wrong for one in made) else [],
        )


class Batch:
    """Calls of one operation, each with its own buffers, and what was wrong with their results so far."""

    def __init__(self, case: Case, pattern: Pattern, calls: int) -> None:
        elements = case.bytes // pattern.dtype.itemsize
        self._buffers = [Buffers(OPERATIONS[case.op], pattern, elements) for _ in range(calls)]
        self.calls = calls
        self._group, self._salt = pattern.group, 0
        self.wrong, self.max_error = 0, 0.0
        self.wrong_from: set[int] = set()
        self.suspects = set(range(pattern.group.size))

    def time(self) -> float:
        """Seconds of one call in a batch, all results checked."""
        self._salt += 1
        for number, buffers in enumerate(self._buffers, self._salt):
            buffers.fill(number)
        self._group.settle()
        dist.barrier()
        self._group.settle()
        started = time.perf_counter()
        for buffers in self._buffers:
            buffers.call()
        self._group.settle()
        seconds = (time.perf_counter() - started) / len(self._buffers)
        for number, buffers in enumerate(self._buffers, self._salt):
            for source, wrong, greatest in buffers.check(number):
                self.wrong += wrong
                self.max_error = max(self.max_error, greatest)
                self.wrong_from |= set() if source is None else {source}
                if source is None:
                    self.suspects &= buffers.suspects(number)
        return seconds
