"""Step `train`: a small model learns from deterministic data under DistributedDataParallel; each step is timed.

The data are images of 256 KiB, 16 MiB a batch, made by loader processes and handed over through /dev/shm: as much as a
real vision job keeps there. Each is one of ten known patterns under noise, so a model that learns finds them at once.
"""

from __future__ import annotations

import ctypes
import hashlib
import statistics
import time
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from gonogo.agent.group import Group, StepWriter, process_group
from gonogo.agent.spec import Spec
from gonogo.links.pace import Steps, judge

SEED = 20260
CLASSES = 10
SIDE = 16  # the pattern; each of its points is repeated to a square of the image
REPEAT = 16
BATCH = 64  # images of one rank in a step
WIDTH = 1024
BUCKET_MIB = 2  # gradients of 5 MiB leave in parts, so that communication can overlap with computing
LOOKS = 3  # at most: the planned steps, and as many again while some rank seems late
SHARE_OF_STEP = 0.6  # of the step's deadline; the rest is for start, end and surprise
REPRODUCED_STEPS = 3
TOLERANCE = 1e-3  # of a loss: N ranks add the same float32 numbers as one process, in another order


class DataEnded(Exception):
    """This rank's loader has fewer batches than there are steps."""


class Images:
    """Images that depend on nothing but their index; a data set for torch's DataLoader."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._patterns = torch.randn(CLASSES, SIDE, SIDE, generator=torch.Generator().manual_seed(SEED))

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> tuple[Any, int]:
        if index >= self._count:
            raise IndexError(index)
        label = index % CLASSES
        noise = torch.randn(SIDE, SIDE, generator=torch.Generator().manual_seed(SEED + 1 + index))
        small = self._patterns[label] + noise
        return small.repeat_interleave(REPEAT, 0).repeat_interleave(REPEAT, 1), label


def shard(rank: int, ranks: int, steps: int) -> list[list[int]]:
    """The indices of this rank's batches; the ranks' batches of a step together hold each of its images once."""
    whole = BATCH * ranks
    return [list(range(step * whole + rank, (step + 1) * whole, ranks)) for step in range(steps)]


def new_model(device: Any) -> Any:
    """1.3 million parameters, alike wherever it is made."""
    torch.manual_seed(SEED)
    points = SIDE * SIDE
    layers = [
        torch.nn.AvgPool2d(REPEAT),
        torch.nn.Flatten(),
        torch.nn.Linear(points, WIDTH),
        torch.nn.ReLU(),
        torch.nn.Linear(WIDTH, WIDTH),
        torch.nn.ReLU(),
        torch.nn.Linear(WIDTH, CLASSES),
    ]
    return torch.nn.Sequential(*layers).to(device)


def new_optimizer(model: Any) -> Any:
    """Plain and deterministic; Adam would hide differences of gradients."""
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def run(spec: Spec, rank: int, members: list[str], log: StepWriter) -> None:
    """Train and write the records; rank 0 then repeats the first steps alone."""
    with process_group(spec, members, log) as group:
        losses = _train(spec, group, log)
    if group.rank == 0:
        _reproduce(group, losses[:REPRODUCED_STEPS], log)


def _train(spec: Spec, group: Group, log: StepWriter) -> list[float]:
    """The loss of each step, over all ranks."""
    started = time.monotonic()
    trainer = Trainer(spec, group, log)
    looks: list[dict[str, Steps]] = []
    while not looks or _look_again(spec, group, looks, time.monotonic() - started):
        mine = trainer.take(spec.train_steps, look=len(looks))
        looks.append(
            _of_all(group, [(s["data_seconds"] + s["before_collective_seconds"], s["sync_seconds"]) for s in mine])
        )
    log.at("check")
    log.write("parameters", **fingerprint(trainer.model))
    log.write("summary", **_summary(spec, trainer.splits, trainer.losses))
    return trainer.losses


def _of_all(group: Group, mine: Steps) -> dict[str, Steps]:
    """The ranks' own times and waits, alike on all ranks, so that all of them decide alike."""
    rows = group.of_all([seconds for step in mine for seconds in step])
    return {str(rank): list(zip(row[::2], row[1::2], strict=True)) for rank, row in enumerate(rows)}


