"""Who may do what: the least role is enough, a role that lacks a verb is named, and no way in is one line."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from kube_verify import NO_FRAMEWORK, left, verify
from testbed import Bed

GONOGO = str(Path(sys.executable).with_name("gonogo"))


def as_account(bed: Bed, namespace: str, folder: Path, token: str = "", server: str = "") -> str:
    """A kubeconfig of the service account gonogo."""
    config = yaml.safe_load(Path(bed.kubeconfig).read_text())
    token = token or bed.kubectl("-n", namespace, "create", "token", "gonogo").strip()
    config["users"] = [{"name": "account", "user": {"token": token}}]
    for entry in config["contexts"]:
        entry["context"] |= {"user": "account", "namespace": namespace}
    if server:
        config["clusters"][0]["cluster"]["server"] = server
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return str(path)


@pytest.fixture
def least(bed: Bed) -> Iterator[str]:
    """A namespace with exactly the role that `gonogo permissions` prints."""
    name = f"gonogo-test-{secrets.token_hex(3)}"
    bed.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    printed = subprocess.run([GONOGO, "permissions", "--level", "quick", "-n", name, "-o", "yaml"], capture_output=True)
    bed.kubectl("apply", "-f", "-", stdin=printed.stdout.decode())
    yield name
    assert left(bed) == ""
    bed.kubectl("delete", "-f", "-", "--wait=false", "--ignore-not-found", stdin=printed.stdout.decode())
    bed.kubectl("delete", "namespace", name, "--wait=false")


def test_the_printed_role_is_enough(bed: Bed, least: str, tmp_path: Path) -> None:
    """What a framework does in its pod asks the API for nothing."""
    outcome = verify(bed, "-n", least, *NO_FRAMEWORK, kubeconfig=as_account(bed, least, tmp_path))
    assert outcome.verdict == "GO", [
        f["message"] for f in outcome.report["findings"] if f["status"] in ("fail", "unknown")
    ]
    assert outcome.of("KUB101")[0]["status"] == "ok"


def test_role_without_logs(bed: Bed, least: str, tmp_path: Path) -> None:
    role = json.loads(bed.kubectl("-n", least, "get", "role", "gonogo-quick", "-o", "json"))
    role["rules"] = [rule for rule in role["rules"] if "pods/log" not in rule["resources"]]
    bed.apply(role)
    outcome = verify(bed, "-n", least, kubeconfig=as_account(bed, least, tmp_path))
    assert (outcome.code, outcome.causes[:1]) == (1, ["kubernetes.rbac_forbidden"])
    assert f"You may not get pods/log in namespace {least}" in outcome.messages("KUB101", "fail")


def test_role_that_may_only_read_nodes_elsewhere(bed: Bed, least: str, tmp_path: Path) -> None:
    bed.kubectl("delete", "clusterrolebinding", "gonogo-quick")
    outcome = verify(bed, "-n", least, level="read", kubeconfig=as_account(bed, least, tmp_path))
    assert outcome.code in (1, 3)
    assert outcome.causes == ["kubernetes.rbac_forbidden"]
    assert not outcome.of("GPU101", "ok")


def test_token_that_is_not_accepted_is_one_line(bed: Bed, tmp_path: Path) -> None:
    outcome = verify(bed, kubeconfig=as_account(bed, "default", tmp_path, token="expired"))
    assert outcome.code == 2
    assert "does not accept these credentials" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


@pytest.mark.parametrize("server", ["https://127.0.0.1:1", "https://no-such-name.invalid:6443"])
def test_server_that_is_not_there_is_one_line(bed: Bed, tmp_path: Path, server: str) -> None:
    outcome = verify(bed, kubeconfig=as_account(bed, "default", tmp_path, token="x", server=server))
    assert outcome.code == 2
    assert "cannot be reached" in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert outcome.seconds < 30


def test_nodes_that_cost_more_than_they_may_are_left_alone(bed: Bed, tmp_path: Path) -> None:
    if not bed.ours:
        pytest.skip("only the test cluster's nodes have a price that is known here")
    outcome = verify(bed, "--max-cost", "1", "--bundle", str(tmp_path / "b"))
    assert (outcome.code, outcome.report, outcome.stderr.count("\n")) == (2, {}, 1)
    assert "--max-cost: the nodes cost $" in outcome.stderr and "$1.00 at most" in outcome.stderr
    assert left(bed) == "" and not (tmp_path / "b").exists()
    looked = verify(bed, "--max-cost", "1", level="read")
    assert looked.report["run"]["bound_dollars"] == 0
    assert looked.report["target"]["summary"].endswith("namespace default, 2 × p4d.24xlarge")
