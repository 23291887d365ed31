"""docs/ is what the tool prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from gonogo.docs import texts

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("name", sorted(texts()))
def test_docs_equal_what_the_code_says(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == texts()[name], "run: make docs"
