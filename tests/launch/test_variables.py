"""Misspelt variables are told, and only those."""

import pytest

from gonogo.launch.variables import KNOWN, misspelt


@pytest.mark.parametrize(
    "name", ["NCCL_SOCKET_IFNAM", "NCCL_SOKCET_IFNAME", "NCL_DEBUG", "FI_PROVIDR", "GLOO_SOCKET_IFNAMEE"]
)
def test_one_character_is_told(name):
    (told,) = misspelt([name])
    assert told.startswith(f"{name} (") and told.removesuffix("?)").partition("(")[2] in KNOWN


def test_known_and_foreign_ones_are_not():
    assert misspelt([*KNOWN, "WANDB_MODE", "NCCL_SOMETHING_NEW", "NCCL", "", "PATH"]) == []
    assert len(set(KNOWN)) == len(KNOWN)
