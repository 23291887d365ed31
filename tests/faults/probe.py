"""An agent that only looks at what a fault does, with code that shares nothing with the product's.

Each node serves three ports, tries every other node on each, sends messages that must be acknowledged, and times a
few MiB; or it says that it is about to call a collective, and sees who answers after that.
"""

import contextlib
import os
import resource
import socket
import struct
import sys
import threading
import time
import types
from pathlib import Path

import gonogo.agent
from gonogo.agent.records import Writer
from gonogo.launch.namespaces import die_with_parent

PORTS = (29400, 29500, 43019)
SIZES = (64, 1400, 8000, 1 << 20)
_BULK_BYTES = 8 << 20
_SILENT_SECONDS = 1.0
_HELD = 16
_START_SECONDS = 1.0
_STRIKE_SECONDS = 10.0
_TOTAL_RETRANS = 100  # offset in struct tcp_info of linux/tcp.h


def run(spec, index, out):
    """As gonogo.agent.main.run: looks at ports and messages or, if the steps say so, at what is left after a strike.

    It serves on until the launcher is let go: the others may still be asking.
    """
    writer = Writer(spec.run, spec.peers[index], out)
    servers = [socket.create_server(("", port)) for port in PORTS]
    if os.fork() == 0:
        die_with_parent()
        _serve(servers)
    for server in servers:  # they are to die with the child
        server.close()
    others = [peer for peer in spec.peers if peer != spec.peers[index]]
    writer.write("node", "facts", **_facts(spec.storage_paths[0], spec.peers[index]))
    if "collectives" not in spec.steps:
        _look(writer, others)
    elif spec.peers[-1] in others:
        _look_after(writer, spec.peers[-1])
    else:
        writer.write("collectives", "at", bytes=16 << 20)  # which is when faults strike
    writer.write("probe", "done")
    threading.Event().wait()


def _facts(folder, name):
    shm, here = os.statvfs("/dev/shm"), os.statvfs(folder)
    try:
        Path(folder, name).write_bytes(bytes(1 << 16))
        error = 0
    except OSError as refused:
        error = refused.errno
    return {
        "shm_bytes": shm.f_blocks * shm.f_frsize,
        "device": Path(folder).stat().st_dev,
        "free_bytes": here.f_bavail * here.f_frsize,
        "write_errno": error,
        "nofile": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "memlock": resource.getrlimit(resource.RLIMIT_MEMLOCK)[0],
        "ports": Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split(),
        "interfaces": [name for _, name in socket.if_nameindex()],
    }


def _together(peer, count):
    """How many of so many connections to a peer can be held at once."""
    held = []
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            with contextlib.suppress(OSError):
                held.append(stack.enter_context(socket.create_connection((peer, PORTS[-1]), 0.5)))
    return len(held)


def _look(writer, others):
    open_to = []

    def ports(peer, port):
        found = _try(peer, port)
        writer.write("ports", "probe", peer=peer, port=port, **found)
        if (found["outcome"], port) == ("connected", PORTS[-1]):
            open_to.append(peer)

    def messages(peer, port):
        for size in SIZES:
            writer.write("links", "message", peer=peer, bytes=size, **_send(peer, size))

    _each([(peer, port) for peer in others for port in PORTS], ports)
    _each([(peer, PORTS[-1]) for peer in open_to], messages)
    for peer in open_to:
        writer.write("links", "bulk", peer=peer, **_send(peer, _BULK_BYTES))
        writer.write("links", "together", peer=peer, wanted=_HELD, held=_together(peer, _HELD))


def _look_after(writer, victim):
    """Ask the victim until it fails twice alike: the first failure may be that of a connection cut in the middle."""
    until = time.monotonic() + _STRIKE_SECONDS
    before, found = None, {"outcome": "connected"}
    while (before != found or found["outcome"] in ("connected", "reset")) and time.monotonic() < until:
        before, found = found, _try(victim, PORTS[-1])
    writer.write("after", "probe", peer=victim, port=PORTS[-1], **found)


def _each(pairs, body):
    threads = [threading.Thread(target=body, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _try(peer, port):
    began = time.monotonic()
    while True:
        try:
            with socket.create_connection((peer, port), _SILENT_SECONDS) as s:
                s.sendall((1).to_bytes(8, "big") + b"?")
                return {"outcome": "connected", "by": s.recv(64).decode() or "nobody"}
        except socket.gaierror:
            return {"outcome": "name_unknown"}
        except ConnectionRefusedError:
            if time.monotonic() > began + _START_SECONDS:
                return {"outcome": "refused"}
            time.sleep(0.1)
        except (ConnectionResetError, BrokenPipeError):
            return {"outcome": "reset"}
        except TimeoutError:
            return {"outcome": "mute" if "s" in locals() else "silent"}
        except OSError as error:
            return {"outcome": "unreachable", "errno": error.errno}


def _send(peer, size):
    """Seconds until a message of that size was acknowledged, or None; and how many segments were sent again."""
    try:
        with socket.create_connection((peer, PORTS[-1]), _SILENT_SECONDS) as s:
            began = time.monotonic()
            s.sendall(size.to_bytes(8, "big") + bytes(size))
            acknowledged = s.recv(64)
            took = time.monotonic() - began
            again = struct.unpack_from("=I", s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), _TOTAL_RETRANS)[0]
            return {"seconds": took if acknowledged else None, "again": again}
    except OSError:
        return {"seconds": None, "again": None}


def _serve(servers):
    def answer(connection):
        with connection:
            wanted = int.from_bytes(connection.recv(8, socket.MSG_WAITALL), "big")
            while wanted > 0 and (chunk := connection.recv(1 << 20)):
                wanted -= len(chunk)
            connection.sendall(socket.gethostname().encode())

    def accept(server):
        while True:
            threading.Thread(target=answer, args=(server.accept()[0],)).start()

    for server in servers:
        threading.Thread(target=accept, args=(server,)).start()
    threading.Event().wait()


def install():
    """Become what the launcher takes for the agent."""
    module = types.ModuleType("gonogo.agent.main")
    module.run = run
    sys.modules["gonogo.agent.main"] = gonogo.agent.main = module
