"""The catalog says what AWS says, and where it does."""

import pytest

from gonogo.data.instances import catalog, instance_type

# from the EC2 guide's tables and the OFI plugin's platform table, by hand
KNOWN = {
    "g5.48xlarge": (8, 1, "v1", False),
    "g6e.48xlarge": (8, 4, "v2", False),
    "p4d.24xlarge": (8, 4, "v1", True),
    "p4de.24xlarge": (8, 4, "v1", True),
    "p5.4xlarge": (1, 1, "v2", False),
    "p5.48xlarge": (8, 32, "v2", True),
    "p5en.48xlarge": (8, 16, "v3", True),
    "p6-b200.48xlarge": (8, 8, "v4", True),
    "p6-b300.48xlarge": (8, 16, "v4", True),
    "trn1.32xlarge": (16, 8, "v2", True),
    "trn2.48xlarge": (16, 16, "v3", True),
}


@pytest.mark.parametrize("name", KNOWN)
def test_counts_are_those_of_the_type(name: str) -> None:
    row = instance_type(name)
    assert row and (row.accelerators, row.efa, row.efa_generation, row.gdr_required) == KNOWN[name]


def test_every_row_says_where_it_is_from() -> None:
    assert len(catalog()) > 300
    for row in catalog().values():
        assert row.source and row.date, row.type
        assert row.accelerators or row.efa, row.type
        assert not row.accelerator.startswith(("NVIDIA", "AWS")) or row.resource, row.type
        assert bool(row.usd_per_hour) == bool(row.price_date), row.type


def test_what_is_not_a_type_is_not_in_it() -> None:
    assert instance_type("p5.49xlarge") is None


def test_network_rate_is_that_of_all_cards() -> None:
    assert {name: catalog()[name].node_gbytes_per_second for name in ("p4d.24xlarge", "p5.48xlarge")} == {
        "p4d.24xlarge": 50,
        "p5.48xlarge": 400,
    }
