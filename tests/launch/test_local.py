"""The launcher as a program: what nodes are, what is passed on, and that nothing is left, however it ends."""

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from gonogo.launch import leftovers
from gonogo.launch.spec import spec_for
from gonogo.plan import Plan

FAKE = str(Path(__file__).parent / "fake_launcher.py")
GONE_SECONDS = 30.0
"""Longer than what must end takes on a busy machine; nobody waits for longer than it takes."""
KINDS = [
    pytest.param("namespaces", marks=pytest.mark.fabric("root")),
    pytest.param("user-namespaces", marks=pytest.mark.fabric),
    "loopback",
]


def order(nodes=2, steps=("node", "ports"), **fabric):
    names = [f"node{i}" for i in range(nodes)]
    spec = spec_for(Plan(), run="r", names=names, addresses=names, level="quick", steps=steps)
    return json.dumps({"spec": json.loads(spec.to_json()), "fabric": fabric}) + "\n"


def start(mode, *argv, **popen):
    return subprocess.Popen(
        [*argv, sys.executable, FAKE, mode],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen
    )  # fmt: skip


def run(mode, nodes=2, steps=("node", "ports"), argv=(), **fabric):
    """All records, exit code and stderr."""
    with start(mode, *argv) as process:
        process.stdin.write(order(nodes, steps, **fabric))
        process.stdin.flush()
        records = [json.loads(line) for line in process.stdout]
        said = process.stderr.read()
        process.stdin.close()
    return records, process.returncode, said


def of(records, step, kind):
    return {r.get("of", r["node"]): r for r in records if (r["step"], r["kind"]) == (step, kind)}


# --- what a node is ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_node_has_name_hosts_interface_mtu_and_shared_memory_of_its_own(kind):
    records, code, _ = run("ok", nodes=3, kind=kind, mtu=4000, shm_bytes=64 << 20)
    assert code == 0
    (built,) = of(records, "fabric", "built").values()
    assert (built["made_of"], built["mtu"]) == (kind, 4000)
    assert [(n["name"], n["address"]) for n in built["nodes"]] == [(f"node{i}", f"10.77.0.{i + 1}") for i in range(3)]
    infos = of(records, "node", "info")
    assert set(infos) == {"node0", "node1", "node2"}
    for name, info in infos.items():
        assert info["hostname"] == name
        assert info["name"] == f"gonogo:{name}"
        assert set(info["interfaces"]) == {"lo", "eth0"} and info["interfaces"]["eth0"] == 4000
        assert info["shm_bytes"] == 64 << 20
        assert ["10.77.0.3", "node2"] in info["hosts"]
        assert info["tmp"].startswith("/") and not info["tmp"].startswith(tempfile.gettempdir())
        assert len(info["descriptors"]) <= 7  # none of the other nodes'


@pytest.mark.fabric("root")
def test_a_node_may_use_as_much_as_a_pod():
    before = {p for p in Path("/sys/fs/cgroup").glob("**/gonogo-*") if p.is_dir()}
    records, code, said = run("ok", nodes=2, kind="namespaces", cpus=0.5, memory_bytes=1 << 30)
    assert code == 0, said
    (built,) = of(records, "fabric", "built").values()
    if built["lacks"]:
        pytest.skip(built["lacks"][0])
    for info in of(records, "node", "info").values():
        assert info["limits"] == [0.5, 1 << 30]
    assert {p for p in Path("/sys/fs/cgroup").glob("**/gonogo-*") if p.is_dir()} <= before


def test_without_namespaces_it_says_what_cant_be_proven():
    records, code, _ = run("ok", kind="loopback")
    assert code == 0
    (built,) = of(records, "fabric", "built").values()
    assert built["made_of"] == "loopback"
    assert len({n["address"] for n in built["nodes"]}) == 2
    assert all(n["address"].startswith("127.") for n in built["nodes"])
    assert any("can't be proven" in r["text"] for r in records if r["kind"] == "note")


