"""The launcher with an agent that only does what its mode says: `python fake_launcher.py MODE`."""

import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import types
from pathlib import Path

import gonogo.agent
from gonogo.agent import cgroup
from gonogo.agent.records import Writer
from gonogo.launch import local, switch


def run(spec, index, out):
    """Walk through the steps, looking around in the first; then as the mode of the last node says."""
    mode, last = sys.argv[1], index == len(spec.peers) - 1
    writer = Writer(spec.run, spec.peers[index], out)
    writer.write("agent", "start", index=index, pid=os.getpid())
    print("a stray line")
    for step in spec.steps:
        writer.write("agent", "begin", of=step)
        if step == "node":
            writer.write("node", "info", **look())
        elif last and mode == "killed":
            os.write(out, b'{"half a line')
            os.kill(os.getpid(), signal.SIGKILL)
        elif last and mode == "raises":
            raise RuntimeError("the agent broke")
        elif (last and mode == "frozen") or mode == "forever":
            subprocess.Popen(["sleep", "1000"])  # a descendant that must go, too
            os.kill(os.getpid(), signal.SIGSTOP)
        for _ in range(6 if mode == "frozen" and step == "ports" else 0):
            writer.write("agent", "heartbeat", at=step)
            time.sleep(1)
        writer.write("agent", "end", of=step, seconds=0.0, error="")
    writer.write("agent", "finish")
    return 0


def look():
    """What can be seen from inside."""
    hosts = [line.split() for line in Path("/etc/hosts").read_text().splitlines()]
    return {
        "hostname": socket.gethostname(),
        "hosts": hosts,
        "interfaces": {name: mtu(name) for _, name in socket.if_nameindex()},
        "shm_bytes": (v := os.statvfs("/dev/shm")).f_blocks * v.f_frsize,
        "limits": (cgroup.cpus(), cgroup.memory_bytes()[1]),
        "tmp": os.environ.get("TMPDIR", ""),
        "descriptors": sorted(int(path.name) for path in Path("/proc/self/fd").iterdir()),
        "torch": "torch" in sys.modules,
        "name": Path("/proc/self/comm").read_text().strip(),
    }


def mtu(interface):
    """Of an interface in this network namespace, which /sys does not show."""
    with socket.socket() as s:
        return struct.unpack("16si8x", fcntl.ioctl(s, 0x8921, struct.pack("16s12x", interface.encode())))[1]


fake = types.ModuleType("gonogo.agent.main")
fake.run = run
sys.modules["gonogo.agent.main"] = gonogo.agent.main = fake


class Broken(switch.Scenario):
    """A scenario with a mistake in it."""

    def before(self, fabric):
        raise RuntimeError("the scenario broke")


if __name__ == "__main__":
    sys.exit(local.main(Broken() if sys.argv[1] == "broken-scenario" else None))
