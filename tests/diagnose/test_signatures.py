"""Signatures are sound, used, and found through any prefix."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from gonogo.documents.blocks import Block
from gonogo.facts.events import Scan
from gonogo.facts.signatures import Role, SignatureError, catalogue, read

ROOT = Path(__file__).parents[2]
USERS = [
    *(
        f"facts/{name}.py"
        for name in ("idle_plugins", "news", "pools", "recovery", "slowing", "space", "unschedulable")
    ),
    "diagnose/coverage.py",
    "diagnose/findings.py",
]
SOURCES = "\n".join(
    path.read_text("utf-8")
    for path in [*(ROOT / "src/gonogo/causes").rglob("*.py"), *(ROOT / "src/gonogo" / user for user in USERS)]
)
LINE = (
    "[W1003 09:15:02.502 socket.cpp:752] [c10d] The client socket has timed out after 60s while trying to "
    "connect to (10.0.21.17, 29500)."
)


def events(text: str, file: str = "x.log"):
    scan = Scan()
    scan.open(file)
    scan.feed(Block(text.encode(), 1))
    return scan.events()


@pytest.mark.parametrize("signature", catalogue().signatures, ids=lambda s: s.id)
def test_a_signature_is_used_and_says_where_it_is_from(signature) -> None:
    assert re.match(r"https://\S+$", signature.source)
    assert signature.meaning.endswith((".", "!")) and len(signature.meaning) > 15
    if signature.role in (Role.INITIATING, Role.CONTEXT):
        assert f'"{signature.id}"' in SOURCES, "no cause uses it"


@pytest.mark.parametrize(
    "prefix",
    [
        "", "[1,0]<stdout>:", "[rank3]: ", "[pod/worker-1/main] ", "2026-01-01T00:00:00.5Z stderr F ",
        "\x1b[31m", "Jan 03 10:11:03 ip-10-0-1-2 kubelet[1]: ", "worker-1  | ",
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_a_line_is_found_behind_any_prefix(prefix: str, end: str) -> None:
    from io import BytesIO

    from gonogo.documents.blocks import blocks

    scan = Scan()
    scan.open("x.log")
    for block in blocks(BytesIO((prefix + LINE + end).encode())):
        scan.feed(block)
    (found,) = scan.events().of("c10d.connect_timeout")
    assert (found["port"], found["address"]) == ("29500", "10.0.21.17")


def test_json_lines_of_a_log_collector_are_unwrapped() -> None:
    text = (
        '{"log":"[W1003 09:15:02.502 socket.cpp:752] [c10d] The client socket has timed out after '
        '60s","kubernetes":{"pod_name":"w-1"}}\n'
    )
    (found,) = events(text).of("c10d.connect_timeout")
    assert found.who.pod == "w-1"


def test_who_and_when_are_read_off_the_line() -> None:
    found = events("[rank11]:[E1119 12:40:10.113311000 ProcessGroupNCCL.cpp:616] [Rank 11] " + LINE + "\n").first
    assert found.who.rank == 11
    assert str(found.when) == "12:40:10"


def test_repeats_are_counted_and_not_kept() -> None:
    found = events((LINE + "\n") * 50_000)
    assert found.counts["c10d.connect_timeout"] == 50_000
    assert len(found) == 1


@pytest.mark.parametrize("name", ["aws", "gloo_horovod_mpi", "kubernetes", "nccl", "node", "torch"])
def test_all_patterns_compile_and_have_the_captures_that_types_name(name: str) -> None:
    text = (files("gonogo.data") / "signatures" / f"{name}.toml").read_text("utf-8")
    assert read(name, text)


def test_an_error_in_a_signature_file_names_it() -> None:
    with pytest.raises(SignatureError, match=r"a\.toml: x\.y: unknown key colour"):
        read(
            "a.toml",
            '[[signature]]\nid="x.y"\nanchors=["abcd"]\nrole="cascade"\nmeaning="m"\nsource="s"\ncolour="red"\n',
        )
    with pytest.raises(SignatureError, match="anchors must be texts"):
        read("a.toml", '[[signature]]\nid="x.y"\nanchors=["a"]\nrole="cascade"\nmeaning="m"\nsource="s"\n')
    with pytest.raises(SignatureError, match="types names a capture"):
        read(
            "a.toml",
            '[[signature]]\nid="x.y"\nanchors=["abcd"]\nrole="cascade"\nmeaning="m"\nsource="s"\ntypes={port="int"}\n',
        )