def _look_again(spec: Spec, group: Group, looks: list[dict[str, Steps]], seconds: float) -> bool:
    """Whether some rank was late in every look so far, and there is time for one more."""
    (longest,) = group.greatest(seconds)
    affordable = longest * (len(looks) + 1) / len(looks) < SHARE_OF_STEP * spec.step_seconds["train"]
    return len(looks) < LOOKS and affordable and any(pace.is_late for pace in judge(looks).values())


class Trainer:
    """Takes steps and writes a record of each."""

    def __init__(self, spec: Spec, group: Group, log: StepWriter) -> None:
        self._spec, self._group, self._log = spec, group, log
        self._watch = Watch(group)
        self.model = DistributedDataParallel(new_model(group.device), bucket_cap_mb=BUCKET_MIB)
        watch = self._watch
        self.model.register_comm_hook(None, lambda state, bucket: watch.hook(state, bucket))  # DDP refuses annotations
        self._optimizer, self._loss_of = new_optimizer(self.model), torch.nn.CrossEntropyLoss()
        self.losses: list[float] = []
        self.splits: list[dict[str, float]] = []

    def take(self, count: int, look: int) -> list[dict[str, float]]:
        """So many steps more, on data of their own; returns where the time of each went."""
        first = len(self.losses)
        self._log.at("data", index=first, steps=first + count)
        batches = iter(_batches(self._spec, self._group, first, count))
        for index in range(first, first + count):
            self._log.at("data", index=index)
            self._watch.start()
            batch = next(batches, None)
            if batch is None:
                raise DataEnded(f"the data ended after {index - first} of {count} batches")
            images, labels = (part.to(self._group.device) for part in batch)
            self._watch.mark("data")
            self._log.at("step", index=index)
            loss = self._step(images, labels)
            split = self._watch.split()
            self.splits.append(split)
            self.losses.append(_mean(loss, self._group))
            self._log.write("step", index=index, look=look, loss=self.losses[-1], own_loss=float(loss), **split)
        return self.splits[first:]

    def _step(self, images: Any, labels: Any) -> Any:
        """Forward, backward, optimizer; the loss."""
        loss = self._loss_of(self.model(images), labels)
        self._watch.mark("forward")
        loss.backward()
        self._watch.mark("backward")
        self._optimizer.step()
        self._optimizer.zero_grad()
        self._watch.mark("optimizer")
        return loss.detach()


def _batches(spec: Spec, group: Group, first: int, count: int) -> Any:
    images = Images(BATCH * group.size * (first + count))
    return DataLoader(
        images,
        batch_sampler=shard(group.rank, group.size, first + count)[first:],
        num_workers=spec.loader_workers,
        multiprocessing_context="fork" if spec.loader_workers else None,
        timeout=spec.framework_seconds if spec.loader_workers else 0,
    )


def _mean(loss: Any, group: Group) -> float:
    shared = loss.clone()
    dist.all_reduce(shared)
    return float(shared) / group.size


def _summary(spec: Spec, splits: list[dict[str, float]], losses: list[float]) -> dict[str, Any]:
    """Medians without the first two steps, which start loaders, size buffers and rebuild DDP's buckets."""
    settled = splits[2:] or splits

    def middle(*names: str) -> float:
        return statistics.median(sum(split[name] for name in names) for split in settled)

    return {
        "steps": len(losses),
        "loader_workers": spec.loader_workers,
        "batch_bytes": BATCH * (SIDE * REPEAT) ** 2 * 4,
        "data_seconds": middle("data_seconds"),
        "compute_seconds": middle("forward_seconds", "backward_seconds", "optimizer_seconds"),
        "exposed_seconds": middle("sync_seconds"),
        "loss_first": losses[0],
        "loss_last": losses[-1],
    }


