"""Faults of the network, of processes and of names; those inside one node are in inside.py."""

import os
import signal
import subprocess
import sys

from acts import (
    cgroup,
    edit_hosts,
    firewall,
    impair,
    kill,
    kill_children,
    limit,
    limit_towards,
    only_ports,
    real_frames,
    sh,
)
from fault import about_to_call, begins, fault, first

_RENDEZVOUS, _AGENT = 29500, 29400
_ONLY_NEW = "-p tcp --syn"


@fault()
def healthy(fabric, victim):
    """Nothing."""


# --- ports ---------------------------------------------------------------------------------------------------------


@fault()
def all_ports_dropped(fabric, victim):
    """No TCP between any two nodes."""
    for node in fabric.nodes:
        firewall(node, "INPUT -p tcp -j DROP")


@fault()
def rendezvous_port_dropped(fabric, victim):
    """The rendezvous port, and no other, is closed to all other nodes."""
    for node in fabric.nodes:
        firewall(node, f"INPUT -p tcp --dport {_RENDEZVOUS} -j DROP")


@fault()
def rendezvous_port_rejected(fabric, victim):
    """As before, but connections are reset at once."""
    for node in fabric.nodes:
        firewall(node, f"INPUT -p tcp --dport {_RENDEZVOUS} -j REJECT --reject-with tcp-reset")


@fault()
def all_ports_but_rendezvous_dropped(fabric, victim):
    """What security groups for 'the training port' do: the store works, the mesh does not."""
    for node in fabric.nodes:
        only_ports(node, _RENDEZVOUS)


@fault()
def ephemeral_ports_dropped(fabric, victim):
    """Rendezvous and the agents' own port are open, all others aren't."""
    for node in fabric.nodes:
        only_ports(node, _RENDEZVOUS, _AGENT)


@fault()
def node_unreachable(fabric, victim):
    """All TCP into the victim is dropped, answers to its own connections, too."""
    firewall(victim, "INPUT -p tcp -j DROP")


@fault()
def inbound_dropped(fabric, victim):
    """New connections into the victim are dropped; its own work. Training passes if its address is the greatest."""
    firewall(victim, f"INPUT {_ONLY_NEW} -j DROP")


@fault()
def outbound_dropped(fabric, victim):
    """The victim's new connections are dropped; those into it work."""
    sh(f"iptables -A OUTPUT -o lo -j ACCEPT; iptables -A OUTPUT {_ONLY_NEW} -j DROP", victim)


@fault()
def inbound_rejected(fabric, victim):
    """New connections into the victim are reset at once."""
    firewall(victim, f"INPUT {_ONLY_NEW} -j REJECT --reject-with tcp-reset")


@fault()
def inbound_prohibited(fabric, victim):
    """New connections into the victim are answered with an ICMP error."""
    firewall(victim, f"INPUT {_ONLY_NEW} -j REJECT --reject-with icmp-admin-prohibited")


@fault()
def pair_dropped(fabric, victim):
    """The victim and the node before it can't talk to each other, in either direction."""
    other = fabric.nodes[fabric.nodes.index(victim) - 1]
    sh(f"iptables -A OUTPUT -p tcp -d {other.address} -j DROP", victim)


@fault()
def halves_dropped(fabric, victim):
    """The first half of the nodes and the second one can't talk to each other: two security groups that don't meet."""
    half = len(fabric.nodes) // 2
    for node in fabric.nodes[:half]:
        for other in fabric.nodes[half:]:
            sh(f"iptables -A OUTPUT -p tcp -d {other.address} -j DROP", node)


# --- the wire ------------------------------------------------------------------------------------------------------

COMMON_MBIT, SLOW_MBIT = 2000, 300


@fault()
def even_links(fabric, victim):
    """All cables are equally limited: healthy."""
    for node in fabric.nodes:
        limit(node, COMMON_MBIT)


