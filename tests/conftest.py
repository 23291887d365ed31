"""What holds for all tests: what they need of the machine, and how they make up examples."""

from __future__ import annotations

import functools
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from gonogo.launch import fabric

# Machines are shared: the time of one example says nothing. In CI the same examples run every time.
settings.register_profile("gonogo", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("gonogo")


TOGETHER = ("tests/testbed/test_diagnose.py", "tests/testbed/", "tests/cli/test_verify.py")
"""One worker has all of each: a run of agents takes all nodes of the test cluster, beside which there is room for jobs
that fail; and a run that many tests look at is made once."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """All other tests go to whichever worker is free, one by one."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((group for group in TOGETHER if nodeid.startswith(group)), nodeid)

    return Scheduling(config, log)


PROCESSES = tuple(
    f"tests/{name}" for name in ("agent", "cli", "collect", "faults", "kube", "launch", "test_", "testbed")
)
"""Where real processes talk to each other, on a machine full of others that may disturb them once."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What fails twice is no chance, and what failed once is listed; how often that is, the soak counts by itself."""
    for item in items:
        if item.nodeid.startswith(PROCESSES) and not any(item.iter_markers("soak")):
            item.add_marker(pytest.mark.flaky(reruns=1))


def missing(reason: str) -> None:
    """Skip for this reason, or fail in CI, where everything must be there."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@functools.cache
def _why_no_fabric() -> str:
    kind = "namespaces" if os.geteuid() == 0 else "user-namespaces"
    if why := fabric.why_not(kind, fabric.Shape()):
        return f"no network namespaces: {why}"
    absent = [program for program in ("iptables", "tc") if not shutil.which(program)]
    return f"not installed: {', '.join(absent)}" if absent else ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """`fabric` needs namespaces, and its arguments name what else: to be "root", the library "faketime"."""
    for marker in item.iter_markers("fabric"):
        if "root" in marker.args and os.geteuid() != 0:
            missing("needs root")
        if "faketime" in marker.args and not any(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")):
            missing("not installed: libfaketime")
        if why := _why_no_fabric():
            missing(why)
