"""What a node says of itself, against what this machine says of itself elsewhere."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gonogo.agent import cgroup, guard, node


def test_info_is_what_the_kernel_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "do-not-tell")
    info = node.info({"GLOO_SOCKET_IFNAME": "eth9", "NCCL_DEBUG": "WARN"})
    assert info["hostname"] == socket.gethostname()
    assert info["cpus"] == len(os.sched_getaffinity(0))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert info["limits"]["nofile"] == [soft, hard]
    assert info["memory_bytes"] == int(Path("/proc/meminfo").read_text().split()[1]) * 1024
    low, high = info["port_range"]
    assert 0 < low < high < 65536
    assert info["environment"]["GLOO_SOCKET_IFNAME"] == "eth9"
    assert info["environment"]["NCCL_DEBUG"] == "WARN"  # what a child will see
    assert "do-not-tell" not in json.dumps(info)
    assert 0 < info["shm_free_bytes"] <= info["shm_bytes"]


SEEN = """
import json, socket; from gonogo.agent import node
print(json.dumps([node.interfaces(), [name for _, name in socket.if_nameindex()]]))
"""


def in_a_new_namespace(*commands: str) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """The interfaces that a node tells by name, and those that the kernel lists, where nobody else makes any."""
    script = " && ".join([*commands, 'exec python3 -c "$0"'])
    command = ["unshare", "--net", "--map-root-user", "sh", "-c", script, SEEN]
    here = {"PYTHONPATH": str(Path(node.__file__).parents[2]), "PATH": os.environ["PATH"]}
    done = subprocess.run(command, capture_output=True, text=True, env=here)
    if done.returncode and "unshare" in done.stderr:
        reason = f"no network namespace can be made here: {done.stderr.strip()}"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    assert not done.returncode, done.stderr
    told, listed = json.loads(done.stdout)
    return {entry["name"]: entry for entry in told}, set(listed)


@pytest.mark.fabric
def test_interfaces_are_those_of_this_namespace() -> None:
    found, listed = in_a_new_namespace("ip link set lo up", "ip link add one mtu 4000 type veth peer name two")
    lo = {"name": "lo", "address": "127.0.0.1", "prefix": 8, "mtu": found["lo"]["mtu"], "up": True}
    assert found["lo"] == {**lo, "mac": "00:00:00:00:00:00"}
    assert (found["one"]["mtu"], found["one"]["up"], found["one"]["address"]) == (4000, False, "")
    assert set(found) == listed >= {"lo", "one", "two"}


def test_what_is_left_of_limits_is_what_the_kernel_says() -> None:
    info = node.info({})
    assert info["uid"] == os.getuid()
    assert 3 <= info["open_files"] < resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    with socket.create_server(("127.0.0.1", 0)):
        assert node.info({})["tcp_sockets"] >= 1
    assert "127.0.0.1" in info["local_addresses"]
    assert {e["address"] for e in info["interfaces"] if "." in e["address"]} <= {*info["local_addresses"]}


def test_descriptors_that_are_open_count() -> None:
    look = "from gonogo.agent import node; import socket; count = lambda: node.info({})['open_files']"
    more = f"{look}; before = count(); held = socket.socket(), socket.socket(); print(count() - before)"
    # in a process of its own: what other tests left open here is closed whenever the collector comes by
    assert subprocess.run([sys.executable, "-c", more], capture_output=True, text=True, check=True).stdout == "2\n"


def test_a_control_group_that_limits_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = {"pids.current": "7\n", "pids.max": "max\n", "memory.current": "1000\n", "memory.max": "4096\n",
             "memory.events": "low 0\noom 1\noom_kill 2\n", "cpu.max": "50000 100000\n"}  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(cgroup, "folders", lambda _: iter([(tmp_path, True)]))
    assert (cgroup.processes(), cgroup.memory_bytes()) == ((7, 0), (1000, 4096))
    assert (cgroup.oom_kills(), cgroup.cpus()) == (2, 0.5)
    (tmp_path / "pids.max").write_text("12\n")
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert (cgroup.processes(), cgroup.cpus()) == ((7, 12), 0.0)


def test_a_new_network_namespace_has_its_own_interfaces() -> None:
    found, listed = in_a_new_namespace()
    assert not found["lo"]["up"]
    assert set(found) == listed
    assert not listed & ({name for _, name in socket.if_nameindex()} - {"lo", "tunl0", "sit0", "ifb0", "ifb1"})


def test_the_last_word_goes_to_the_termination_log_in_a_pod_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = tmp_path / "termination-log"
    log.touch()
    monkeypatch.setattr(guard, "TERMINATION_LOG", log)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    guard.leave_word("ended")
    assert log.read_text() == ""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    guard.leave_word("x" * 5000)
    assert len(log.read_text()) == 4096
    log.unlink()
    guard.leave_word("nowhere to write")


def test_an_agent_that_is_told_to_end_ends_at_once(agents: Callable[..., Any]) -> None:
    step_seconds = {"node": 5.0, "ports": 15.0, "join": 100.0}
    two = agents(2, join_seconds=100.0, start_seconds=1.0, step_seconds=step_seconds).start(0)
    two.until(lambda: [r for r in two.records(0, "agent", "begin") if r["of"] == "join"])
    two.processes[0].terminate()
    assert two.processes[0].wait(timeout=30) == 128 + 15
