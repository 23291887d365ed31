"""A real cluster for tests: the testbed, or the context in $GONOGO_TEST_CONTEXT."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import testbed

CI = os.environ.get("CI") == "true"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that need the cluster for themselves come last: other workers are through with theirs by then."""
    here = [item for item in items if "/tests/testbed/" in str(item.path)]
    for item in here:
        item.add_marker(pytest.mark.testbed)
    places = [place for place, item in enumerate(items) if item in here]
    for place, item in zip(places, sorted(here, key=_is_alone), strict=True):
        items[place] = item


def _is_alone(item: pytest.Item) -> bool:
    return "alone" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this run's, the same for all its workers."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def bed(shared: Path) -> Iterator[testbed.Bed]:
    """Two nodes that are up, with this Python as an image."""
    if lent := testbed.lent():
        yield lent
        return
    missing = "the test cluster's program is not there" if not testbed.TOOL.exists() else ""
    missing = missing or ("" if os.geteuid() == 0 else "the test cluster needs root")
    if missing and CI:
        pytest.fail(missing)
    if missing or not shutil.which("ldd"):
        pytest.skip(missing or "ldd is not there")
    with (shared / "cluster").open("a+") as made, (shared / "cluster-users").open("w") as users:
        fcntl.flock(made, fcntl.LOCK_EX)
        fcntl.flock(users, fcntl.LOCK_SH)
        made.seek(0)
        if made.read():  # by another worker, which waits for us before it takes it away
            fcntl.flock(made, fcntl.LOCK_UN)
            yield testbed.bed()
            return
        with Path(tempfile.gettempdir(), "gonogo-test-cluster.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # there is one on a machine, and tests break it
            had = testbed.is_up()
            cluster = testbed.up(2)
            if not had or not testbed.has_image(cluster):
                testbed.image()
            print("made", file=made, flush=True)
            fcntl.flock(made, fcntl.LOCK_UN)
            yield cluster
            fcntl.flock(made, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_EX)
            made.truncate(0)
            if not had:
                testbed.tool("down")


@pytest.fixture
def alone() -> None:
    """For tests that break the cluster, or show a fault to whoever looks at all of it: no other test runs meanwhile."""


@pytest.fixture(autouse=True)
def turn(request: pytest.FixtureRequest, bed: testbed.Bed, shared: Path) -> Iterator[None]:
    """Wait for the one that is alone, or, to be alone, for all others."""
    with (shared / "cluster-turn").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if "alone" in request.fixturenames else fcntl.LOCK_SH)
        yield