@pytest.mark.fabric("root")
def test_another_user_gets_a_user_namespace():
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    if subprocess.run([*nobody, sys.executable, "-c", "import gonogo"]).returncode:
        pytest.skip("this Python is in a folder that other users may not read")
    records, code, said = run("ok", argv=nobody, kind="auto", cpus=0.5, memory_bytes=1 << 30)
    assert code == 0, said
    (built,) = of(records, "fabric", "built").values()
    assert built["made_of"] == "user-namespaces"
    assert built["lacks"][0].startswith("the limits of CPU and memory: control groups can't be made here")
    assert of(records, "node", "info")["node1"]["hostname"] == "node1"


@pytest.mark.fabric("root")
def test_where_namespaces_are_forbidden_it_falls_back_and_says_why():
    forbid = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'
    argv = ("unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh", "setpriv", "--bounding-set=-sys_admin",
            "--inh-caps=-sys_admin", "--ambient-caps=-sys_admin")  # fmt: skip
    records, code, said = run("ok", argv=argv, kind="auto")
    assert code == 0, said
    (built,) = of(records, "fabric", "built").values()
    assert built["made_of"] == "loopback"
    notes = [r["text"] for r in records if r["kind"] == "note"]
    assert any(note.startswith("A fabric of user namespaces can't be had here: ") for note in notes)


def test_where_a_program_is_missing_it_falls_back_and_says_which():
    records, code, _ = run("ok", argv=("/usr/bin/env", "PATH=/nonexistent"), kind="auto")
    assert code == 0
    (built,) = of(records, "fabric", "built").values()
    assert built["made_of"] == "loopback"
    assert any("the program ip (package iproute2) is not installed" in r.get("text", "") for r in records)


# --- what is passed on ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_agent_is_reported_and_its_half_line_is_not_passed_on(kind):
    records, code, _ = run("killed", kind=kind)
    assert code == 0
    exits = of(records, "fabric", "exit")
    assert (exits["node0"]["code"], exits["node0"]["signal"]) == (0, None)
    assert (exits["node1"]["code"], exits["node1"]["signal"]) == (None, 9)


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_agent_prints_is_kept_apart_and_its_traceback_kept(kind):
    records, _, said = run("raises", kind=kind)
    exits = of(records, "fabric", "exit")
    assert exits["node0"]["stderr"] == "a stray line\n"
    assert exits["node1"]["code"] == 1
    assert "RuntimeError: the agent broke" in exits["node1"]["stderr"]
    assert said == ""


@pytest.mark.parametrize("kind", KINDS)
def test_temporary_files_go_with_the_fabric(kind, tmp_path):
    pytest.importorskip("torch")
    records, _, _ = run("ok", steps=("node", "train"), argv=("env", f"TMPDIR={tmp_path}"), kind=kind)
    assert len(of(records, "node", "info")) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fabric
def test_frameworks_are_imported_once_before_the_nodes_are_forked():
    pytest.importorskip("torch")
    with_torch = of(run("ok", steps=("node", "train"))[0], "node", "info")
    without = of(run("ok", steps=("node", "links"))[0], "node", "info")
    assert all(info["torch"] for info in with_torch.values())
    assert not any(info["torch"] for info in without.values())


def test_a_mistake_in_a_scenario_is_loud():
    _, code, said = run("broken-scenario")
    assert code == 1
    assert "RuntimeError: the scenario broke" in said


@pytest.mark.parametrize("text", ["", "no json\n", '{"spec": {}}\n'])
def test_an_order_that_makes_no_sense_ends_it_at_once(text):
    with start("ok") as process:
        process.stdin.write(text)
        process.stdin.close()
        assert process.wait(10) == 1


# --- nothing is left -----------------------------------------------------------------------------------------------


