"""Faults inside one node: storage, limits, clock, versions, and frameworks that go wrong."""

import ctypes
import os
import resource
import signal
import sys
import time
from importlib.metadata import distribution
from pathlib import Path

from acts import cgroup, sh
from fault import SCENARIOS, Inside, about_to_call, alike, confined, fault, inside

from gonogo.launch import fabric as launch
from gonogo.launch.switch import Scenario

_FEW_BYTES = 8 << 20
DISK = "/srv"
"""A folder on this machine's disk, for what memory can't show."""
_CONNTRACK = "/proc/sys/net/netfilter/nf_conntrack_"
_DISK = Path(DISK).stat().st_dev


# --- storage -------------------------------------------------------------------------------------------------------


@fault()
def shm_small(fabric, victim):
    """The victim's /dev/shm has 4 MiB."""
    sh("mount -t tmpfs -o size=4m shm /dev/shm", victim)


@fault()
def storage_not_shared(fabric, victim):
    """On the victim, the shared folder is one of its own."""
    sh(f"mount -t tmpfs private {fabric.shared}", victim)


@fault()
def storage_read_only(fabric, victim):
    """On the victim, the shared folder can only be read."""
    sh(f"mount --bind {fabric.shared} {fabric.shared}; mount -o remount,ro,bind {fabric.shared}", victim)


@fault()
def storage_full(fabric, victim):
    """There is no room left in the shared folder."""
    sh(f"""mount -o remount,size={_FEW_BYTES} {Path(fabric.shared).parent}
           dd if=/dev/zero of={fabric.shared}/full bs=64k 2>/dev/null || true""")


@fault()
def storage_nearly_full(fabric, victim):
    """There is little room left in the shared folder, but enough: healthy."""
    sh(f"mount -o remount,size=1g {Path(fabric.shared).parent}; fallocate -l 800m {fabric.shared}/old")


@fault()
def storage_without_inodes(fabric, victim):
    """No more files can be made in the shared folder."""
    now = os.statvfs(fabric.shared)
    sh(f"mount -o remount,nr_inodes={now.f_files - now.f_ffree} {Path(fabric.shared).parent}")


@inside
def storage_content_wrong(node, spec, index, out):
    """What the victim writes in large blocks has one bit flipped, as by a faulty disk or its cable."""

    def change(write):
        def call(descriptor, data):
            if len(data) < 1 << 16:
                return write(descriptor, data)
            spoilt = bytearray(data)
            spoilt[2] ^= 1
            return write(descriptor, spoilt)

        return call

    os.write = change(os.write)


