"""What a run would use and cost is known before it starts, from the nodes' labels."""

from __future__ import annotations

import httpx2 as httpx
import pytest
from kube_world import node

from gonogo.clients.kube import METADATA, Cluster
from gonogo.collect.kube_fleet import UNSEEN, fleet, fleet_of
from gonogo.data.instances import instance_type
from gonogo.documents.kubernetes import Scope
from gonogo.errors import InputError
from gonogo.plan import Plan
from gonogo.target import Price
from gonogo.verify import _dollars

P4D, P5 = "p4d.24xlarge", "p5.48xlarge"


def usd(name: str) -> float:
    row = instance_type(name)
    assert row and row.usd_per_hour
    return row.usd_per_hour


def served(*nodes: tuple[str, str]) -> Cluster:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/api/v1/nodes" and request.headers["accept"] == METADATA
        items = [{"kind": "PartialObjectMetadata", "metadata": node(n, type=t)["metadata"]} for n, t in nodes]
        return httpx.Response(200, json={"items": items, "metadata": {}})

    return Cluster(httpx.Client(base_url="https://api", transport=httpx.MockTransport(answer)), "c", "default", 1)


def test_types_are_told_from_labels_and_those_without_accelerators_are_left_out() -> None:
    found = fleet(served(("a", P4D), ("b", P4D), ("c", "m7i.4xlarge")), Scope(), Plan())
    assert (found.nodes, str(found), found.unpriced) == (2, f"2 × {P4D}", ())
    assert found.dollars_per_hour == pytest.approx(2 * usd(P4D))


def test_of_fewer_than_there_are_the_dearest_count() -> None:
    found = fleet(served(("a", P4D), ("b", P5), ("c", P4D)), Scope(nodes=2), Plan())
    assert (str(found), found.dollars_per_hour) == (f"1 × {P5}, 1 × {P4D}", pytest.approx(usd(P4D) + usd(P5)))


def test_what_has_no_price_is_named() -> None:
    assert fleet_of(["x9.huge", "", P4D], 0).unpriced == ("nodes without a type", "x9.huge")
    assert str(fleet_of(["", ""], 0)) == ""


def test_nodes_that_may_not_be_listed_are_no_error() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        return httpx.Response(403, json={"kind": "Status", "message": "no"})

    cluster = Cluster(httpx.Client(base_url="https://api", transport=httpx.MockTransport(refuse)), "c", "default", 1)
    found = fleet(cluster, Scope(), Plan())
    assert found.nodes == UNSEEN and "list nodes" in found.why_not
    assert fleet(cluster, Scope(nodes=3), Plan()).nodes == 3


def test_a_run_that_may_cost_too_much_is_refused_in_one_line() -> None:
    assert _dollars(Price(60.0), 600.0, float("inf")) == 10.0
    assert _dollars(Price(60.0), 600.0, 10.0) == 10.0
    with pytest.raises(InputError) as refused:
        _dollars(Price(60.0), 600.0, 9.99)
    assert str(refused.value) == (
        "--max-cost: the nodes cost $60.00 an hour, so 10 min, the most that the run may take, $10.00; "
        "$9.99 at most were asked for. A --timeout bounds it, too."
    )


def test_a_cost_that_is_not_known_is_no_cost_of_nothing() -> None:
    assert _dollars(Price(0.0, "no price of x9.huge is known"), 600.0, float("inf")) == 0.0
    with pytest.raises(InputError, match=r"not known: no price of x9\.huge is known"):
        _dollars(Price(0.0, "no price of x9.huge is known"), 600.0, 100.0)
    assert _dollars(Price(), 600.0, 0.0) == 0.0  # this machine, or level read
