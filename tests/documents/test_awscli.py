"""What the AWS CLI prints as tables and text is read as the answers that it was made of."""

from gonogo.documents import awstable, awstext
from gonogo.documents.structured import line_of, parse

GROUPS = """\
-------------------------------------------------------------
|                  DescribeSecurityGroups                   |
+-----------------------------------------------------------+
||                     SecurityGroups                      ||
|+-------------+-------------------------------------------+|
||  Description|  EKS node                                 ||
||  GroupId    |  sg-1                                     ||
|+-------------+-------------------------------------------+|
|||                     IpPermissions                     |||
||+---------------------------+---------------------------+||
|||  FromPort                 |  10250                    |||
|||  IpProtocol               |  tcp                      |||
|||  ToPort                   |  10250                    |||
||+---------------------------+---------------------------+||
||||                  UserIdGroupPairs                   ||||
|||+----------------------------+------------------------+|||
||||           GroupId          |         UserId         ||||
|||+----------------------------+------------------------+|||
||||  sg-1                      |  111122223333          ||||
||||  sg-2                      |  111122223333          ||||
|||+----------------------------+------------------------+|||
||                     SecurityGroups                      ||
|+-------------+-------------------------------------------+|
||  GroupId    |  sg-3                                     ||
|+-------------+-------------------------------------------+|
"""
ROWS = """\
-----------------------------------------------------
|                DescribeNetworkAcls                |
+--------------+---------+-------------+------------+
|  CidrBlock   | Egress  | RuleAction  | RuleNumber |
+--------------+---------+-------------+------------+
|  10.8.0.0/20 |  False  |  deny       |  90        |
|  0.0.0.0/0   |  False  |  allow      |  100       |
+--------------+---------+-------------+------------+
"""
TEXT = (
    "ROUTETABLES\t111122223333\trtb-0a\tvpc-1\n"
    "ROUTES\t10.1.0.0/16\tlocal\tCreateRouteTable\tactive\n"
    "ROUTES\t0.0.0.0/0\tnat-0b\tCreateRoute\tblackhole\n"
    "SECURITYGROUPS\tnodes\tsg-0c\tnodes\tvpc-1\n"
    "IPPERMISSIONS\t443\ttcp\t443\n"
    "USERIDGROUPPAIRS\tsg-0d\t111122223333\n"
    "IPPERMISSIONSEGRESS\t-1\n"
    "IPRANGES\t0.0.0.0/0\n"
)


def test_a_nested_table_is_the_answer_with_types() -> None:
    (parsed,) = [p for p in parse("$ aws ec2 …\n" + GROUPS) if p.form == "awstable"]
    first, second = parsed.data["SecurityGroups"]
    (rule,) = first["IpPermissions"]
    assert (rule["FromPort"], rule["IpProtocol"]) == (10250, "tcp")
    assert [p["GroupId"] for p in rule["UserIdGroupPairs"]] == ["sg-1", "sg-2"]
    assert second["GroupId"] == "sg-3"
    path = ("SecurityGroups", 0, "IpPermissions", 0, "ToPort")
    assert line_of("$ aws ec2 …\n" + GROUPS, parsed, path) == 14


def test_rows_below_a_head_are_dicts() -> None:
    rows, _ = awstable.table(ROWS)
    assert [(r["CidrBlock"], r["Egress"], r["RuleNumber"]) for r in rows] == [
        ("10.8.0.0/20", False, 90),
        ("0.0.0.0/0", False, 100),
    ]


def test_text_rows_are_routes_and_rules() -> None:
    told = awstext.answers(TEXT)
    (table,) = told["RouteTables"]
    assert [(r["DestinationCidrBlock"], r["State"]) for r in table["Routes"]] == [
        ("10.1.0.0/16", "active"),
        ("0.0.0.0/0", "blackhole"),
    ]
    (group,) = told["SecurityGroups"]
    assert group["IpPermissions"][0]["UserIdGroupPairs"] == [{"GroupId": "sg-0d"}]
    assert group["IpPermissionsEgress"][0]["IpRanges"] == [{"CidrIp": "0.0.0.0/0"}]


def test_what_is_cut_off_is_read_as_far_as_it_goes() -> None:
    for end in range(0, len(GROUPS), 37):
        awstable.table(GROUPS[:end])
    awstext.answers(TEXT[: len(TEXT) // 2])