@inside
def storage_rename_torn(node, spec, index, out):
    """Where the victim renames a file over another, readers find half of it, as where a client copies instead."""

    def replace(source, target):
        data = Path(source).read_bytes()
        with Path(target).open("wb", buffering=0) as file:
            file.write(data[: len(data) // 2])
            time.sleep(0.003)
            file.write(data[len(data) // 2 :])
        Path(source).unlink()

    os.replace = replace


@inside
def storage_locks_ignored(node, spec, index, out):
    """The victim gets every lock at once, as where a file system is mounted with nolock."""
    import fcntl

    fcntl.flock = fcntl.lockf = lambda descriptor, operation: None


# --- limits --------------------------------------------------------------------------------------------------------


@fault(at=about_to_call())
def out_of_memory(fabric, victim):
    """The victim's control group may not use more memory from now on; the kernel kills what wants to."""
    cgroup(fabric, victim, "memory", limit_in_bytes=4 << 20)


@inside
def few_descriptors(node, spec, index, out):
    """The victim's agent, and what it starts, may open 40 files."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))


@inside
def little_locked_memory(node, spec, index, out):
    """The victim may lock 64 KiB of memory."""
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (64 << 10, 64 << 10))


confined("few_processes", "pids", {"max": 6}, "The victim may have six processes and threads.")
confined("little_memory", "memory", {"limit_in_bytes": 48 << 20}, "The victim may use 48 MiB of memory.")
confined(
    "little_cpu",
    "cpu",
    {"cfs_period_us": 100000, "cfs_quota_us": 20000},
    "The victim may use a fifth of one CPU: a straggler.",
)
confined(
    "storage_slow",
    "blkio",
    {"throttle.write_bps_device": f"{os.major(_DISK)}:{os.minor(_DISK)} 2000000"},
    f"The victim writes 2 MB/s to the disk that holds {DISK}.",
)


alike(
    "even_cpu_quota",
    "cpu",
    {"cfs_period_us": 20000, "cfs_quota_us": 10000},
    "Every node may use half of a CPU: slow, and healthy.",
)


@fault()
def machine_busy(fabric, victim):
    """Other programs want all of this machine's CPUs, too: slow, and healthy."""
    for _ in os.sched_getaffinity(0):
        launch.fork(_burn, "gonogo:busy")


def _burn():
    while True:
        pass


@fault()
def few_ephemeral_ports(fabric, victim):
    """The victim has two local ports for its own connections."""
    sh("echo 40000 40001 > /proc/sys/net/ipv4/ip_local_port_range", victim)


@fault()
def conntrack_full(fabric, victim):
    """The victim's table of connections is said to be full, and takes three more at most.

    The table's size is the whole machine's: what its files say is laid over, and what follows from it done by a rule.
    """
    for name in ("count", "max"):
        sh(f"echo 262144 > {victim.scratch}/{name}; mount --bind {victim.scratch}/{name} {_CONNTRACK}{name}", victim)
    few_connections(fabric, victim)


# --- the network of one node ---------------------------------------------------------------------------------------


@fault()
def few_connections(fabric, victim):
    """The victim takes three connections at once, and no more."""
    sh("iptables -A INPUT ! -i lo -p tcp --syn -m connlimit --connlimit-above 3 --connlimit-mask 0 -j DROP", victim)


@fault()
def long_connections_dropped(fabric, victim):
    """A connection to the victim is dropped after 2 MB."""
    sh("iptables -A INPUT -p tcp -m connbytes --connbytes 2000000: --connbytes-dir both --connbytes-mode bytes -j DROP",
       victim)  # fmt: skip


@fault()
def address_taken_twice(fabric, victim):
    """The victim has the address of the node before it, too."""
    other = fabric.nodes[fabric.nodes.index(victim) - 1]
    sh(f"ip addr add {other.address}/24 dev eth0", victim)


@fault()
def neighbour_stale(fabric, victim):
    """The victim takes the node before it to be where it is no more."""
    other = fabric.nodes[fabric.nodes.index(victim) - 1]
    sh(f"ip neigh replace {other.address} lladdr 02:00:00:00:00:99 dev eth0 nud permanent", victim)


@fault()
def interface_without_route(fabric, victim):
    """Every node has a second interface whose network leads nowhere, for who names it."""
    for number, node in enumerate(fabric.nodes):
        sh(f"ip link add priv0 type ifb; ip addr add 192.168.{number}.1/24 dev priv0; ip link set priv0 up", node)


class Told(Inside):
    """Every node is told its rank and the world's size by its environment, the victim something else."""

    def __init__(self, wrong, victim):
        super().__init__(None, victim)
        self._wrong = wrong

    def agent(self, node, spec, index, out):
        told = {"RANK": index, "WORLD_SIZE": len(spec.peers)}
        if node.name == (self.victim or spec.peers[-1]):
            told |= self._wrong(index, len(spec.peers))
        os.environ.update({name: str(value) for name, value in told.items()})
        return Scenario.agent(self, node, spec, index, out)


SCENARIOS["ranks-told"] = lambda victim: Told(lambda rank, size: {}, victim)  # healthy
SCENARIOS["rank-told-twice"] = lambda victim: Told(lambda rank, size: {"RANK": rank - 1}, victim)
SCENARIOS["world-size-told-wrong"] = lambda victim: Told(lambda rank, size: {"WORLD_SIZE": size + 1}, victim)


# --- clock, versions, frameworks -----------------------------------------------------------------------------------


@inside
def clock_ahead(node, spec, index, out):
    """The victim's clock is an hour ahead."""
    code = (
        "import sys; from gonogo.agent import main; from gonogo.agent.spec import Spec;"
        "sys.exit(main.run(Spec.from_json(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))"
    )
    library = next(str(path) for path in Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    os.set_inheritable(out, True)
    environment = os.environ | {"LD_PRELOAD": library, "FAKETIME": "+3600", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    os.execve(sys.executable, [sys.executable, "-P", "-c", code, spec.to_json(), str(index), str(out)], environment)


@fault()
def another_torch(fabric, victim):
    """The victim's torch says that it is of another version."""
    metadata = Path(str(distribution("torch")._path)) / "METADATA"
    text = metadata.read_text().replace(f"\nVersion: {distribution('torch').version}\n", "\nVersion: 2.4.0\n", 1)
    sh(
        f"cat > {victim.scratch}/METADATA <<'END'\n{text}\nEND\nmount --bind {victim.scratch}/METADATA {metadata}",
        victim,
    )


def _patched(name, change):
    """Change a function of torch.distributed in this process, from which ranks are forked."""
    import torch.distributed as dist

    setattr(dist, name, change(getattr(dist, name)))


@inside
def wrong_sum(node, spec, index, out):
    """On the victim, one bit of what it gives to an all_reduce is flipped."""

    def change(all_reduce):
        def call(tensor, *rest, **named):
            if tensor.numel() > 777:
                element = ctypes.c_uint32.from_address(tensor.data_ptr() + 4 * 77)
                element.value ^= 1 << 22
            return all_reduce(tensor, *rest, **named)

        return call

    _patched("all_reduce", change)


@inside
def another_collective(node, spec, index, out):
    """The victim calls broadcast where the others call all_reduce."""

    def change(all_reduce):
        import torch.distributed as dist

        def call(tensor, *rest, **named):
            return dist.broadcast(tensor, 0) if tensor.numel() > 1 << 10 else all_reduce(tensor, *rest, **named)

        return call

    _patched("all_reduce", change)


@inside
def another_shape(node, spec, index, out):
    """The victim gives one element less to all_reduce than the others."""

    def change(all_reduce):
        def call(tensor, *rest, **named):
            return all_reduce(tensor[:-1] if tensor.numel() > 1 << 10 else tensor, *rest, **named)

        return call

    _patched("all_reduce", change)


@inside
def another_dtype(node, spec, index, out):
    """The victim sums its float32 as if they were int32: as many bytes, other numbers."""

    def change(all_reduce):
        import torch

        def call(tensor, *rest, **named):
            other = tensor.dtype == torch.float32 and tensor.numel() > 1 << 10
            return all_reduce(tensor.view(torch.int32) if other else tensor, *rest, **named)

        return call

    _patched("all_reduce", change)


@inside
def call_skipped(node, spec, index, out):
    """The victim leaves out one all_reduce, as a rank with one batch fewer does."""
    skipped = []

    def change(all_reduce):
        def call(tensor, *rest, **named):
            if tensor.numel() > 1 << 10 and not skipped:
                skipped.append(tensor)
                return None
            return all_reduce(tensor, *rest, **named)

        return call

    _patched("all_reduce", change)


@inside
def wrong_average(node, spec, index, out):
    """The victim gives half of its gradients to the average."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    def change(hook):
        def call(state, bucket):
            bucket.buffer().mul_(0.5)
            return hook(state, bucket)

        return call

    default_hooks.allreduce_hook = change(default_hooks.allreduce_hook)


@inside
def parameters_astray(node, spec, index, out):
    """After each step one of the victim's parameters is a little off, as by a processor that computes wrong."""
    import torch

    def change(step):
        def call(self, *rest, **named):
            step(self, *rest, **named)
            with torch.no_grad():
                self.param_groups[0]["params"][0].view(-1)[5] += 1e-6

        return call

    torch.optim.SGD.step = change(torch.optim.SGD.step)


@inside
def loss_not_finite(node, spec, index, out):
    """From the fourth step on the victim's loss isn't a number."""
    import torch

    def change(forward):
        steps = []

        def call(self, *rest):
            steps.append(self)
            return forward(self, *rest) * (float("nan") if len(steps) > 3 else 1.0)

        return call

    torch.nn.CrossEntropyLoss.forward = change(torch.nn.CrossEntropyLoss.forward)


@inside
def one_batch_fewer(node, spec, index, out):
    """The victim's loader has one batch fewer than those of the others."""
    from torch.utils.data import DataLoader

    def change(make):
        def call(self, *rest, batch_sampler=None, **named):
            make(self, *rest, batch_sampler=batch_sampler[:-1] if batch_sampler else None, **named)

        return call

    DataLoader.__init__ = change(DataLoader.__init__)


@inside
def steps_late(node, spec, index, out):
    """The victim takes 0.4 s more to compute each step, as on a processor that is throttled."""
    import torch

    def change(forward):
        def call(self, *rest):
            time.sleep(0.4)
            return forward(self, *rest)

        return call

    torch.nn.Flatten.forward = change(torch.nn.Flatten.forward)


@inside
def data_late(node, spec, index, out):
    """Each image takes the victim's loaders 20 ms longer, as from a slow disk."""
    from torch.utils.data import DataLoader

    def change(make):
        return lambda self, dataset, **named: make(self, _Slow(dataset), **named)

    DataLoader.__init__ = change(DataLoader.__init__)


class _Slow:
    def __init__(self, dataset):
        self._dataset = dataset

    def __len__(self):
        return len(self._dataset)

    def __getitem__(self, index):
        time.sleep(0.02)
        return self._dataset[index]


# --- one of several ranks of a node --------------------------------------------------------------------------------


def _is_last():
    """Whether this process is the last of its node's ranks."""
    return int(os.environ["LOCAL_RANK"]) == int(os.environ["LOCAL_WORLD_SIZE"]) - 1


def _in_large_calls(act):
    """The last of this node's ranks does that to the data of each of its large all_reduces, and calls it then."""

    def change(all_reduce):
        def call(tensor, *rest, **named):
            if tensor.numel() > 1 << 18 and _is_last():
                act(tensor)
            return all_reduce(tensor, *rest, **named)

        return call

    _patched("all_reduce", change)


@inside
def one_rank_killed(node, spec, index, out):
    """The last of the victim's ranks is killed during the collectives; the others of the node live."""
    _in_large_calls(lambda _: os.kill(os.getpid(), signal.SIGKILL))


@inside
def one_rank_frozen(node, spec, index, out):
    """The last of the victim's ranks is stopped during the collectives; the others of the node live."""
    _in_large_calls(lambda _: os.kill(os.getpid(), signal.SIGSTOP))


@inside
def one_rank_wrong(node, spec, index, out):
    """One bit of what the last of the victim's ranks gives to an all_reduce is flipped."""

    def flip(tensor):
        ctypes.c_uint32.from_address(tensor.data_ptr() + 4 * 77).value ^= 1 << 22

    _in_large_calls(flip)


@inside
def one_rank_late(node, spec, index, out):
    """The last of the victim's ranks takes 0.4 s more to compute each step."""
    import torch

    def change(forward):
        def call(self, *rest):
            if _is_last():
                time.sleep(0.4)
            return forward(self, *rest)

        return call

    torch.nn.Flatten.forward = change(torch.nn.Flatten.forward)


@inside
def one_rank_with_fewer_batches(node, spec, index, out):
    """The loader of the last of the victim's ranks has one batch fewer than those of the others."""
    from torch.utils.data import DataLoader

    def change(make):
        def call(self, *rest, batch_sampler=None, **named):
            batches = batch_sampler[:-1] if batch_sampler and _is_last() else batch_sampler
            make(self, *rest, batch_sampler=batches, **named)

        return call

    DataLoader.__init__ = change(DataLoader.__init__)


@inside
def one_rank_missing(node, spec, index, out):
    """The last of the victim's ranks ends before it has come to the store."""
    import torch.distributed as dist

    def change(store):
        def call(*rest, **named):
            if _is_last():
                sys.exit(3)
            return store(*rest, **named)

        return call

    dist.TCPStore = change(dist.TCPStore)
