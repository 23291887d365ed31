"""The cause that joins probes with AWS's rules: on the demo's cluster, whole and with parts of it changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faulty
import pytest

import gonogo
from gonogo.model import Certainty, Finding, Report, Status

DEMO = Path(gonogo.__file__).parent / "data" / "demo"
CAUSE = "network.sg_node_to_node_blocked"
A, B = "sg-0a1d3f5b7c9e02468", "sg-0b2c4e6f8a0d13579"
OPEN_A = f"aws ec2 authorize-security-group-ingress --region us-east-1 --group-id {A} --protocol -1 --source-group {B}"
OPEN_B = f"aws ec2 authorize-security-group-ingress --region us-east-1 --group-id {B} --protocol -1 --source-group {A}"
Dict = dict[str, Any]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DEMO, tmp_path / "bundle"))


def change_json(path: Path, change: Callable[[Dict], object]) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data, indent=4))


def groups(bundle: Path, change: Callable[[dict[str, Dict]], object]) -> None:
    def act(data: Dict) -> None:
        change({g["GroupId"]: g for g in data["SecurityGroups"]})

    change_json(bundle / "aws" / "describe-security-groups.json", act)


def rule(source: str, low: int = 0, high: int = 0) -> Dict:
    ports = {"IpProtocol": "tcp", "FromPort": low, "ToPort": high} if high else {"IpProtocol": "-1"}
    return {**ports, "UserIdGroupPairs": [{"GroupId": source}]}


def let_in(group: str, *rules: Dict) -> Callable[[dict[str, Dict]], object]:
    return lambda known: known[group]["IpPermissions"].extend(rules)


def causes(report: Report) -> list[str]:
    return [d.cause for d in report.diagnoses]


def of(report: Report, check: str = "NET201") -> list[Finding]:
    return [f for f in report.findings if f.check == check]


def statuses(report: Report) -> set[Status]:
    return {f.status for f in of(report)}


def lines_cited(report: Report, root: Path) -> list[str]:
    evidence = [e for d in report.diagnoses for e in d.evidence] + [e for f in of(report) for e in f.evidence]
    return [(root / e.file).read_text().splitlines()[e.line - 1] for e in evidence]


def test_it_is_the_only_root_and_explains_all(bundle: Path) -> None:
    report = faulty.again(bundle)
    (found,) = report.diagnoses
    assert (found.cause, found.certainty) == (CAUSE, Certainty.ESTABLISHED)
    assert found.commands == (OPEN_B, OPEN_A)
    assert {str(s) for s in found.subjects} == {
        f"aws/{A}", f"aws/{B}", *(f"node/ip-10-0-{n}.ec2.internal" for n in ("1-11", "1-12", "2-17", "2-18")),
    }  # fmt: skip
    assert {f.key for f in report.findings if f.status is Status.FAIL} <= set(found.explains)
    assert f"{B} (vision-gpu-b) lets nothing in from {A} (vision-gpu-a), nor the other way round" in found.summary
    assert "8 of 12 directions get no answer" in found.summary


def test_its_evidence_is_in_the_agents_records_the_rules_and_the_instances(bundle: Path) -> None:
    report = faulty.again(bundle)
    files = {e.file for e in report.diagnoses[0].evidence}
    assert {"aws/describe-security-groups.json", "aws/describe-instances.json"} <= files
    assert any(f.startswith("agents/ip-10-0-") for f in files)
    told = " ".join(e.text for e in report.diagnoses[0].evidence)
    pods = json.loads((bundle / "kubernetes" / "run-pods.json").read_text())["pods"]
    assert all(p["pod"] in told and p["node"] in told for p in pods)
    assert all(id in told for id in (A, B, "i-04a9c2e1f7b3d8056", "i-0e5f7a9b1c3d24681"))
    for line in lines_cited(report, bundle):
        assert '"outcome":"silent"' in line or '"IpPermissions": [' in line or '"GroupId": "sg-0' in line


def test_without_aws_the_rule_is_not_known(bundle: Path) -> None:
    shutil.rmtree(bundle / "aws")
    report = faulty.again(bundle)
    assert causes(report) == ["network.port_blocked"]
    assert statuses(report) == {Status.UNKNOWN}


def test_without_kubernetes_the_agents_addresses_join(bundle: Path) -> None:
    shutil.rmtree(bundle / "kubernetes")
    assert causes(faulty.again(bundle)) == [CAUSE]


def test_rules_that_let_all_through_are_not_to_blame(bundle: Path) -> None:
    groups(bundle, let_in(A, rule(B)))
    groups(bundle, let_in(B, rule(A)))
    report = faulty.again(bundle)
    assert causes(report) == ["network.port_blocked"]
    assert statuses(report) == {Status.OK}


def test_a_rule_by_address_counts_where_it_holds_the_pods(bundle: Path) -> None:
    def cidr(network: str) -> Dict:
        return {"IpProtocol": "-1", "IpRanges": [{"CidrIp": network}]}

    groups(bundle, let_in(A, cidr("10.0.2.0/25")))
    groups(bundle, let_in(B, cidr("10.0.1.0/26")))  # one of the two pods is beyond it
    report = faulty.again(bundle)
    assert {f.subject.name: f.status for f in of(report)} == {A: Status.OK, B: Status.FAIL}


def test_one_way_needs_one_command(bundle: Path) -> None:
    """Rules are not to blame for what they let through: that half keeps the general cause."""
    groups(bundle, let_in(A, rule(B)))
    report = faulty.again(bundle)
    assert {f.subject.name: f.status for f in of(report)} == {A: Status.OK, B: Status.FAIL}
    assert CAUSE not in causes(report) and causes(report) == ["network.port_blocked"]


def test_a_single_port_is_named(bundle: Path) -> None:
    groups(bundle, let_in(A, rule(B, 443, 443)))
    groups(bundle, let_in(B, rule(A, 22, 80)))
    (found,) = faulty.again(bundle).diagnoses
    assert found.cause == CAUSE and f"lets in only tcp 22-80 from {A}" in found.summary


def test_what_does_not_go_out_needs_an_outbound_rule(bundle: Path) -> None:
    groups(bundle, let_in(A, rule(B)))
    groups(bundle, let_in(B, rule(A)))
    for id in (A, B):
        groups(bundle, lambda known, id=id: known[id].update(IpPermissionsEgress=[rule(id)]))
    (found,) = faulty.again(bundle).diagnoses
    assert found.cause == CAUSE and "lets nothing out to" in found.summary
    assert all(
        c.startswith("aws ec2 authorize-security-group-egress --region us-east-1 --group-id sg-0")
        for c in found.commands
    )


@pytest.mark.parametrize("permission", [{"IpProtocol": "-1", "PrefixListIds": [{"PrefixListId": "pl-1"}]}, None])
def test_rules_that_are_not_all_told_are_no_evidence(bundle: Path, permission: Dict | None) -> None:
    def act(data: Dict) -> None:
        if permission:
            data["SecurityGroups"][1]["IpPermissions"].append(permission)
        else:
            del data["SecurityGroups"][1]

    change_json(bundle / "aws" / "describe-security-groups.json", act)
    report = faulty.again(bundle)
    assert causes(report) == ["network.port_blocked"]
    assert statuses(report) == {Status.UNKNOWN}


def test_rules_are_not_in_force_if_a_port_connects_that_they_shut(bundle: Path) -> None:
    path = next((bundle / "agents").glob("ip-10-0-1-11*"))
    lines = path.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if '"outcome":"silent"' in line and '"port":29500' in line)
    lines[at] = json.dumps({**json.loads(lines[at]), "outcome": "connected", "seconds": 0.01})
    path.write_text("\n".join(lines))
    assert CAUSE not in causes(faulty.again(bundle))


def without_addresses(bundle: Path) -> None:
    def act(data: Dict) -> None:
        for reservation in data["Reservations"]:
            for interface in reservation["Instances"][0]["NetworkInterfaces"]:
                del interface["PrivateIpAddresses"]

    change_json(bundle / "aws" / "describe-instances.json", act)


def test_instances_are_found_by_the_node_objects_where_addresses_do_not_tell(bundle: Path) -> None:
    without_addresses(bundle)
    assert causes(faulty.again(bundle)) == [CAUSE]


def test_a_node_without_an_instance_is_unknown(bundle: Path) -> None:
    without_addresses(bundle)
    (bundle / "kubernetes" / "nodes.json").unlink()
    report = faulty.again(bundle)
    assert CAUSE not in causes(report)
    assert {str(f.subject) for f in of(report) if f.status is Status.UNKNOWN} >= {
        "node/ip-10-0-1-11.ec2.internal", "node/ip-10-0-2-18.ec2.internal",
    }  # fmt: skip


def test_pods_of_a_prefix_belong_to_its_interface(bundle: Path) -> None:
    def act(data: Dict) -> None:
        for reservation in data["Reservations"]:
            for interface in reservation["Instances"][0]["NetworkInterfaces"]:
                pod = interface.pop("PrivateIpAddresses")[1]["PrivateIpAddress"]
                interface["Ipv4Prefixes"] = [{"Ipv4Prefix": f"{pod.rpartition('.')[0]}.{int(pod.split('.')[3])}/32"}]

    change_json(bundle / "aws" / "describe-instances.json", act)
    (bundle / "kubernetes" / "nodes.json").unlink()
    assert causes(faulty.again(bundle)) == [CAUSE]


@pytest.mark.parametrize("name", ["describe-instances", "describe-security-groups"])
@pytest.mark.parametrize("text", ["", '{"Reservations": [{', '{"SecurityGroups": "none"}', "[]", "\0\xff"])
def test_an_answer_that_is_damaged_or_empty_is_never_green(bundle: Path, name: str, text: str) -> None:
    (bundle / "aws" / f"{name}.json").write_text(text)
    report = faulty.again(bundle)
    assert causes(report) == ["network.port_blocked"]
    assert Status.OK not in statuses(report) and not [f for f in report.findings if f.traceback]


def test_hostile_ids_stay_one_word_in_commands(bundle: Path) -> None:
    for path in (bundle / "aws").iterdir():
        path.write_text(path.read_text().replace(A, "sg-1; rm -rf ~"))
    (found,) = faulty.again(bundle).diagnoses
    assert found.commands[0].endswith("--source-group 'sg-1; rm -rf ~'")


def test_level_read_has_the_rules_alone(bundle: Path) -> None:
    """No agents: the nodes of the API, and what the rules say of them."""
    shutil.rmtree(bundle / "agents")
    report = faulty.again(bundle)
    assert {f.subject.name: f.status for f in of(report)} == {A: Status.FAIL, B: Status.FAIL}
    (found,) = [d for d in report.diagnoses if d.cause == CAUSE]
    assert found.certainty is Certainty.SUPPORTED and "by the rules, ports 29500, 32768" in found.summary
    assert set(found.commands) == {OPEN_A, OPEN_B} and {f.key for f in of(report)} == set(found.explains)
    assert "--level quick" in found.next_observation
    assert {e.file for e in found.evidence} == {"aws/describe-security-groups.json", "aws/describe-instances.json"}
    groups(bundle, let_in(A, rule(B)))
    groups(bundle, let_in(B, rule(A)))
    assert CAUSE not in causes(faulty.again(bundle))


def test_one_direction_alone(bundle: Path) -> None:
    """The other way round the probes connect, and the rules let them."""
    groups(bundle, let_in(A, rule(B)))
    for path in (bundle / "agents").glob("ip-10-0-2-*"):
        path.write_text(path.read_text().replace('"outcome":"silent"', '"outcome":"connected"'))
    (found,) = [d for d in faulty.again(bundle).diagnoses if d.cause.startswith("network.")]
    assert found.cause == CAUSE and found.commands == (OPEN_B,)
    assert "nor the other way round" not in found.summary and "4 of 12 directions" in found.summary


def test_one_group_that_does_not_admit_itself(bundle: Path) -> None:
    for path in (bundle / "aws").iterdir():
        path.write_text(path.read_text().replace(B, A))

    def act(data: Dict) -> None:
        data["SecurityGroups"] = data["SecurityGroups"][:2]
        data["SecurityGroups"][1]["IpPermissions"].pop(0)

    change_json(bundle / "aws" / "describe-security-groups.json", act)
    for path in (bundle / "agents").glob("ip-*"):
        others = path.read_text().replace('"outcome":"connected"', '"outcome":"silent"')
        path.write_text(others)
    (found,) = [d for d in faulty.again(bundle).diagnoses if d.cause.startswith("network.")]
    assert found.cause == CAUSE and f"{A} (vision-gpu-a) lets nothing in from itself" in found.summary
    assert found.commands == (
        f"aws ec2 authorize-security-group-ingress --region us-east-1 --group-id {A} --protocol -1 --source-group {A}",
    )
