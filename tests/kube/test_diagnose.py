"""`gonogo diagnose` of a cluster as its users meet it: over HTTP, by a kubeconfig, to an exit code."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2 as httpx
import pytest
from kube_api import EVENTS, JOBS, NODES, Api, world

from gonogo.cli.app import run


class Server(ThreadingHTTPServer):
    """An Api on a port of this machine."""

    api: Api


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        answer = self.server.api.answer(httpx.Request("GET", f"http://api{self.path}"))
        self.send_response(answer.status_code)
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def api() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Answers) as server:
        server.api = world()
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def kubeconfig(folder: Path, port: int) -> str:
    path = folder / "kubeconfig"
    path.write_text(json.dumps({
        "current-context": "my-eks",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "contexts": [{"name": "my-eks", "context": {"cluster": "c", "user": "u", "namespace": "ml"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }))  # fmt: skip
    return str(path)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state/gonogo"


def test_the_cause_the_bundle_and_the_same_again(
    api: Server, tmp_path: Path, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--kubeconfig", kubeconfig(tmp_path, api.server_port)]
    assert run(["diagnose", "--context", "my-eks", *where, "job/train", "-o", "json"]) == 1
    told = capsys.readouterr()
    report = json.loads(told.out)
    assert (report["verdict"], report["diagnoses"][0]["cause"]) == ("fault", "pod.user_code_error")
    assert report["target"]["name"] == "job/train"
    (bundle,) = state.iterdir()
    assert f"bundle {bundle}" in told.err.splitlines()
    assert run(["diagnose", str(bundle), "-o", "json"]) == 1
    again = json.loads(capsys.readouterr().out)
    assert [again[key] for key in ("verdict", "diagnoses", "findings", "coverage", "target")] == [
        report[key] for key in ("verdict", "diagnoses", "findings", "coverage", "target")
    ]


def test_denied_is_said_and_not_green(
    api: Server, tmp_path: Path, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api.api.denied = {NODES, EVENTS}
    api.api.lists[JOBS][0]["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    api.api.logs = {"train-abc/main": "2026-11-30T10:00:00.000000000Z step 10 loss 0.1\n"}
    for pods in (items for path, items in api.api.lists.items() if path.endswith("/pods")):
        pods[0]["status"] = {"phase": "Succeeded", "containerStatuses": [
            {"name": "main", "state": {"terminated": {"exitCode": 0}}}]}  # fmt: skip
    words = ["diagnose", "--kubeconfig", kubeconfig(tmp_path, api.server_port), "job/train"]
    assert run(words) == 3
    told = capsys.readouterr()
    assert "You may not list nodes: whether the nodes are ready" in told.err
    assert "You may not list events in namespace ml" in told.err
    assert told.out.split("\n")[2].startswith("undecided")
    api.api.denied = set()
    assert run(words) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--context my-esk job/train", "did you mean 'my-eks'?"),
        ("--context my-eks job/trian", 'Did you mean "train"?'),
        ("--context my-eks -n ml train", "expected KIND/NAME such as job/train"),
        ("--context my-eks job/train --since 1", "expected a duration such as 30s or 5m"),
        ("--context my-eks job/train --bundle /", "the folder isn't empty"),
        ("--context my-eks job/train --selector a=b", "--selector"),
    ],
)
def test_wrong_usage_is_one_line_and_leaves_nothing(
    api: Server, tmp_path: Path, state: Path, capsys: pytest.CaptureFixture[str], words: str, said: str
) -> None:
    assert run(["diagnose", "--kubeconfig", kubeconfig(tmp_path, api.server_port), *words.split()]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1
    assert not state.exists() or not list(state.iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [("job/train", "add --context for one of a cluster"), ("logs --since 1h", "--since is for a job of a cluster")],
)
def test_without_a_cluster(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", *words.split()]) == 2
    assert said in capsys.readouterr().err


def test_a_token_that_expired_and_an_api_that_is_away(
    api: Server, tmp_path: Path, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api.api.codes = {JOBS: 401}
    assert run(["diagnose", "--kubeconfig", kubeconfig(tmp_path, api.server_port), "job/train"]) == 2
    err = capsys.readouterr().err
    assert "does not accept these credentials: expired" in err and err.count("\n") == 1
    assert run(["diagnose", "--kubeconfig", kubeconfig(tmp_path, 1), "job/train"]) == 2
    err = capsys.readouterr().err
    assert "cannot be reached" in err and err.count("\n") == 1
