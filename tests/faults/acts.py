"""What can be done to a fabric from its switch: shell lines, signals, slow and lossy cables, control groups."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from wire import carry  # beside this file: the launcher is run as a program

from gonogo.launch import fabric as launch
from gonogo.launch.fabric import Fabric, Node


def sh(command, node=None):
    """Run shell lines in a node, or in the switch; returns what they print, raises with their stderr."""
    command = "set -e; " + command
    done = subprocess.run(
        ["sh", "-c", command], text=True, capture_output=True, preexec_fn=node.enter if node else None
    )
    if done.returncode:
        raise RuntimeError(f"{node.name if node else 'switch'}: {command}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def pids(node: Node):
    """All processes that are in the node's network namespace now, oldest first."""
    mine = os.fstat(node.spaces[0]).st_ino
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended meanwhile
            if (folder / "ns/net").stat().st_ino == mine:
                found.append(int(folder.name))
    return sorted(found)


def kill(node: Node, number=signal.SIGKILL):
    """Send a signal to all of the node's processes."""
    for pid in pids(node):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def kill_children(node: Node, number=signal.SIGKILL):
    """Send a signal to what the node's agent has started, and not to the agent."""
    inside = pids(node)
    for pid in inside:
        with contextlib.suppress(OSError):
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            if parent in inside:
                os.kill(pid, number)


def firewall(node: Node, *rules):
    """Append iptables rules after one that leaves the node's own loopback alone."""
    sh("iptables -A INPUT -i lo -j ACCEPT; " + "; ".join(f"iptables -A {rule}" for rule in rules), node)


def only_ports(node: Node, *ports):
    """Drop new connections into the node except to these ports."""
    accept = [f"INPUT -p tcp --dport {port} -j ACCEPT" for port in ports]
    firewall(node, "INPUT -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT", *accept, "INPUT -p tcp -j DROP")


def limit(node: Node, mbit):
    """Make the node's cable so fast, both ways."""
    how = f"root tbf rate {mbit}mbit burst 256kb latency 50ms"
    sh(f"tc qdisc replace dev {node.port} {how}")
    sh(f"tc qdisc replace dev eth0 {how}", node)


def limit_towards(node: Node, peer: Node, mbit, peer_mbit):
    """Make what the node sends so fast, and slower towards one peer."""
    sh(
        f"""tc qdisc replace dev eth0 root handle 1: htb default 1
            tc class add dev eth0 parent 1: classid 1:1 htb rate {mbit}mbit burst 256kb
            tc class add dev eth0 parent 1: classid 1:2 htb rate {peer_mbit}mbit burst 256kb
            tc filter add dev eth0 parent 1: protocol ip u32 match ip dst {peer.address}/32 flowid 1:2""",
        node,
    )


def real_frames(fabric: Fabric):
    """No 64 KiB super-frames, which no wire ever cuts: what leaves a node is as long as the MTU says."""
    for node in fabric.nodes:
        sh("ip link set eth0 gso_max_segs 1", node)


def impair(fabric: Fabric, node: Node, **faults):
    """Take the node's port off the bridge and carry its frames through a wire of our own; see wire.carry."""
    near, far, mtu = f"{node.port}a", f"{node.port}b", fabric.mtu
    launch.ip(
        [
            f"link add {near} mtu {mtu} type veth peer name {far} mtu {mtu}",
            f"link set {near} up",
            f"link set {far} gso_max_segs 1 master br0 up",
            f"link set {node.port} nomaster",
        ]
    )
    sh("ip link set eth0 gso_max_segs 1", node)
    return launch.fork(lambda: carry(node.port, near, **faults), "gonogo:wire")


def cgroup(fabric: Fabric, node: Node, controller, **settings):
    """Put the node's processes into a control group of version 1 with these settings; the guard removes it."""
    folder = Path(f"/sys/fs/cgroup/{controller}/{fabric.tag}-{node.name}")
    folder.mkdir(exist_ok=True)
    for name, value in settings.items():
        (folder / f"{controller}.{name}").write_text(str(value))
    for pid in pids(node):
        with contextlib.suppress(ProcessLookupError):
            (folder / "cgroup.procs").write_text(str(pid))
    return folder


def edit_hosts(node: Node, change):
    """Rewrite the node's hosts file in place: a new file would not be the one that is mounted."""
    lines = sh("cat /etc/hosts", node).splitlines()
    text = "\n".join(change(lines)) + "\n"
    subprocess.run(
        ["tee", "/etc/hosts"], input=text, text=True, check=True, stdout=subprocess.DEVNULL, preexec_fn=node.enter
    )
