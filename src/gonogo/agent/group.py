"""The process group that framework steps share: rendezvous, device, and records that say what is being tried."""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from gonogo.agent.records import Writer
from gonogo.agent.spec import Spec

ESTABLISHED = "01"
TEXT_BYTES = 4096
FREE_SECONDS = 2.0


def clean(text: str, limit: int = TEXT_BYTES) -> str:
    """The end of a text, without C++ stack frames, control characters and empty lines."""
    lines = [line.rstrip() for line in text.split("Exception raised from ")[0].splitlines()]
    printable = ("".join(c for c in line if c.isprintable() or c == "\t") for line in lines if line)
    kept = "\n".join(line for line in printable if not line.startswith("frame #"))
    return kept.encode()[-limit:].decode(errors="ignore")


def last_calls(count: int = 8) -> list[dict[str, Any]]:
    """The last collectives that this rank called, by torch's flight recorder; none where there is no recorder.

    It records what reaches the backend, whatever Python lies above: if ranks differ at one number, they have lost step.
    """
    backend = sys.modules.get("torch._C._distributed_c10d")
    dump = getattr(backend, "_dump_fr_trace_json", None)
    if dump is None:
        return []
    entries = json.loads(dump()).get("entries", [])[-count:]
    return [
        {
            "seq": entry["p2p_seq_id"] if entry["is_p2p"] else entry["collective_seq_id"],
            "op": entry["profiling_name"].rpartition(":")[2],
            "shapes": entry["input_sizes"],
            "dtypes": entry["input_dtypes"],
        }
        for entry in entries
    ]


class MissingRanks(Exception):
    """Some ranks never came to the store."""

    def __init__(self, message: str, missing: list[str]) -> None:
        super().__init__(message)
        self.missing = missing


class RankConflict(Exception):
    """Ranks disagree on who they are or how many there are."""


class StepWriter:
    """Writes a step's records and remembers what is being tried, so that an error has an address."""

    def __init__(self, writer: Writer, step: str, phase: str = "import", **more: Any) -> None:
        self._writer, self._step, self._started, self._more = writer, step, time.monotonic(), more
        self._where: dict[str, Any] = {"phase": phase}

    def write(self, kind: str, **fields: Any) -> None:
        """Write a record of this step."""
        self._writer.write(self._step, kind, **self._more, **fields)

    def at(self, phase: str, **where: Any) -> None:
        """Say what is about to be tried."""
        self._where = {"phase": phase, **where}
        self.write("at", **self._where)

    def error(self, error: Exception) -> None:
        """Write what went wrong, and where."""
        self.write(
            "error",
            **{"op": "", "bytes": 0, **self._where},
            type=type(error).__name__,
            text=clean(str(error)),
            seconds=time.monotonic() - self._started,
            missing=getattr(error, "missing", []),
        )
        self.calls()

    def calls(self) -> None:
        """Write the last collectives that this rank called, if they are known."""
        if calls := last_calls():
            self.write("calls", calls=calls)


def spelled(rank: int, members: list[str]) -> str:
    """The node of a rank, and which of its ranks it is where it has several: node1, or node1 rank 3."""
    name = members[rank]
    return name if members.count(name) == 1 else f"{name} rank {rank}"


@dataclass(frozen=True)
class Group:
    """This rank in the process group; `members` are the nodes of its ranks, in rank order."""

    rank: int
    size: int
    members: list[str]
    device: Any  # torch.device

    def settle(self) -> None:
        """Wait until the device has done all it was told; a no-op on a CPU."""
        if self.device.type == "cuda":
            import torch

            torch.cuda.synchronize(self.device)

    def greatest(self, *values: float) -> list[float]:
        """The greatest of all ranks' values, alike on all ranks: what a decision that all must share rests on."""
        import torch
        import torch.distributed as dist

        shared = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(shared, op=dist.ReduceOp.MAX)
        return [float(value) for value in shared.tolist()]

    def of_all(self, values: list[float]) -> list[list[float]]:
        """The values of every rank, in rank order and alike on all ranks; each rank gives equally many."""
        import torch
        import torch.distributed as dist

        mine = torch.tensor(values, dtype=torch.float64, device=self.device)
        found = [torch.empty_like(mine) for _ in range(self.size)]
        dist.all_gather(found, mine)
        return [[float(value) for value in row.tolist()] for row in found]


@contextmanager
def process_group(spec: Spec, members: list[str], log: StepWriter) -> Iterator[Group]:
    """Join the group that the environment describes (MASTER_ADDR, RANK …) and leave it in good order.

    Raises MissingRanks, RankConflict, or what torch raises.
    """
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)  # first of all: a forked child with a pool of threads hangs in its first matmul
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    started = time.monotonic()
    timeout = timedelta(seconds=spec.framework_seconds)
    log.at("store")
    store = _rendezvous(rank, size, members, timeout)
    log.at("init")
    device, reason = choose_device(spec.backend)
    _connect(spec.backend, device, store, rank, size, timeout)
    dist.barrier()  # NCCL connects at the first call only
    links = connections(int(os.environ["MASTER_PORT"]))
    log.write(
        "init",
        rank=rank,
        world_size=size,
        local_rank=int(os.environ["LOCAL_RANK"]),
        backend=spec.backend,
        device=str(device),
        device_reason=reason,
        seconds=time.monotonic() - started,
        interface_address=", ".join(sorted({own for own, _ in links})),
        connections=links,
    )
    yield Group(rank, size, members, device)
    dist.barrier()  # rank 0 has the store: it must not leave before the others are done
    dist.destroy_process_group()


