"""GLO001 through the kernel, on recorded runs."""

import pytest
from judged import judged, recorded, with_fields

from gonogo.plan import Plan


def named(interface):
    return Plan.model_validate({"job": {"environment": {"GLOO_SOCKET_IFNAME": interface}}})


def test_the_own_names_address_is_used_and_right():
    found = recorded("healthy").of("GLO001")
    assert {f.status for f in found} == {"ok"} and found[0].measured == "10.77.0.1"


def test_an_interface_that_is_there():
    found = recorded("healthy-interface-named").of("GLO001")
    assert {f.status for f in found} == {"ok"} and "eth0 with 10.77.0.1" in found[0].message


def test_an_interface_that_is_not_there():
    found = recorded("interface-missing").of("GLO001")
    assert {f.status for f in found} == {"fail"} and "eth9 (GLOO_SOCKET_IFNAME), which is not there" in found[0].message


@pytest.mark.parametrize("interface", ["lo", "eth0,eth9", "^lo"])
def test_what_cannot_work(interface):
    assert judged("healthy", plan=named(interface), only=("GLO001",)).worst("GLO001") == "fail"


def test_an_own_name_that_leads_to_the_loopback():
    assert {f.status for f in recorded("own-name-loopback").of("GLO001")} == {"fail"}


def test_an_own_name_that_does_not_resolve():
    change = with_fields(
        {"own_addresses": [], "own_name_error": "Name or service not known"}, step="node", node="node1"
    )
    assert judged("healthy", change, only=("GLO001",)).bad("GLO001") == {"node/node1"}


def test_another_backend_does_not_care():
    plan = Plan.model_validate({"job": {"backend": "nccl"}})
    assert [f.status for f in judged("healthy", plan=plan, only=("GLO001",)).of("GLO001")] == ["skip"]
