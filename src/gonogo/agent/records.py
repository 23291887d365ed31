"""The records that agents write: one JSON object a line, on stdout. This page is the protocol.

Every record has

    v 1 · run · node (name of the writer) · seq (from 0, per writer) · t (seconds since 1970 by the writer's clock)
    step · kind · and the fields below; seconds, bytes and Gbit/s unless the name says otherwise

step `agent`       the writer itself
    start          index, pid, python, sha256 (of the agent's archive, "" if not one), host
    heartbeat      at (the step it is in); at least one a second while the agent lives
    begin, end     of (a step); end has seconds, and error ("" or why the step was cut short)
    crash          of (a step), traceback: the guard caught a bug of ours
    finish         the last record of a healthy agent
step `node`        what this node is
    info           hostname, own_addresses (what its own host name resolves to), own_name_error, interfaces
                   [{name, address, prefix, mtu, up, mac}], local_addresses (all that its kernel takes for its own),
                   cpus, cpu_quota (of the cgroup, 0: none), load1, memory_bytes, memory_available_bytes (both of the
                   machine), memory_limit_bytes (of the cgroup, 0: none), memory_used_bytes and oom_kills (of the
                   cgroup so far), shm_bytes, shm_free_bytes, limits {nofile, memlock, nproc: [soft, hard], -1
                   unlimited}, uid, open_files (of the agent), processes [used, limit] (of the cgroup, 0: none),
                   tcp_sockets (in use, in this network namespace), conntrack [count, max]; None: the kernel doesn't
                   say; versions {python, kernel, torch, …}, congestion_control, port_range [low, high], clock
                   (time.time()), environment (GLOO_*, NCCL_*, MASTER_*, WORLD_SIZE, RANK …, names and values)
step `ports`       all peers and ports at once, held open together, before any coordination
    listen         port, role (rendezvous, agent, probe), ok, error
    resolve        peer, name, addresses, error ("" or the resolver's text), seconds
    probe          peer, address, port, role, outcome, errno, seconds, answered_by, seen_as, attempts
                   outcome: connected (and said who it is) · refused · reset · unreachable (errno) · silent (no answer
                   to the connect) · mute (connected, said nothing) · stranger (another node or program answered) ·
                   name_unknown · exhausted (no local port or descriptor). One's own address is probed, too.
                   clock_offset: the peer's clock less the writer's, wrong by half of `seconds` at most.
                   after: (only then) the step that went wrong, whereupon survivors probed once more; or `held`: once
                   more without holding others, since not all ports of that peer, or of all peers, were silent
    neighbours     neighbours [{address, mac, interface}]: as this node knows them once it has tried to reach all
step `join`        the coordinator is the first peer that can be reached; more than one join means it was lost
    joined         coordinator, seconds
    failed         tried [{peer, outcome}]
    roster         (by the coordinator) present, missing [{peer, reason}], window_seconds
    lost           peer, reason, at (a step): a member, or the coordinator, stopped answering
step `links`       both ends of a pair write; throughput is measured by the receiver
    message        peer, bytes, ok, seconds, mss, pmtu, retransmits, error: one message, acknowledged by the peer
    latency        peer, samples, p50_seconds, p99_seconds
    throughput     peer (the sender), round, phase (1: rounds, 2: suspects with known-good partners), bytes, seconds,
                   gbps, slices [gbps …], waits [share of a slice in which an end waited for a CPU …], retransmits
    error          peer, phase, outcome (as in ports), seconds, error
    damaged        segments: so many that came to this node were dropped for wrong checksums during the step
    plan           (by the coordinator) rounds, pairs, suspects, partners: what was decided and why
step `collectives` of the framework children on this node; their records are passed on by the agent, under its seq.
                   of_rank: in all but `group`, where a node has several: whose it is, as the agent counts ranks
    group          members (nodes; ranks are counted from the first one on), ranks_per_node (only if several),
                   left_out [{peer, reason}]   (by the coordinator)
    at             phase (store, init, op; train has data, step, check, reproduce), and in phase op: op, bytes, dtype,
                   repeat. Written before it is tried, so that a hang has an address
    init           rank, world_size, local_rank, backend, device, device_reason, seconds, interface_address (where this
                   rank's own end of the connections is, "" if it has none), connections [[own address, peer's] …]
    op             op, bytes, dtype, ranks, iterations, calls (of one iteration), seconds (median of one call),
                   min_seconds, max_seconds, wrong (elements that differ from the exact result, over all calls),
                   max_error, wrong_from [rank …] (whose data were wrong, where the op tells), suspects [rank …] (of a
                   wrong sum: one flipped bit in whose data explains it), repeat (which pass)
    cut            op, sizes (left out: they would not have ended in time), predicted_seconds and left_seconds (of the
                   first of them)
    unsupported    op, dtype, text: the backend has no such collective
    error          phase (start, import, store, init, op …), op, bytes, type, text (last lines), seconds since the child
                   started, missing [name …] (of the ranks that never came, in phase store)
    calls          calls [{seq, op, shapes, dtypes} …]: the last that this rank made before an error or the first wrong
                   result, as the backend saw them; ranks that differ at one seq have lost step
    exit           by the agent, always the last: code (None if killed), signal (None unless killed), reason ("",
                   "deadline", "lost" (a node of its group) or "stopped" (the agent gave up): killed by us; "not
                   started"), seconds, oom_kills (of this cgroup meanwhile, None if unknown), output (last 4 KiB of
                   what the child printed; where it hung, too)
step `storage`     each path of the spec in turn, by all ranks at once; every record but the first six has path
    group, at, init, error, calls, exit    as above; `at` has the op as its phase, and `meet` where a rank waits for
                   the others
    space          bytes_total, bytes_free, inodes_total (0: no fixed number), inodes_free, read_only, device, type,
                   source, mount
    failed         op (space, folder, write, read, small, put, visible, replace, flock, fcntl), errno (its name), text
    write, read    bytes, seconds; write has fsync_seconds (within seconds), read has direct (past the page cache)
    small          files, bytes (of each), create_seconds, read_seconds, remove_seconds
    visible        seen [name …], unseen [name …]: whose files, of those that could write one, appeared here; seconds
                   (of the latest, after all had been written), wrong_blocks {name: how many of its large file}
    replaced       peer, reads, missing, torn: of the peer's file, while it replaced it again and again by renaming
    lock           function (flock, fcntl), excluded (nobody got the lock that rank 0 had), total (counted under the
                   lock, one a rank), ranks
    checkpoint     bytes (of all ranks), save_seconds, load_seconds, equal, error
    unsupported    op (checkpoint), text: what the image lacks for it
    removed        ok
step `train`
    group, at, init, error, calls, exit    as above; the first `at` of data has steps: how many are to be taken
    step           index, look (0: the planned steps; above: as many once more, since some rank seemed late), loss (of
                   all ranks), own_loss (of this rank's batch), seconds (whole), data_seconds, forward_seconds,
                   backward_seconds (compute: until the last gradient is there), sync_seconds (exposed communication:
                   from then until all gradients are averaged), optimizer_seconds, before_collective_seconds (from the
                   batch's arrival to the first collective: what this rank alone takes)
    parameters     sha256, elements
    reproduction   (by rank 0) steps, losses, reproduced, max_difference (relative), tolerance, seconds: the same
                   steps in one process
    summary        steps, loader_workers, batch_bytes, data_seconds, compute_seconds, exposed_seconds (medians of a
                   step), loss_first, loss_last
step `fabric`      node = "fabric"; the first three are written by the launcher, `over` by who collects the records
    built          nodes [{name, address, pid}], made_of (namespaces, user-namespaces, loopback), mtu, seconds, lacks
                   [what was asked for and can't be had here …]
                   (pid as the fabric's own process ids count, which is not how the machine's do)
                   of pods: nodes [{name, address, pod, index}] (index: of the Job's completion, and of the agent),
                   made_of pods, seconds until the last of them ran
    exit           of (a node), code, signal, stderr (its end, "" if empty): its agent ended; of pods also pod, and
                   reason in the kubelet's word (OOMKilled, Evicted …) or `never ran: …` for one that did not start
    note           text
    over           of (a step), ended {node: "" or why it isn't well}, lines {file: how many there were}: the step is
                   over on all nodes that live, and its document is made of these lines
"""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any, BinaryIO

