"""Jobs that fail on a real cluster, read and diagnosed by their name alone."""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kube_verify import Dict, Outcome, verify
from testbed import IMAGE, Bed

GONOGO = str(Path(sys.executable).with_name("gonogo"))
RAISES = "import sys\ndef main():\n    raise ValueError('batch of 0')\nprint('epoch 0', flush=True)\nmain()\n"
EATS = "print('epoch 0', flush=True)\nheld = []\nwhile True: held.append(bytearray(b'x' * (1 << 20)))\n"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def space(bed: Bed) -> Iterator[str]:
    name = f"gonogo-test-{secrets.token_hex(3)}"
    bed.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    bed.kubectl("delete", "namespace", name, "--wait=false", check=False)


def job(space: str, code: str = "", image: str = IMAGE, policy: str = "Never", backoff: int = 0, **more: Any) -> Dict:
    container = {"name": "main", "image": image, "imagePullPolicy": "IfNotPresent",
                 "command": ["python", "-c", code], **more}  # fmt: skip
    template = {"spec": {"restartPolicy": policy, "containers": [container]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": space},
            "spec": {"backoffLimit": backoff, "template": template}}  # fmt: skip


def until(bed: Bed, space: str, condition: str, what: str = "job/train") -> None:
    bed.kubectl("-n", space, "wait", f"--for={condition}", what, "--timeout=90s")


def diagnose(bed: Bed, *words: str, kubeconfig: str = "") -> Outcome:
    environment = {**os.environ, "KUBECONFIG": kubeconfig or bed.kubeconfig}
    named = os.environ.get("GONOGO_TEST_CONTEXT")
    where = ["--context", named] if named and not kubeconfig else []
    done = subprocess.run(
        [GONOGO, "diagnose", *where, *words, "-o", "json"], capture_output=True, text=True, env=environment, timeout=120
    )
    return Outcome(json.loads(done.stdout) if done.stdout.startswith("{") else {}, done.returncode, 0.0, done.stderr)


def test_program_that_raises(bed: Bed, space: str, tmp_path: Path) -> None:
    bed.apply(job(space, RAISES))
    until(bed, space, "condition=Failed")
    outcome = diagnose(bed, "-n", space, "job/train", "--bundle", str(tmp_path / "b"))
    assert (outcome.code, outcome.causes) == (1, ["pod.user_code_error"]), outcome.stderr
    assert "ValueError: batch of 0" in outcome.report["diagnoses"][0]["summary"]
    assert outcome.report["diagnoses"][0]["evidence"][0]["file"].startswith("logs/train-")
    assert not [c for c in outcome.report["coverage"]["not_proven"] if c["text"] == "not seen"]
    again = subprocess.run([GONOGO, "diagnose", str(tmp_path / "b"), "-o", "json"], capture_output=True)
    assert json.loads(again.stdout)["diagnoses"] == outcome.report["diagnoses"]


def test_pod_that_was_killed_for_its_memory(bed: Bed, space: str) -> None:
    bed.apply(job(space, EATS, resources={"limits": {"memory": "64Mi"}}))
    until(bed, space, "condition=Failed")
    outcome = diagnose(bed, "-n", space, "job/train")
    assert (outcome.code, outcome.causes[:1]) == (1, ["pod.oom_killed"]), (outcome.causes, outcome.stderr)


def waits(bed: Bed, space: str, reason: str) -> None:
    until(bed, space, f"jsonpath={{.status.containerStatuses[0].state.waiting.reason}}={reason}",
          f"pod/{pod_of(bed, space)}")  # fmt: skip


def test_image_that_is_not_there(bed: Bed, space: str) -> None:
    bed.apply(job(space, image="gonogo/none:1", imagePullPolicy="Never"))
    waits(bed, space, "ErrImageNeverPull")
    outcome = diagnose(bed, "-n", space, "job/train")
    assert (outcome.code, outcome.causes) == (1, ["image.not_found"]), (outcome.causes, outcome.stderr)
    assert "gonogo/none:1" in outcome.report["diagnoses"][0]["summary"]


def test_registry_that_no_node_reaches_is_said_and_no_cause_guessed(bed: Bed, space: str) -> None:
    bed.apply(job(space, image="example.invalid/none:1"))
    waits(bed, space, "ErrImagePull")
    outcome = diagnose(bed, "-n", space, "job/train")
    assert (outcome.code, outcome.causes) == (3, []), outcome.stderr
    assert outcome.of("image.registry_unreachable")[0]["subject"].startswith("pod/train-")


def pod_of(bed: Bed, space: str) -> str:
    bed.kubectl("-n", space, "wait", "--for=create", "pod", "-l", "job-name=train", "--timeout=30s")
    return bed.kubectl("-n", space, "get", "pods", "-o", "jsonpath={.items[0].metadata.name}")


def test_job_that_ended_well_is_nothing_found(bed: Bed, space: str) -> None:
    bed.apply(job(space, "print('step 1 loss 0.5', flush=True)"))
    until(bed, space, "condition=Complete")
    outcome = diagnose(bed, "-n", space, "job/train")
    assert (outcome.code, outcome.report["verdict"]) == (0, "nothing-found"), (outcome.causes, outcome.stderr)


def test_with_the_printed_role_and_less(bed: Bed, space: str, tmp_path: Path) -> None:
    printed = subprocess.run(
        [GONOGO, "permissions", "--for", "diagnose", "-n", space, "-o", "yaml"], capture_output=True, text=True
    ).stdout
    bed.kubectl("apply", "-f", "-", stdin=printed)
    config = yaml.safe_load(Path(bed.kubeconfig).read_text())
    token = bed.kubectl("-n", space, "create", "token", "gonogo").strip()
    config["users"] = [{"name": "account", "user": {"token": token}}]
    for entry in config["contexts"]:
        entry["context"] |= {"user": "account", "namespace": space}
    account = tmp_path / "kubeconfig"
    account.write_text(yaml.safe_dump(config))
    bed.apply(job(space, RAISES))
    until(bed, space, "condition=Failed")
    try:
        outcome = diagnose(bed, "-n", space, "job/train", kubeconfig=str(account))
        assert (outcome.code, outcome.causes) == (1, ["pod.user_code_error"]), outcome.stderr
        assert "You may not" not in outcome.stderr
        bed.kubectl("delete", "clusterrolebinding", "gonogo-diagnose")
        role = json.loads(bed.kubectl("-n", space, "get", "role", "gonogo-diagnose", "-o", "json"))
        role["rules"] = [rule for rule in role["rules"] if "pods/log" not in rule["resources"]]
        bed.apply(role)
        less = diagnose(bed, "-n", space, "job/train", kubeconfig=str(account))
    finally:
        bed.kubectl("delete", "-f", "-", "--wait=false", "--ignore-not-found", stdin=printed)
    assert less.code == 3, (less.causes, less.stderr)
    assert f"You may not get pods/log in namespace {space}: what the program printed is not known." in less.stderr
    assert "You may not list nodes: " in less.stderr


WAITS = """import datetime, os, torch.distributed as dist
rank = int(os.environ["JOB_COMPLETION_INDEX"])
os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "train-0.train", "MASTER_PORT": "29500"}
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=12))
open("/tmp/joined", "w").close()
"""


def test_service_that_hides_ranks_until_they_are_ready(bed: Bed, space: str, tmp_path: Path) -> None:
    """Ranks are ready once they have joined, and have names once they are ready: they wait for each other."""
    joined = "import os, sys; sys.exit(not os.path.exists('/tmp/joined'))"
    probe = {"exec": {"command": ["python", "-ISc", joined]}, "periodSeconds": 1}
    manifest = job(space, WAITS, readinessProbe=probe)
    manifest["spec"] |= {"completions": 2, "parallelism": 2, "completionMode": "Indexed"}
    manifest["spec"]["template"]["spec"]["subdomain"] = "train"
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "train", "namespace": space},
               "spec": {"clusterIP": "None", "selector": {"job-name": "train"}}}  # fmt: skip
    bed.apply(service, manifest)
    like = tmp_path / "train.yaml"
    like.write_text(yaml.safe_dump_all([service, manifest]))
    for index in (0, 1):
        ranked = f"batch.kubernetes.io/job-completion-index={index}"
        bed.kubectl("-n", space, "wait", "--for=create", "pod", "-l", ranked, "--timeout=30s")
    bed.kubectl("-n", space, "wait", "--for=jsonpath={.status.phase}=Running", "pod", "--all", "--timeout=60s")
    seen = verify(bed, "-n", space, "--like", str(like), level="read", image="")
    assert seen.code == 1 and "job.service_hides_unready_pods" in seen.causes, (seen.causes, seen.stderr)
    # a run that another test has going holds all GPUs meanwhile, and that is told, too
    first = next(d for d in seen.report["diagnoses"] if d["cause"] == "job.service_hides_unready_pods")
    assert first["certainty"] == "established"
    assert first["summary"] == (
        "Service train gives names to pods only once they are ready: 2 that run are not, and have none."
    )
    until(bed, space, "condition=Failed")
    outcome = diagnose(bed, "-n", space, "job/train")
    assert (outcome.code, outcome.causes[:1]) == (1, ["job.rendezvous_dns_not_ready"]), (outcome.causes, outcome.stderr)
    mend = outcome.report["diagnoses"][0]["commands"]
    assert [re.sub(r" --context \S+", "", c) for c in first["commands"]] == mend
    bed.kubectl(*shlex.split(mend[0])[1:])
    bed.kubectl("-n", space, "delete", "job", "train")
    bed.apply(manifest)
    until(bed, space, "condition=Complete")


STEPS = """import time
for n in range(10**6):
    print(f"step {n} loss {1 / (n + 1):.4f}", flush=True)
    time.sleep(0.5)
"""


def test_job_that_runs_is_kept_with_what_it_wrote_between_two_readings(bed: Bed, space: str, tmp_path: Path) -> None:
    bed.apply(job(space, STEPS))
    until(bed, space, "jsonpath={.status.ready}=1")
    environment = {**os.environ, "KUBECONFIG": bed.kubeconfig}
    named = os.environ.get("GONOGO_TEST_CONTEXT")
    words = [*(["--context", named] if named else []), "-n", space, "job/train", str(tmp_path / "b")]
    done = subprocess.run([GONOGO, "collect", *words], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "1 of 1 logs grew in 1" in done.stderr
    kept = json.loads((tmp_path / "b/readings.json").read_text())
    lines = (tmp_path / "b" / kept["logs"][0]["log"]).read_text().splitlines()
    steps = [int(line.partition(" step ")[2].split()[0]) for line in lines]
    assert steps == list(range(len(steps)))  # none twice, none lost
    assert kept["logs"][0]["gained"] >= 10 and len(steps) == kept["logs"][0]["lines"] + kept["logs"][0]["gained"]
