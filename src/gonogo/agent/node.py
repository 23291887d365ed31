"""Step `node`: what this node is, read from /proc, /sys and the kernel, before anything else is tried."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.metadata
import os
import platform
import resource
import socket
import struct
import time
from pathlib import Path
from typing import Any

from gonogo.agent import cgroup

PACKAGES = ("torch", "tensorflow", "horovod", "numpy", "mpi4py", "nvidia-nccl-cu12", "nvidia-nccl-cu13")
VARIABLES = ("GLOO_", "NCCL_", "MASTER_", "FI_", "TORCH_", "TORCHELASTIC_", "PET_", "OMP_", "HOROVOD_", "OFI_")
NAMES = ("WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "LD_PRELOAD", "CUDA_VISIBLE_DEVICES", "TZ")
_ATF_COM = 2  # of an entry that is complete
_IFF_UP, _SIOCGIFFLAGS, _SIOCGIFADDR, _SIOCGIFMTU, _SIOCGIFNETMASK, _SIOCGIFHWADDR = (
    1,
    0x8913,
    0x8915,
    0x8921,
    0x891B,
    0x8927,
)


def info(environment: dict[str, str]) -> dict[str, Any]:
    """The fields of the record `info`, but for the host name's addresses; `environment` is what children get on top."""
    shm_bytes, shm_free_bytes = _shm()
    memory_used_bytes, memory_limit_bytes = cgroup.memory_bytes()
    return {
        "hostname": socket.gethostname(),
        "interfaces": interfaces(),
        "cpus": len(os.sched_getaffinity(0)),
        "cpu_quota": cgroup.cpus(),
        "load1": os.getloadavg()[0],
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "memory_available_bytes": _memory_available_bytes(),
        "memory_limit_bytes": memory_limit_bytes,
        "memory_used_bytes": memory_used_bytes,
        "oom_kills": cgroup.oom_kills(),
        "shm_bytes": shm_bytes,
        "shm_free_bytes": shm_free_bytes,
        "limits": {
            "nofile": _limit(resource.RLIMIT_NOFILE),
            "memlock": _limit(resource.RLIMIT_MEMLOCK),
            "nproc": _limit(resource.RLIMIT_NPROC),
        },
        "uid": os.getuid(),
        "open_files": sum(1 for _ in Path("/proc/self/fd").iterdir()) - 1,  # less the one that looks
        "processes": list(cgroup.processes()),
        "local_addresses": local_addresses(),
        "tcp_sockets": _tcp_sockets(),
        "conntrack": [_number(f"/proc/sys/net/netfilter/nf_conntrack_{name}") for name in ("count", "max")],
        "versions": versions(),
        "congestion_control": _read("/proc/sys/net/ipv4/tcp_congestion_control"),
        "port_range": [int(n) for n in _read("/proc/sys/net/ipv4/ip_local_port_range").split()],
        "clock": time.time(),
        "environment": {
            name: value
            for name, value in sorted({**os.environ, **environment}.items())
            if name.startswith(VARIABLES) or name in NAMES
        },
    }


def checksum_errors() -> int | None:
    """TCP segments that this network namespace dropped for wrong checksums; None if the kernel doesn't say."""
    rows = [row.split() for row in _read("/proc/self/net/snmp").splitlines() if row.startswith("Tcp:")]
    counters = dict(zip(rows[0], rows[1], strict=False)) if len(rows) == 2 else {}
    return int(counters["InCsumErrors"]) if "InCsumErrors" in counters else None


def interfaces() -> list[dict[str, Any]]:
    """The interfaces of this network namespace; asked of the kernel, since /sys may show another namespace's.

    An interface without an IPv4 address is listed with its IPv6 address, or with "" and prefix 0.
    """
    v6 = _ipv6_addresses()
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):  # gone since it was listed
                found.append(_interface(sock, name, v6.get(name, ("", 0))))
    return found


def _interface(sock: socket.socket, name: str, fallback: tuple[str, int]) -> dict[str, Any]:
    def request(number: int) -> bytes:
        return fcntl.ioctl(sock, number, struct.pack("256s", name.encode()[:15]))

    address, prefix = fallback
    with contextlib.suppress(OSError):  # has no IPv4 address
        address = socket.inet_ntoa(request(_SIOCGIFADDR)[20:24])
        prefix = bin(int.from_bytes(request(_SIOCGIFNETMASK)[20:24], "big")).count("1")
    mtu = struct.unpack_from("i", request(_SIOCGIFMTU), 16)[0]
    flags = struct.unpack_from("H", request(_SIOCGIFFLAGS), 16)[0]
    mac = request(_SIOCGIFHWADDR)[18:24].hex(":")
    return {"name": name, "address": address, "prefix": prefix, "mtu": mtu, "up": bool(flags & _IFF_UP), "mac": mac}


def _ipv6_addresses() -> dict[str, tuple[str, int]]:
    found = {}
    for line in _read("/proc/self/net/if_inet6").splitlines():
        address, _, prefix, _, _, name = line.split()
        found[name] = (socket.inet_ntop(socket.AF_INET6, bytes.fromhex(address)), int(prefix, 16))
    return found


def versions() -> dict[str, str]:
    """Versions of Python, the kernel and those of PACKAGES that are installed; nothing is imported for it."""
    found = {"python": platform.python_version(), "kernel": platform.release()}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def _limit(which: int) -> list[int]:
    return [-1 if value == resource.RLIM_INFINITY else value for value in resource.getrlimit(which)]


def _shm() -> tuple[int, int]:
    try:
        stat = os.statvfs("/dev/shm")
    except OSError:
        return 0, 0
    return stat.f_blocks * stat.f_frsize, stat.f_bavail * stat.f_frsize


def _memory_available_bytes() -> int | None:
    """What the kernel takes to be available without swapping, on the whole machine."""
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def local_addresses() -> list[str]:
    """All IPv4 addresses that this network namespace takes for its own, an interface's second ones among them.

    Source: /proc/net/fib_trie, where the line after an address says what it is to the host.
    """
    found, address = set(), ""
    for line in _read("/proc/self/net/fib_trie").splitlines():
        text = line.strip()
        if text.startswith(("|--", "+--")):
            address = text.split()[1].partition("/")[0]
        elif text == "/32 host LOCAL":
            found.add(address)
    return sorted(found)


def neighbours() -> list[dict[str, str]]:
    """The hardware addresses that this network namespace knows for its neighbours. Source: /proc/net/arp."""
    rows = [line.split() for line in _read("/proc/self/net/arp").splitlines()[1:]]
    known = [row for row in rows if len(row) == 6 and int(row[2], 16) & _ATF_COM]
    return [{"address": row[0], "mac": row[3], "interface": row[5]} for row in known]


def _tcp_sockets() -> int | None:
    """TCP sockets of this network namespace that are in use or wait for the last packets of their connection."""
    for line in _read("/proc/self/net/sockstat").splitlines():
        name, *words = line.split()
        if name == "TCP:":
            counts = dict(zip(words[::2], words[1::2], strict=False))
            return int(counts["inuse"]) + int(counts["tw"])
    return None


def _number(path: str) -> int | None:
    text = _read(path)
    return int(text) if text.isdigit() else None


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