def choose_device(backend: str) -> tuple[Any, str]:
    """The device for a backend, and why."""
    import torch

    if backend == "nccl":
        count = torch.cuda.device_count()
        if not count:
            raise RuntimeError(f"NCCL needs a CUDA device, and this process sees none (torch {torch.__version__})")
        index = int(os.environ["LOCAL_RANK"]) % count
        torch.cuda.set_device(index)
        return torch.device("cuda", index), f"NCCL moves GPU memory, and {count} CUDA devices are visible"
    return torch.device("cpu"), f"{backend} moves host memory"


def _connect(backend: str, device: Any, store: Any, rank: int, size: int, timeout: timedelta) -> None:
    """Make the process group; Gloo waits five times its timeout for its mesh, so that it is told a fifth until then."""
    import torch.distributed as dist

    afterwards = getattr(dist.distributed_c10d, "_set_pg_timeout", None) if backend == "gloo" else None
    first = timeout / 5 if afterwards else timeout
    bound = {"device_id": device} if device.type == "cuda" else {}  # or NCCL guesses it from the rank
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=first, **bound)
    if afterwards:
        afterwards(timeout, dist.group.WORLD)


def _rendezvous(rank: int, size: int, members: list[str], timeout: timedelta) -> Any:
    """The store, once every rank has come to it, each of them once and with the same world size.

    torch would go on with what is there and fail later, elsewhere, in words about sizes of addresses. Rank 0 has the
    store, so it alone judges, and stays until the others have read the verdict.
    """
    import torch
    import torch.distributed as dist

    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    if rank == 0:
        _await_free(port)
    store = dist.TCPStore(host, port, size, is_master=rank == 0, timeout=timeout, wait_for_workers=False)
    several = int(os.environ["LOCAL_WORLD_SIZE"]) > 1
    name = socket.gethostname() + (f" (local rank {os.environ['LOCAL_RANK']})" if several else "")
    if store.add(f"taken/{rank}", 1) > 1:
        other = json.loads(store.get(f"rank/{rank}"))["host"]
        text = f"rank {rank} is taken by {other}: {name} was given it, too"
        store.set("conflict", text)
        raise RankConflict(text)
    store.set(f"rank/{rank}", json.dumps({"host": name, "world_size": size, "torch": str(torch.__version__)}))
    if rank == 0:
        store.set("verdict", json.dumps(_verdict(store, size, members, timeout)))
    else:
        store.wait(["verdict"], 2 * timeout)  # rank 0 may have begun to wait later than we
    verdict = json.loads(store.get("verdict"))
    store.set(f"read/{rank}", "")
    if verdict["conflict"] or verdict["missing"]:
        if rank == 0:
            with suppress(dist.DistError):  # whoever doesn't read it within a second has gone
                store.wait([f"read/{other}" for other in verdict["present"]], timedelta(seconds=1))
        if verdict["conflict"]:
            raise RankConflict(verdict["conflict"])
        raise MissingRanks(verdict["text"], verdict["missing"])
    return dist.PrefixStore("group", store)


def _await_free(port: int) -> None:
    """Wait a moment for the port: where nodes share an address space, another agent may still be letting go of it."""
    until = time.monotonic() + FREE_SECONDS
    while time.monotonic() < until:
        with suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("", port))
            probe.listen()  # two may bind, only one may listen
            return
        time.sleep(0.05)


def _verdict(store: Any, size: int, members: list[str], timeout: timedelta) -> dict[str, Any]:
    """By rank 0: who came, who didn't, and on what they disagree."""
    import torch.distributed as dist

    keys = [f"rank/{rank}" for rank in range(size)]
    with suppress(dist.DistStoreError):
        store.wait(keys, timeout)
    present = [rank for rank, key in enumerate(keys) if store.check([key])]
    told = {rank: json.loads(store.get(keys[rank])) for rank in present}
    absent = [rank for rank in range(size) if rank not in told]
    missing = [spelled(rank, members) if rank < len(members) else f"rank {rank}" for rank in absent]
    conflict = store.get("conflict").decode() if store.check(["conflict"]) else ""
    for rank, other in told.items():
        if other["world_size"] != size and not conflict:
            conflict = (
                f"rank {rank} ({other['host']}) was told of {other['world_size']} ranks, "
                f"rank 0 ({told[0]['host']}) of {size}"
            )
    text = (
        f"{len(present)} of {size} ranks came to the store within {timeout.total_seconds():g} s; "
        f"missing: {', '.join(missing)}"
    )
    return {"conflict": conflict, "missing": missing, "present": present, "text": text if missing else ""}


def connections(store_port: int) -> list[list[str]]:
    """[own address, peer's address] of each TCP connection of this process but those to the store, sorted.

    What the process really uses, whatever interface it was told to. Source: /proc/self/net/tcp, see proc(5).
    """
    own = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            own.add(str(entry.readlink()))
    found = set()
    for table in ("tcp", "tcp6"):
        path = Path("/proc/self/net", table)
        rows = path.read_text().splitlines()[1:] if path.exists() else []
        for local, remote, state, inode in ((f[1], f[2], f[3], f[9]) for f in map(str.split, rows)):
            if state == ESTABLISHED and f"socket:[{inode}]" in own:
                (here, here_port), (there, there_port) = _address(local), _address(remote)
                if store_port not in (here_port, there_port):
                    found.add((here, there))
    return [list(pair) for pair in sorted(found)]


def _address(text: str) -> tuple[str, int]:
    """Address and port from the kernel's `0100007F:7148`: words of 32 bits in the host's byte order."""
    digits, _, port = text.partition(":")
    words = [int(digits[i : i + 8], 16) for i in range(0, len(digits), 8)]
    packed = struct.pack(f"={len(words)}I", *words)
    if packed[:12] == bytes(10) + b"\xff\xff":
        packed = packed[12:]  # IPv4 in IPv6
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed), int(port, 16)
