"""A command fits the scheduler, the registry, the family and the call that the lines are of."""

from pathlib import Path

import pytest

from gonogo import registry
from gonogo.diagnose import diagnose

_QUOTA = (
    "VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 0 allows for the "
    "instance bucket that the specified instance type belongs to."
)
_FULL = "InsufficientInstanceCapacity: We currently do not have sufficient {} capacity in the Availability Zone you "
_ABSENT = (
    'Failed to pull image "{0}": rpc error: code = NotFound desc = failed to pull and unpack image "{0}": failed to '
    'resolve reference "{0}": {0}: not found'
)


@pytest.mark.parametrize(
    ("line", "cause", "command"),
    [
        (
            "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=123.0. Some of your processes may have been "
            "killed by the cgroup out-of-memory handler.",
            "pod.oom_killed",
            "sacct -j <job>",
        ),
        ("Memory cgroup out of memory: Killed process 991 (python)", "pod.oom_killed", "kubectl get pod <pod>"),
        (f"{_QUOTA} Launching g5.12xlarge", "quota.vcpu_limit", "--quota-code L-DB2E81BA"),
        (f"{_QUOTA} Launching p5.48xlarge", "quota.vcpu_limit", "--quota-code L-417A185B"),
        (_QUOTA, "quota.vcpu_limit", "aws service-quotas list-service-quotas"),
        (
            _FULL.format("g5.12xlarge") + "requested (us-east-1a).",
            "capacity.insufficient_instance_capacity",
            "--filters Name=instance-type,Values=g5.12xlarge",
        ),
        (
            _FULL.format("p5.48xlarge") + "requested (us-east-1a).",
            "capacity.insufficient_instance_capacity",
            "--instance-type p5.48xlarge",
        ),
        (_ABSENT.format("nvcr.io/nvidia/trainer:99.01"), "image.not_found", "docker manifest inspect nvcr.io/nvidia/"),
        (
            _ABSENT.format("111122223333.dkr.ecr.us-east-1.amazonaws.com/trainer:9"),
            "image.not_found",
            "aws ecr describe-images",
        ),
        (
            "botocore.exceptions.ClientError: An error occurred (AccessDenied) when calling the PutObject operation: "
            "Access Denied",
            "iam.missing_permission",
            "--action-names s3:PutObject",
        ),
        (
            "botocore.exceptions.ClientError: An error occurred (UnauthorizedOperation) when calling the RunInstances "
            "operation: You are not authorized to perform this operation. Encoded authorization failure message: 4fXo",
            "iam.missing_permission",
            "aws sts decode-authorization-message",
        ),
    ],
)
def test_command_fits(tmp_path: Path, line: str, cause: str, command: str) -> None:
    (tmp_path / "run.log").write_text(line + "\n", "utf-8")
    first = diagnose(tmp_path, registry=registry.load_causes_of("gonogo.facts.events")).diagnoses[0]
    assert first.cause == cause
    assert any(command in c for c in first.commands), first.commands