@fault()
def node_slow(fabric, victim):
    """The victim's cable runs at 15 % of the others'."""
    for node in fabric.nodes:
        limit(node, SLOW_MBIT if node is victim else COMMON_MBIT)


@fault()
def link_slow(fabric, victim):
    """Only the link between the victim and the node before it runs at 15 % of the others, both ways."""
    other = fabric.nodes[fabric.nodes.index(victim) - 1]
    for node in fabric.nodes:
        limit(node, COMMON_MBIT)
    limit_towards(victim, other, COMMON_MBIT, SLOW_MBIT)
    limit_towards(other, victim, COMMON_MBIT, SLOW_MBIT)


@fault()
def mtu_black_hole(fabric, victim):
    """Nodes at 9001 on a path to the victim that silently drops what is longer than 1500."""
    real_frames(fabric)
    sh(f"ip link set {victim.port} mtu 1500; ip link set br0 mtu {fabric.mtu}")  # the bridge had followed its port


@fault()
def mtu_black_hole_everywhere(fabric, victim):
    """The same on all paths."""
    real_frames(fabric)
    sh("".join(f"ip link set {node.port} mtu 1500; " for node in fabric.nodes) + f"ip link set br0 mtu {fabric.mtu}")


@fault()
def mtu_1500_everywhere(fabric, victim):
    """Nodes and path at 1500: healthy."""
    for node in fabric.nodes:
        sh("ip link set eth0 mtu 1500", node)


@fault()
def mtu_differs(fabric, victim):
    """The victim's MTU is 1500, the others' 9001, and so is the path's: TCP agrees on the smaller. Worth a warning."""
    sh("ip link set eth0 mtu 1500", victim)


@fault()
def packets_lost(fabric, victim):
    """5 % of the victim's packets are lost, both ways."""
    impair(fabric, victim, loss=0.05)


@fault()
def packets_damaged(fabric, victim):
    """In 5 % of the victim's packets a bit is flipped, both ways: TCP drops them for their checksums."""
    impair(fabric, victim, damage=0.05)


@fault()
def latency_high(fabric, victim):
    """The victim is 10 ms away, each way."""
    impair(fabric, victim, delay=0.01)


@fault()
def even_latency(fabric, victim):
    """Every cable takes 2 ms, each way: healthy."""
    for node in fabric.nodes:
        impair(fabric, node, delay=0.002)


@fault(at=about_to_call())
def link_down(fabric, victim):
    """The victim's interface goes down in the middle of the collectives."""
    sh("ip link set eth0 down", victim)


# --- processes -----------------------------------------------------------------------------------------------------


@fault(at=about_to_call())
def rank_killed(fabric, victim):
    """The victim's rank is killed during a collective; its agent lives."""
    kill_children(victim)


@fault(at=about_to_call())
def node_killed(fabric, victim):
    """All of the victim's processes are killed during a collective."""
    kill(victim)


@fault(at=first("collectives", "at"))
def node_off(fabric, victim):
    """The victim has no power any more when ranks go to the rendezvous: it closes no connection and answers nobody."""
    sh(f"ip link set {victim.port} down")  # first, or its kernel would close the connections of the dead
    kill(victim)


@fault(at=about_to_call())
def rank_frozen(fabric, victim):
    """The victim's rank is stopped during a collective; its agent lives."""
    kill_children(victim, signal.SIGSTOP)


@fault(at=about_to_call())
def node_frozen(fabric, victim):
    """All of the victim's processes are stopped during a collective; its kernel goes on."""
    kill(victim, signal.SIGSTOP)


@fault(at=begins("links"))
def node_frozen_in_links(fabric, victim):
    """The same while links are measured."""
    kill(victim, signal.SIGSTOP)


@fault(at=begins("join"))
def node_killed_in_join(fabric, victim):
    """All of the victim's processes are killed when they should join."""
    kill(victim)


@fault(at=begins("ports"))
def node_frozen_in_ports(fabric, victim):
    """All of the victim's processes are stopped before they have said anything to anybody."""
    kill(victim, signal.SIGSTOP)


