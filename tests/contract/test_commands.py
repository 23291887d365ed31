"""What stands under `run` is for a shell: a program first, and a clear <placeholder> for what nobody knows."""

import ast
import re
from pathlib import Path

import pytest

import gonogo

CAUSES = Path(gonogo.__file__).parent / "causes"
PROGRAMS = set(
    re.findall(
        r"\S+",
        """apt-get arping aws cat chronyc curl dcgmi df dmesg docker eksctl env ethtool export fi_info find findmnt fio
        free fuser getent gonogo grep helm hostnamectl ip iptables iptables-save journalctl kill kubectl ldconfig ls
        lsmod lspci modprobe mount nc nft nproc nvidia-ctk nvidia-smi pip ps py-spy python python3 ray sacctmgr scontrol
        sinfo ss stat sysctl systemctl tc tracepath ulimit unset uptime""",
    )
)
WORDS = "NODE|POD|ID|NAME|CLUSTER|GROUP|IMAGE|TYPE|PATH|PID|HOST|ROLE|VPC|SUBNET|REGION|ACCOUNT|INTERFACE|DEVICE|PORT"
A_PLACEHOLDER = re.compile(rf"(?<![\w$./%'\"{{(:=,-])(?:[A-Z]{{2,}}_)?(?:{WORDS})\b(?!=)")


def commands():
    for file in sorted(CAUSES.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "commands":
                value = node.value
                for item in value.elts if isinstance(value, ast.Tuple | ast.List) else ():
                    if text := leading(item):
                        yield pytest.param(text, id=f"{file.stem}:{item.lineno}")


def leading(item):
    if isinstance(item, ast.Constant):
        return item.value
    if isinstance(item, ast.JoinedStr):
        return "".join(p.value if isinstance(p, ast.Constant) else "x" for p in item.values)
    return ""


@pytest.mark.parametrize("text", [*commands()])
def test_a_command_is_one_that_a_shell_runs(text):
    first = text.split()[0].rstrip(";")
    assert first in PROGRAMS or first == "x", text
    assert "…" not in text and "..." not in text, text
    assert not A_PLACEHOLDER.search(text.partition("  # ")[0]), text
