"""What a reader of a diagnosis pastes and believes: filled commands, one clock, one fault said once."""

import io

import pytest

from gonogo.diagnose import diagnose
from gonogo.registry import load

ECR = "123456789012.dkr.ecr.us-west-2.amazonaws.com/llm/train:v9"


def of(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.log").write_text(text)
    return diagnose(folder, registry=load(), stdin=io.BytesIO())


def test_commands_have_the_values_that_the_evidence_names(tmp_path):
    report = of(
        tmp_path,
        events="2m  Normal   Scheduled  pod/train-0  Successfully assigned ml/train-0 to ip-10-0-3-21.ec2.internal\n"
        f'2m  Warning  Failed  pod/train-0  Failed to pull image "{ECR}": unexpected status from HEAD request to '
        f"https://{ECR.split('/')[0]}/v2/llm/train/manifests/v9: 403 Forbidden\n",
    )
    assert report.diagnoses[0].commands == (
        "aws ecr get-repository-policy --region us-west-2 --registry-id 123456789012 --repository-name llm/train",
    )


def test_what_is_not_known_is_a_placeholder(tmp_path):
    report = of(
        tmp_path, asg="InsufficientInstanceCapacity - We currently do not have sufficient p5.48xlarge capacity\n"
    )
    (command,) = report.diagnoses[0].commands
    assert "--instance-type p5.48xlarge --instance-count <count>" in command and "--region" not in command


def test_a_name_that_a_shell_would_run_is_not_put_into_a_command(tmp_path):
    report = of(tmp_path, e='Failed to pull image "x.io/a;reboot": not found: manifest unknown\n')
    assert not any("reboot" in command for d in report.diagnoses for command in d.commands)


@pytest.mark.parametrize(
    ("reasons", "cause"),
    [
        ("1 node(s) had untolerated taint {CriticalAddonsOnly: true}, 8 Insufficient vpc.amazonaws.com/efa", "insuff"),
        ("2 node(s) had untolerated taint {eks.amazonaws.com/compute-type: fargate}, 7 Insufficient memory", "insuff"),
        ("4 node(s) had untolerated taint {nvidia.com/gpu: present}, 5 Insufficient nvidia.com/gpu", "missing"),
        ("9 node(s) had untolerated taint {team: a}", "missing"),
    ],
)
def test_a_taint_of_a_few_does_not_outweigh_what_the_others_lack(tmp_path, reasons, cause):
    report = of(tmp_path, e=f"1m  Warning  FailedScheduling  pod/t-0  0/9 nodes are available: {reasons}.\n")
    assert report.diagnoses[0].cause.startswith(f"scheduling.{cause}")


WATCHDOG = (
    "[rank{r}]:[E1112 09:10:00.118 ProcessGroupNCCL.cpp:616] [Rank {r}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=1402, OpType={op}, NumelIn={n}, NumelOut={n}, Timeout(ms)=600000) ran for 600071 milliseconds\n"
)


def test_ranks_that_called_apart_are_named_with_their_calls_and_nobody_was_first(tmp_path):
    calls = {0: ("ALLREDUCE", 8), 1: ("ALLREDUCE", 8), 2: ("_ALLGATHER_BASE", 1)}
    report = of(tmp_path, **{f"rank{r}": WATCHDOG.format(r=r, op=op, n=n) for r, (op, n) in calls.items()})
    told = "At call 1402 rank 2 called _ALLGATHER_BASE (1) and ranks 0, 1 called ALLREDUCE (8)."
    assert report.diagnoses[0].summary == told
    moves = [c.text for c in report.coverage.proven[1:]]
    assert len(moves) == 1 and "2 others, at the same time" in moves[0]


def test_an_exception_takes_the_time_before_its_traceback_and_one_clock_orders_all(tmp_path):
    report = of(
        tmp_path,
        rank0=WATCHDOG.format(r=0, op="ALLREDUCE", n=8),
        rank1="2026-11-12 09:00:05 ERROR\nTraceback (most recent call last):\n"
        '  File "/workspace/train.py", line 50, in step\n    out = model(x)\nRuntimeError: mat1 and mat2 differ\n',
    )
    first = report.coverage.proven[1].text
    assert first == "First mover: rank 1 on rank1 at 2026-11-12 09:00:05, 595.1 s before rank 0 on rank0"


def test_a_script_without_its_first_line_is_no_image_for_another_cpu(tmp_path):
    assert of(tmp_path, e="exec /opt/train.sh: exec format error\n").diagnoses[0].cause == "pod.command_not_found"
    assert of(tmp_path, e="exec /usr/bin/python3: exec format error\n").diagnoses[0].cause == "image.wrong_architecture"


def test_what_to_collect_next_follows_from_what_is_left(tmp_path):
    report = of(tmp_path, e="Warning  FailedCreatePodSandBox  pod/t-5  failed to assign an IP address to container\n")
    wishes = " ".join(c.reason for c in report.coverage.not_proven if c.text == "collect next")
    assert "describe-subnets" in wishes and "aws-node" in wishes and "nvidia-smi" not in wishes
