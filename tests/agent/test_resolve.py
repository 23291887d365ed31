"""Names are resolved beside the agent, and a resolver that hangs costs no more than its limit."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from gonogo.agent import resolve
from gonogo.agent.resolve import Resolved, Resolver


def ask(names: list[str], patience: float, limit: float) -> list[Resolved]:
    async def all_of() -> list[Resolved]:
        resolver = Resolver(names, patience, limit)
        try:
            return [await resolver.of(name) for name in names]
        finally:
            resolver.close()

    return asyncio.run(all_of())


def children() -> set[str]:
    """Of this process, zombies among them."""
    return {pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


def test_addresses_need_no_resolver_and_names_get_their_addresses() -> None:
    v4, v6, name = ask(["127.9.9.9", "::1", "localhost"], 0.0, 10.0)
    assert (v4.address, v6.address) == ("127.9.9.9", "::1")
    assert name.address in ("127.0.0.1", "::1") and name.error == ""


def test_an_unknown_name_has_the_resolvers_text() -> None:
    (unknown,) = ask(["no-such-name.invalid"], 0.0, 10.0)
    assert unknown.address == "" and unknown.error


@pytest.mark.parametrize("name", ["", "a" * 300, "with space", "\udcff"])
def test_what_is_no_name_is_an_error_and_no_crash(name: str) -> None:
    (odd,) = ask([name], 0.0, 10.0)
    assert isinstance(odd, Resolved)


def test_a_resolver_that_hangs_is_given_up_and_its_child_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def lookup(name: str) -> tuple[list[str], str]:
        if name == "stuck":
            time.sleep(60)
        return ["10.0.0.1"], ""

    monkeypatch.setattr(resolve, "lookup", lookup)
    started, before = time.monotonic(), children()
    stuck, fine = ask(["stuck", "fine"], 0.0, 1.0)
    assert time.monotonic() - started < 30
    assert "no answer" in stuck.error and fine.address == "10.0.0.1"
    assert children() <= before


def test_a_name_that_appears_later_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def lookup(name: str) -> tuple[list[str], str]:
        calls.append(name)
        return (["10.0.0.2"], "") if len(calls) > 2 else ([], "Name or service not known (error -2)")

    monkeypatch.setattr(resolve, "lookup", lookup)
    (late,) = ask(["late"], 30.0, 40.0)
    assert late.address == "10.0.0.2" and late.seconds >= 2 * resolve.RETRY_SECONDS


def test_a_resolver_that_is_down_is_not_waited_for_as_long_as_a_name_that_may_appear(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    down, unknown = "Temporary failure in name resolution (error -3)", "Name or service not known (error -2)"
    monkeypatch.setattr(resolve, "DOWN_SECONDS", 1.0)
    monkeypatch.setattr(resolve, "lookup", lambda name: ([], down if name == "down" else unknown))
    one, other = ask(["down", "unknown"], 5.0, 20.0)
    assert (one.error, other.error) == (down, unknown)
    assert 1.0 < one.seconds < 4.0 < other.seconds