@fault(at=first("train", "step"))
def rank_killed_in_training(fabric, victim):
    """The victim's rank is killed during a training step."""
    kill_children(victim)


@fault(at=first("node", "info"))
def node_busy(fabric, victim):
    """The victim gets a tenth of one CPU: a straggler."""
    cgroup(fabric, victim, "cpu", cfs_period_us=100000, cfs_quota_us=10000)


@fault()
def busy_cpus(fabric, victim):
    """As many others want a CPU all the time as the machine has, and one more: healthy."""
    for node in [*fabric.nodes, victim][: (os.cpu_count() or 1) + 1]:
        subprocess.Popen([sys.executable, "-c", "while True: pass"], stdin=subprocess.DEVNULL, preexec_fn=node.enter)


@fault()
def even_cpus(fabric, victim):
    """Every node may use half of a CPU: a slow machine, and healthy."""
    for node in fabric.nodes:
        cgroup(fabric, node, "cpu", cfs_period_us=100000, cfs_quota_us=50000)


@fault()
def rendezvous_port_taken(fabric, victim):
    """Another program has the victim's rendezvous port, and says nothing to those who connect."""
    serve = f"import socket, time; s = socket.create_server(('', {_RENDEZVOUS})); print(flush=True); time.sleep(600)"
    process = subprocess.Popen(
        [sys.executable, "-c", serve], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=victim.enter
    )
    process.stdout.readline()  # it listens


@fault()
def addresses_rewritten(fabric, victim):
    """The victim's packets to other nodes leave under an address that is not its own."""
    gateway = "10.77.0.250"
    for node in fabric.nodes:
        if node is not victim:
            sh(f"ip route add {gateway}/32 via {victim.address}", node)
    sh(f"iptables -t nat -A POSTROUTING -o eth0 -p tcp -j SNAT --to-source {gateway}", victim)


# --- names ---------------------------------------------------------------------------------------------------------


def _without(name):
    return lambda lines: [line for line in lines if line.split()[1:] != [name]]


@fault()
def coordinator_name_unknown(fabric, victim):
    """No node can resolve rank 0's name."""
    for node in fabric.nodes:
        edit_hosts(node, _without("node0"))


@fault()
def coordinator_name_unknown_on_one(fabric, victim):
    """The victim can't resolve rank 0's name."""
    edit_hosts(victim, _without("node0"))


@fault()
def name_unknown(fabric, victim):
    """No other node can resolve the victim's name."""
    for node in fabric.nodes:
        if node is not victim:
            edit_hosts(node, _without(victim.name))


@fault()
def coordinator_name_dead(fabric, victim):
    """On the victim, rank 0's name resolves to an address that nobody has."""
    edit_hosts(victim, lambda lines: [*_without("node0")(lines), "10.77.0.99 node0"])


@fault()
def coordinator_name_wrong(fabric, victim):
    """On the victim, rank 0's name resolves to another node that isn't rank 0's."""
    other = next(node for node in fabric.nodes[1:] if node is not victim)
    edit_hosts(victim, lambda lines: [*_without("node0")(lines), f"{other.address} node0"])


@fault()
def own_name_loopback(fabric, victim):
    """Every node's own name resolves to 127.0.1.1, as some distributions have it."""
    for node in fabric.nodes:
        edit_hosts(node, lambda lines, name=node.name: [*_without(name)(lines), f"127.0.1.1 {name}"])


@fault()
def own_name_loopback_on_one(fabric, victim):
    """The same on the victim alone: training passes, since it connects to the others and none of them to it."""
    edit_hosts(victim, lambda lines: [*_without(victim.name)(lines), f"127.0.1.1 {victim.name}"])


@fault()
def own_name_unknown(fabric, victim):
    """The victim's own name resolves to nothing there: Gloo falls back to the loopback, and training passes."""
    edit_hosts(victim, _without(victim.name))
