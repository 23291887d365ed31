"""Choosing checks by id, area and glob."""

from __future__ import annotations

import pytest
from toys import registry

from gonogo.errors import InputError
from gonogo.selection import Selection, reselect, select


def ids(selection: Selection) -> list[str]:
    return [check.id for check in selection.checks]


@pytest.mark.parametrize(
    ("only", "skip", "expected"),
    [
        ((), (), ["KUB001", "LNK001", "NET001"]),
        (("NET001",), (), ["NET001"]),
        (("net001",), (), ["NET001"]),
        (("network",), (), ["NET001"]),
        (("NET",), (), ["NET001"]),
        (("lnk,net",), (), ["LNK001", "NET001"]),
        (("link,network",), (), ["LNK001", "NET001"]),
        (("link", "kubernetes"), (), ["KUB001", "LNK001"]),
        (("*001",), ("KUB*",), ["LNK001", "NET001"]),
        (("k*",), (), ["KUB001"]),
        ((), ("network=known", "LNK001"), ["KUB001"]),
    ],
)
def test_words_choose(only: tuple[str, ...], skip: tuple[str, ...], expected: list[str]) -> None:
    assert ids(select(registry(), only, skip)) == expected


def test_reasons_are_kept_and_the_rest_is_named() -> None:
    chosen = select(registry(), ("network", "link"), ("LNK001=noisy=switch", "KUB001=never chosen"))
    assert chosen.skipped == {"LNK001": "noisy=switch"}
    assert chosen.not_asked == ("KUB001",)


@pytest.mark.parametrize(
    ("only", "skip", "text"),
    [
        (("NET01",), (), 'Did you mean "NET001"?'),
        (("networks",), (), 'Did you mean "network"?'),
        ((), ("x*=why",), '--skip: no check, area or glob matches "x*"'),
        (("mpi",), (), "no checks in area mpi yet"),
        (("network",), ("network",), "No check is left"),
        (("\x1b[2J",), (), '"\\x1b[2J"'),
    ],
)
def test_what_chooses_nothing_is_an_error(only: tuple[str, ...], skip: tuple[str, ...], text: str) -> None:
    with pytest.raises(InputError) as error:
        select(registry(), only, skip)
    assert text in str(error.value)


def test_a_recorded_choice_is_made_again() -> None:
    run = {"checks": ["NET001", "OLD123"], "skipped": {"LNK001": "noisy"}}
    again = reselect(registry(), run)
    assert (ids(again), again.skipped, again.not_asked) == (["NET001"], {"LNK001": "noisy"}, ("KUB001",))
    assert ids(reselect(registry(), {})) == ["KUB001", "LNK001", "NET001"]
    with pytest.raises(InputError, match="no check that this version has"):
        reselect(registry(), {"checks": ["OLD123"]})