def traces(marker):
    """Whatever of a run can be found: its processes, by their environment; and what has a name."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if marker.encode() in (folder / "environ").read_bytes() and "Z" not in _state(folder):
                found.append(f"process {folder.name} {(folder / 'comm').read_text().strip()}")
    return found


def _state(folder):
    return (folder / "stat").read_text().rpartition(")")[2].split()[0]


def named(tag):
    """The files and control groups whose names begin with a guard's tag."""
    temporary = {path.name for path in Path(tempfile.gettempdir()).glob(f"{tag}*")}
    return temporary | {str(path) for way in (f"{tag}*", f"*/{tag}*") for path in leftovers.CGROUPS.glob(way)}


def links_and_mounts():
    """What of a fabric could be seen from outside, under names that it shares with all others."""
    links = {path.name for path in Path("/sys/class/net").iterdir() if path.name.startswith(("port", "br0"))}
    return links | {line for line in Path("/proc/self/mounts").read_text().splitlines() if "/netns" in line}


def left_after(marker):
    """What is still there when it should long have gone."""
    until = time.monotonic() + GONE_SECONDS
    while (left := traces(marker)) and time.monotonic() < until:
        time.sleep(0.02)
    return left


def descendants(pid):
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


CALLER = """
import subprocess, sys
pipe = subprocess.PIPE
process = subprocess.Popen(sys.argv[2:], stdin=pipe, stdout=pipe, start_new_session=True, text=True)
process.stdin.write(sys.argv[1]); process.stdin.flush()
print(process.pid, flush=True)
for line in process.stdout:
    print(line, end="", flush=True)
"""


def strike(kind, whom, delay, mode="forever"):
    """Kill the caller, the guard or the switch after that time; what is left of the run, and of names, then."""
    marker, before = f"GONOGO_TEST_RUN={random.SystemRandom().getrandbits(64)}", links_and_mounts()
    key, _, value = marker.partition("=")
    argv = [sys.executable, "-c", CALLER, order(3, kind=kind), sys.executable, FAKE, mode]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=os.environ | {key: value}) as caller:  # fmt: skip
        guard = int(caller.stdout.readline())
        tag = leftovers.tag(guard)
        if delay is None:  # until all nodes stand and two of them are stopped
            for line in caller.stdout:
                if '"built"' in line:
                    break
        else:
            time.sleep(delay)
        family, guard_lives = descendants(guard), os.pidfd_open(guard)
        victim = {"caller": caller.pid, "guard": guard, "switch": family[1] if len(family) > 1 else guard}[whom]
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        caller.kill()
        assert select.select([guard_lives], [], [], GONE_SECONDS)[0]
        os.close(guard_lives)
    if (kind, whom) != ("loopback", "guard"):  # there, processes that don't watch their parents take a cleanup
        assert left_after(marker) == []
    leftovers.remove_dead()
    assert left_after(marker) == []
    return named(tag) | links_and_mounts() - before


@pytest.mark.parametrize("whom", ["caller", "guard", "switch"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_kill_leaves_nothing(kind, whom):
    assert strike(kind, whom, None) == set()


def _random_kills(count):
    return [pytest.param(seed, marks=[] if seed < 3 else pytest.mark.soak, id=f"seed{seed}") for seed in range(count)]


@pytest.mark.fabric
@pytest.mark.parametrize("seed", _random_kills(20))
def test_a_kill_at_a_random_moment_leaves_nothing(seed):
    dice = random.Random(seed)
    assert strike("auto", dice.choice(["caller", "guard", "switch"]), dice.uniform(0.0, 0.5)) == set()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("kind", KINDS)
def test_a_polite_signal_to_the_guard_ends_everything(kind, number):
    before = links_and_mounts()
    with start("forever") as process:
        tag = leftovers.tag(process.pid)
        process.stdin.write(order(kind=kind))
        process.stdin.flush()
        assert any('"built"' in line for line in iter(process.stdout.readline, ""))
        family = descendants(process.pid)
        process.send_signal(number)
        assert process.wait(GONE_SECONDS) == 128 + number
    assert not [pid for pid in family if Path(f"/proc/{pid}").exists()]
    assert named(tag) | links_and_mounts() - before == set()
