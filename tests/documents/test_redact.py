"""Secrets in the shapes that they really have are gone, and what repairs need is still there."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.documents import redact as patterns
from gonogo.documents.redact import REDACTED, line_redactor, redact

KEY = b"""-----BEGIN RSA PRIVATE KEY-----
MIIEowIBAAKCAQEAx0examplebodyofakeyx0examplebodyofakeyx0examplebod
x0examplebodyofakeyx0examplebodyofakey==
-----END RSA PRIVATE KEY-----"""

SECRETS = {
    "environment": (b"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCY", b"wJalrXUtnFEMI"),
    "environment as JSON": (b'{"WANDB_API_KEY":"0123456789abcdef0123456789abcdef01234567"}', b"0123456789abcdef"),
    "environment of a pod": (b'{"name": "DB_PASSWORD", "value": "two words"}', b"two words"),
    "environment of a pod as YAML": (b"- name: HF_TOKEN\n  value: plainvalue1\n", b"plainvalue1"),
    "JSON inside JSON": (json.dumps({"text": json.dumps({"password": "hunter2!"})}).encode(), b"hunter2"),
    "access key id": (b"signed by AKIAIOSFODNN7EXAMPLE for s3", b"AKIAIOSFODNN7EXAMPLE"),
    "session token": (b"aws_session_token = IQoJb3JpZ2luX2VjEXAMPLE//////////w==", b"IQoJb3JpZ2lu"),
    "bearer": (b"Authorization: Bearer abcDEF123.456-789_xyz", b"abcDEF123"),
    "basic": (b'"Authorization": "Basic dXNlcjpwYXNzd29yZA=="', b"dXNlcjpwYXNz"),
    "web token": (b"got eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJpc3MiOiJrdWJlIn0.c2lnbmF0dXJl from", b"c2lnbmF0dXJl"),
    "registry": (b'{"auths":{"r.example":{"auth":"QVdTOmV5SndZWGxz"}}}', b"QVdTOmV5SndZWGxz"),
    "URL": (b"cloning https://me:s3cr3t@git.example/x.git", b"s3cr3t"),
    "presigned URL": (b"GET /k?X-Amz-Signature=fe5f80f77d5fa3beca03&X-Amz-Date=2026", b"fe5f80f77d5f"),
    "hub token": (b"token is hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", b"hf_abcdefg"),
    "forge token": (b"ghp_abcdefghijklmnopqrstuvwxyz0123456789", b"ghp_abc"),
    "flag": (b"python train.py --api-key 12345678abc --lr 0.1", b"12345678abc"),
    "kubeconfig": (b"    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURQ==\n    namespace: a", b"LS0tLS1CRUdJ"),
    "private key": (b"x\n" + KEY + b"\ny", b"examplebody"),
    "private key in JSON": (json.dumps({"key": KEY.decode()}).encode(), b"examplebody"),
    "private key, cut off": (KEY[:90], b"examplebody"),
    "Secret": (b"kind: Secret\ndata:\n  user: YWRtaW4xMjM=\n  cert: eHh4\nmetadata:\n  name: n\n", b"YWRtaW4x"),
    "Secret as JSON": (b'{"kind": "Secret", "data": {"user": "YWRtaW4xMjM="}}', b"YWRtaW4x"),
    "token alone in a URL": (b"fatal: https://s3cr3ttoken@git.example/x.git", b"s3cr3t"),
    "password with / in a URL": (b"postgres://me:s3/cr3t@db:5432/x", b"cr3t"),
    "password with / and @ in a URL": (b"postgres://me:s3/cr@3t@db:5432/x", b"3t@"),
    "password without a user in a URL": (b"redis://:s3cr3t@cache:6379/0", b"s3cr3t"),
    "curl -u": (b"curl -sS -u me:s3cr3t https://x", b"s3cr3t"),
    "curl --user": (b"curl --user 'me:s3cr3t' https://x", b"s3cr3t"),
    "curl as a list": (b'["curl", "-u", "me:s3cr3t", "https://x"]', b"s3cr3t"),
    "sshpass": (b"sshpass -p s3cr3t ssh node1", b"s3cr3t"),
    "sshpass, attached": (b"sshpass -ps3cr3t ssh node1", b"s3cr3t"),
    "mysql -p": (b"mysql -h db -ps3cr3t x", b"s3cr3t"),
    "docker login": (b"docker login -u me -p s3cr3t r.example", b"s3cr3t"),
    "redis-cli": (b"redis-cli -h cache -a s3cr3t ping", b"s3cr3t"),
    "wandb login": (b"wandb login --relogin 0123456789abcdef0123456789abcdef01234567", b"456789abcdef"),
    "DB_PASS": (b"DB_PASS=s3cr3t", b"s3cr3t"),
    "DB_PASS of a pod": (b'{"name": "DB_PASS", "value": "s3cr3t"}', b"s3cr3t"),
    "smtp_pass": (b'{"smtp_pass": "s3cr3t"}', b"s3cr3t"),
    "MYSQL_PWD": (b"export MYSQL_PWD=s3cr3t", b"s3cr3t"),
    "MASTER_KEY": (b"MASTER_KEY=s3cr3t", b"s3cr3t"),
    "ENCRYPTION_KEY": (b"ENCRYPTION_KEY: s3cr3t", b"s3cr3t"),
    "wandb_key": (b"Namespace(lr=0.1, wandb_key='s3cr3t')", b"s3cr3t"),
    "REDIS_AUTH": (b"REDIS_AUTH=s3cr3t", b"s3cr3t"),
    "MINIO_CREDS": (b"MINIO_CREDS=s3cr3t", b"s3cr3t"),
    "AZURE_STORAGE_KEY": (b'{"name": "AZURE_STORAGE_KEY", "value": "s3cr3t"}', b"s3cr3t"),
    "netrc": (b"machine api.example login user password s3cr3t", b"s3cr3t"),
    "netrc in lines": (b"machine api.example\n  login user\n  password s3cr3t\n", b"s3cr3t"),
    "flag in a list": (b'{"args": ["train.py", "--hf-token", "s3cr3t", "--lr", "0.1"]}', b"s3cr3t"),
    "flag in a list, JSON inside JSON": (json.dumps({"a": json.dumps(["--api-key", "s3cr3t"])}).encode(), b"s3cr3t"),
    "flag in a list in lines": (b'{"args": [\n  "--hf-token",\n  "s3cr3t"\n]}', b"s3cr3t"),
    "flag in a list as YAML": (b"args:\n- --hf-token\n- s3cr3t\n- --lr\n", b"s3cr3t"),
    "flag in a list as YAML, quoted": (b'args:\n  - "--hf-token"\n  - "s3cr3t"\n', b"s3cr3t"),
    "block of YAML": (b"password: |\n  s3cr3t\n\n  s3cr3t too\nuser: me\n", b"s3cr3t"),
    "block of YAML in a list": (b"- user: me\n  password: >-\n    s3cr3t\n  port: 1\n", b"s3cr3t"),
    "block of a pod": (b"- name: HF_TOKEN\n  value: |\n    s3cr3t\n- name: b\n", b"s3cr3t"),
    "block in a Secret": (b"kind: Secret\nstringData:\n  a: |-\n    user=s3cr3t\n    s3cr3t\n  b: eHh4\n", b"s3cr3t"),
    "AccountKey": (b"AccountName=a;AccountKey=s3cr3tAAA==;EndpointSuffix=core.example", b"s3cr3t"),
    "shared access signature": (b"https://a.example/c?sv=2024&sig=s3cr3t%2Babc%3D&se=2026", b"s3cr3t"),
    "shared access signature alone": (b"with sig=s3cr3t%2Babc%3D", b"s3cr3t"),
    "cookie": (b"Cookie: theme=dark; session=s3cr3t", b"s3cr3t"),
    "cookie as JSON": (b'{"Set-Cookie": "session=s3cr3t"}', b"s3cr3t"),
    "Slack's webhook": (b"POST https://hooks.slack.com/services/T000/B000/s3cr3t failed", b"s3cr3t"),
    "Discord's webhook": (b"POST https://discord.com/api/webhooks/1234/s3cr3t", b"s3cr3t"),
    "Authorization: token": (b"Authorization: token s3cr3tABC", b"s3cr3t"),
    "Authorization without a scheme": (b'{"Authorization": "s3cr3tABCDEFGHIJKLMNOP"}', b"s3cr3t"),
    "signature of AWS": (
        b"Authorization: AWS4-HMAC-SHA256 Credential=x/20260101, SignedHeaders=host, Signature=s3cr3t", b"s3cr3t"
    ),
    "presigned URL, older": (b"GET /k?Expires=1&Signature=s3cr3t&x=1", b"s3cr3t"),
}  # fmt: skip

HARMLESS = [
    b'{"tokens_per_second": 1234.5, "v": 1}',
    b"secretName: regcred",
    b"automountServiceAccountToken: true",
    b"imagePullSecrets:\n- name: regcred",
    b'{"token": null, "password": ""}',
    b"sg-0a1b2c3d4e5f60718 i-0123456789abcdef0 arn:aws:iam::123456789012:role/train",
    b"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    b"10.0.2.17:29500 fe80::1 https://example.com/path?a=1",
    b"NCCL_SOCKET_IFNAME=eth0 MASTER_ADDR=node0",
    b'{"kind":"ConfigMap","data":{"user":"abc"}}',
    b"MASTER_ADDR=node0 MASTER_PORT=29500 NCCL_DEBUG=INFO NCCL_IB_PKEY=0 key=value NCCL_TOPO_KEY=value",
    b"docker-pullable://r.example/a:1.2@sha256:9f86d081884c7d65 docker-pullable://busybox:1.2@sha256:9f86d081",
    b"docker-pullable://busybox@sha256:9f86d081 oci://r.example/a@sha256:9f86d081",
    b'{"labels": {"app.kubernetes.io/name": "x", "training.example/replica-index": "0", "pass": "second"}}',
    b"--token-bucket 5 --tokenizer gpt2 --pass-through --cookie-jar /tmp/c",
    b"step 12 loss: 1.234567 forward_pass=0.31s backward_pass: 12.1ms 2nd-pass: ok PASS: test_a bypass=yes",
    b"http://10.0.0.1:8080/a?to=x@y.example ssh://git@git.example/x me@y.example:/data",
    b"git clone ssh://deploy-account@git.example/x",
    b"PWD=/workspace OLDPWD=/root WORK_PWD=/data",
    b"python -u train.py:3; docker run -u 1000:1000 -p 8080:80 a; ssh -p 2222 node1; mysql -h db -P 3306 -p x",
    b"curl -O http://10.0.0.1:8080/x; mkdir -p a:b; curl --retry 3 http://x:80",
    b"killed by sig=SIGTERM, sig=9; the signature=forward(x) differs",
    b"authorization: user is not allowed; Authorization: token required; cookie: none set",
    b'{"args": ["--token", "$(HF_TOKEN)", "--max-token", "512", "--need-token", "--lr"]}',
    b"args:\n- --token\n- $(HF_TOKEN)\n- --need-token\n- --lr\n- --password\nname: x",
    b"log: |\n  password\n  user: me\nb: 1\n",
    b"rbac.authorization.k8s.io/v1 primary_key=id cache_key=abc",
    b"wandb login is needed; wandb: Currently logged in as: me",
]


@pytest.mark.parametrize("shape", SECRETS)
def test_a_secret_is_gone(shape: str) -> None:
    text, secret = SECRETS[shape]
    clean = redact(text)
    assert secret in text
    assert secret not in clean
    assert REDACTED in clean
    assert redact(clean) == clean


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: bytes) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("shape", [s for s, (text, _) in SECRETS.items() if text.startswith(b"{")])
def test_json_stays_json(shape: str) -> None:
    assert json.loads(redact(SECRETS[shape][0])).keys() == json.loads(SECRETS[shape][0]).keys()


def test_what_follows_a_secret_on_its_line_stays() -> None:
    assert redact(b'{"password":"x1y2z3","node":"node0"}') == b'{"password":"[redacted]","node":"node0"}'
    assert redact(b"--token abcdefgh --nnodes 2") == b"--token [redacted] --nnodes 2"


def test_a_block_of_yaml_ends_where_it_ends() -> None:
    text = b"- password: |\n    s3cr3t\n  user: me\n- b\n"
    assert redact(text) == b"- password: |\n    [redacted]\n  user: me\n- b\n"
    text = b"kind: Secret\ndata:\n  a: |\n    k: v\n    w\n  b: eHh4\nmetadata:\n  name: n\n"
    clean = b'kind: Secret\ndata:\n  a: |\n    [redacted]\n    [redacted]\n  b: "[redacted]"\nmetadata:\n  name: n\n'
    assert redact(text) == clean


def test_a_key_that_comes_line_by_line_is_gone() -> None:
    line = line_redactor()
    clean = [line(part) for part in b"before\n%b\nafter".replace(b"%b", KEY).split(b"\n")]
    assert clean[0] == b"before"
    assert clean[-1] == b"after"
    assert not any(b"examplebody" in c for c in clean)


@given(st.binary(max_size=400))
def test_any_bytes_keep_their_lines_and_settle(data: bytes) -> None:
    clean = redact(data)
    assert redact(clean) == clean
    if b"PRIVATE KEY" not in data:
        assert clean.count(b"\n") == data.count(b"\n")


def test_a_long_line_takes_no_long_time() -> None:
    hostile = b"curl " * 50_000 + b"AWS4-" * 50_000 + b"cookie: a=b;" * 20_000 + b"mysql " * 50_000
    hostile += b"https://u:" * 50_000 + b"@" * 100_000 + b"authorization: token " * 20_000 + b"sig=" * 50_000
    hostile += b"a_" * 200_000 + b"password" * 50_000 + b"\\" * 100_000 + b"--" * 100_000
    assert redact(hostile)


def test_objects_cost_little() -> None:
    pod = b'{"kind":"Pod","metadata":{"labels":{"app.kubernetes.io/name":"x"}},"spec":{"containers":['
    pod += b'{"image":"a@sha256:9f","env":[{"name":"MASTER_ADDR","value":"node0"}]}]}}\n'
    pods = pod * 20_000
    begun = time.process_time()
    redact(pods)
    spent_seconds = time.process_time() - begun
    begun = time.process_time()
    plainly(pods)
    assert spent_seconds * 3 < time.process_time() - begun


def plainly(data: bytes) -> bytes:
    """The same with every pattern looking at all of the data."""
    if patterns._SECRET.search(data):
        data = patterns._kubernetes_secret(data)
    data = patterns._private_keys(data)
    for pattern in patterns._IN_LINES.values():
        data = pattern.sub(patterns._shown, data)
    return patterns._named(data)


PIECES = st.sampled_from(
    [*(part for text, _ in SECRETS.values() for part in (text, text.upper(), text[: len(text) // 2])), *HARMLESS,
     b"api_key_secret=", b"secret-key: ", b"TOKENpassword=", b"secretoken: abcdef", b"xpwd=1234567", b" pwd=a1b2c3d4",
     b"basicredential: ", b"--auth ", b".auth=", b'"', b" ", b"\n", b"=abcdefgh", b": 'x y'", b"@", b"://", b"a:b"]
)  # fmt: skip


@given(st.lists(PIECES | st.binary(max_size=8), max_size=8).map(b"".join))
def test_what_is_passed_over_for_want_of_a_word_holds_no_secret(data: bytes) -> None:
    assert redact(data) == plainly(data)
    found = [(m.span(), m[0]) for m in patterns._words(data)]
    assert found == [(m.span(), m[0]) for m in patterns._WORD.finditer(data)]
