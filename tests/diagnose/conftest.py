"""What tests of diagnose share."""

import os
from collections.abc import Callable

import pytest


@pytest.fixture
def need() -> Callable[[str], None]:
    """Skip for a reason, or fail in CI, where everything must be there."""

    def missing(reason: str) -> None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)

    return missing
