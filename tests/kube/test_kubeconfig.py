"""Kubeconfig files as kubectl reads them, and one line for whatever is wrong with them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import httpx2 as httpx
import pytest
from lightkube.config.models import UserExec

from gonogo.clients import kubeconfig
from gonogo.clients.kubeconfig import CredentialsError, ExecAuth

ONE = {
    "current-context": "a",
    "clusters": [{"name": "c", "cluster": {"server": "https://one", "certificate-authority": "ca.crt"}}],
    "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u", "namespace": "train"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
}


def write(path: Path, data: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


def test_files_are_merged_and_the_first_word_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = write(tmp_path / "x/one", ONE)
    other = {**ONE, "current-context": "b", "contexts": [
        {"name": "a", "context": {"cluster": "c", "user": "u", "namespace": "other"}},
        {"name": "b", "context": {"cluster": "c", "user": "u"}}]}  # fmt: skip
    two = write(tmp_path / "y/two", other)
    monkeypatch.setenv("KUBECONFIG", f"{one}:{two}:{tmp_path}/absent")
    single, proxy = kubeconfig.load()
    assert (single.context_name, single.namespace, proxy) == ("a", "train", None)
    assert single.cluster.certificate_auth == str(tmp_path / "x/ca.crt")
    assert kubeconfig.load("b")[0].context_name == "b"


def test_context_that_is_not_there_names_the_nearest(tmp_path: Path) -> None:
    path = write(tmp_path / "k", {**ONE, "contexts": [{"name": "vision", "context": {"cluster": "c"}}]})
    with pytest.raises(CredentialsError, match="did you mean 'vision'"):
        kubeconfig.load("vsion", str(path))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "a: b", "{", "\x00\x01", "clusters: 3", "clusters: [{name: c}]\ncontexts: []", "contexts: [x]",
     "contexts: [{name: [a]}]", "current-context: [a]", "[" * 5000, "#" * (kubeconfig.BYTES_MAX + 1),
     "clusters: [{name: c, cluster: {server: 3}}]\ncontexts: [{name: a, context: {cluster: c}}]\ncurrent-context: a"],
)  # fmt: skip
def test_files_that_are_no_kubeconfig_are_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "k"
    path.write_text(text)
    with pytest.raises(CredentialsError) as caught:
        kubeconfig.load("", str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [("/dev/zero", "not a file"), ("/tmp", "not a file"), ("/nowhere", "does not exist"), ("/\0", "cannot be read")],
)
def test_what_is_no_file_is_one_line_and_never_another_way_to_a_cluster(name: str, words: str) -> None:
    with pytest.raises(CredentialsError, match=words):
        kubeconfig.load("", name)


def plugin(code: str, version: str = "v1") -> ExecAuth:
    api = f"client.authentication.k8s.io/{version}"
    return ExecAuth(UserExec(apiVersion=api, command=sys.executable, args=["-c", code]))


def asked(auth: ExecAuth, *codes: int) -> list[str]:
    tokens: list[str] = []
    answers = iter(codes)

    def answer(request: httpx.Request) -> httpx.Response:
        tokens.append(request.headers["authorization"])
        return httpx.Response(next(answers))

    client = httpx.Client(transport=httpx.MockTransport(answer), auth=auth, base_url="https://x")
    for _ in range(len(codes) - codes.count(401)):
        client.get("/")
    return tokens


PRINT = (
    "import json,os,time;asked=json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
    "print(json.dumps({'status':{'token':asked['apiVersion'][-2:]+str(time.time_ns()),'expirationTimestamp':%r}}))"
)


def test_plugin_is_asked_once_until_its_token_expires_or_is_refused() -> None:
    kept = asked(plugin(PRINT % "2099-01-01T00:00:00Z"), 200, 200)
    assert kept[0] == kept[1] and kept[0].startswith("Bearer v1")
    short = asked(plugin(PRINT % "2001-01-01T00:00:00Z"), 200, 200)
    assert short[0] != short[1]
    refused = asked(plugin(PRINT % "2099-01-01T00:00:00Z"), 401, 200)
    assert refused[0] != refused[1]


@pytest.mark.parametrize(
    ("auth", "words"),
    [
        (plugin("import sys; sys.exit('no session: run aws sso login')"), "no session: run aws sso login"),
        (plugin("import sys; sys.exit('no use of token=hunter2')"), "no use of token=[redacted]"),
        (plugin("print('hello')"), "no token"),
        (plugin("", "v9"), "speaks client.authentication.k8s.io/v9"),
        (ExecAuth(UserExec(apiVersion=kubeconfig.EXEC_VERSIONS[0], command="/no/such")), "is not there"),
    ],
)
def test_plugin_that_fails_is_one_line(auth: ExecAuth, words: str) -> None:
    with pytest.raises(CredentialsError) as caught:
        asked(auth, 200)
    assert words in str(caught.value) and "\n" not in str(caught.value)