VERSION = 1


class Writer:
    """Writes records whole: each line is one write, so that lines of several processes never mix."""

    def __init__(self, run: str, node: str, out: BinaryIO | int = 1, **more: Any) -> None:
        self._fd = out if isinstance(out, int) else out.fileno()
        self._common = {"v": VERSION, "run": run, "node": node, **more}
        self._lock = threading.Lock()
        self._seq = 0

    def write(self, step: str, kind: str, **fields: Any) -> dict[str, Any]:
        """Write one record and return it."""
        with self._lock:
            record = {**self._common, "seq": self._seq, "t": time.time(), "step": step, "kind": kind, **fields}
            self._seq += 1
            self.pass_on(json.dumps(record, separators=(",", ":"), default=str).encode() + b"\n")
        return record

    def adopt(self, line: bytes) -> None:
        """Write a record that a child wrote, under this writer's seq; ValueError if it isn't a record."""
        record = json.loads(line)
        if not isinstance(record, dict) or not {"t", "step", "kind"} <= record.keys():
            raise ValueError(f"not a record: {line[:200]!r}")
        with self._lock:
            stamped = {**record, **self._common, "seq": self._seq}
            self._seq += 1
            self.pass_on(json.dumps(stamped, separators=(",", ":")).encode() + b"\n")

    def pass_on(self, line: bytes) -> None:
        """Write a line as it is, such as one that a child wrote."""
        view = memoryview(line)
        while view:
            view = view[os.write(self._fd, view) :]