class Watch:
    """Times the parts of a step, and where in the backward pass computing ends and waiting for others begins.

    DDP hands each bucket of gradients to the hook at the moment when its last gradient is there, and starts to average
    it while the rest is computed. So from the backward's start to the *last* call of the hook this rank computes, and
    from there to the backward's end it only waits: that is the communication that overlap could not hide. It is read
    off in every step, as it happens; the difference between steps with and without synchronisation would be that of
    two noisy numbers. What it doesn't show: on a CPU, sending takes cycles from computing, so computing looks slower.
    On a GPU all marks are events on the stream that computes, since the host runs ahead of it; DDP makes that stream
    wait for the averaged gradients, so the end of the backward is where the wait ends there, too.
    """

    def __init__(self, group: Group) -> None:
        self._group = group
        self._marks: dict[str, Any] = {}

    def start(self) -> None:
        """A step begins."""
        self._group.settle()
        self._marks = {}
        self.mark("start")

    def mark(self, name: str) -> None:
        """This point is reached."""
        if self._group.device.type == "cuda":
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self._marks[name] = event
        else:
            self._marks[name] = time.perf_counter()

    def hook(self, state: Any, bucket: Any) -> Any:
        """Average a bucket as DDP does, and mark it."""
        if "first" not in self._marks:
            self.mark("first")
        self.mark("last")
        return allreduce_hook(state, bucket)

    def split(self) -> dict[str, float]:
        """Seconds of each part; the step is over."""
        self._group.settle()
        return {
            "seconds": self._between("start", "optimizer"),
            "data_seconds": self._between("start", "data"),
            "forward_seconds": self._between("data", "forward"),
            "backward_seconds": self._between("forward", "last"),
            "sync_seconds": self._between("last", "backward"),
            "optimizer_seconds": self._between("backward", "optimizer"),
            "before_collective_seconds": self._between("data", "first"),
        }

    def _between(self, begin: str, end: str) -> float:
        first, last = self._marks[begin], self._marks[end]
        if self._group.device.type == "cuda":
            return float(first.elapsed_time(last)) / 1000
        return float(last - first)


def fingerprint(model: Any) -> dict[str, Any]:
    """The hash of all parameters' bytes, in order: ranks that have taken the same steps have the same."""
    digest, elements = hashlib.sha256(), 0
    for parameter in model.parameters():
        here = parameter.detach().cpu().contiguous()
        digest.update(ctypes.string_at(here.data_ptr(), here.nbytes))
        elements += here.numel()
    return {"sha256": digest.hexdigest(), "elements": elements}


def _reproduce(group: Group, losses: list[float], log: StepWriter) -> None:
    """The same steps on the same images in one process: what N ranks found, without any of the network."""
    started = time.monotonic()
    log.at("reproduce")
    alone = list(_alone(group, len(losses)))
    differences = [abs(here - there) / max(abs(there), 1e-9) for here, there in zip(alone, losses, strict=True)]
    log.write(
        "reproduction",
        steps=len(losses),
        losses=losses,
        reproduced=alone,
        max_difference=max(differences, default=0.0),
        tolerance=TOLERANCE,
        seconds=time.monotonic() - started,
    )


def _alone(group: Group, steps: int) -> Iterator[float]:
    """Each step's loss; gradients of the ranks' shards add up to those of the whole batch, at any number of ranks."""
    model = new_model(group.device)
    optimizer, loss_of = new_optimizer(model), torch.nn.CrossEntropyLoss()
    images = Images(BATCH * group.size * steps)
    for step in range(steps):
        total = 0.0
        for rank in range(group.size):
            batch = [images[index] for index in shard(rank, group.size, steps)[step]]
            pixels = torch.stack([image for image, _ in batch]).to(group.device)
            labels = torch.tensor([label for _, label in batch]).to(group.device)
            loss = loss_of(model(pixels), labels) / group.size
            loss.backward()
            total += float(loss.detach())
        optimizer.step()
        optimizer.zero_grad()
        yield total
