"""Ports are dropped or rejected between nodes by a node's own firewall.

## What is wrong
A host firewall drops or rejects what ranks send each other. Frameworks report only a timeout.

## Fix
Let TCP in on all ports from the other nodes.

## Source
https://man7.org/linux/man-pages/man8/iptables.8.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.network.symptoms import asked_addresses, asked_port, dropped, refused
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("network.port_blocked", also=True)
def port_blocked_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a rule that drops or rejects, beside connections that failed."""
    rules = events.of("host.firewall_rule")
    failed = Events((*dropped(events), *refused(events)))
    turned_away = events.of("aws.flow_rejected")
    ports = {asked_port(failed), *(int(p) for p in failed.values("port") if p.isdigit())}
    turned_away = Events(tuple(e for e in turned_away if int(e.get("port")) in ports))
    if turned_away and failed:
        yield diagnosis(
            "network.port_blocked",
            f"A flow log shows that port {turned_away.first.get('port')} of {turned_away.first.get('target')} is shut "
            "by a security group or network ACL.",
            failed,
            turned_away,
            repair=Repair.CHANGE_NETWORK_RULE,
            next_observation="The rules: aws ec2 describe-security-groups and describe-network-acls of both sides.",
        )
        return
    if (met := _came_and_failed(events)) and not rules:
        counted, silent = met
        yield diagnosis(
            "network.port_blocked",
            f"{counted.first.who} listens and counts {counted.first['joined']} of {counted.first['expected']} ranks; "
            f"{silent.first.who} came, and its connections to port {asked_port(silent)} get no answer.",
            silent,
            counted,
            repair=Repair.CHANGE_NETWORK_RULE,
            subjects=[silent.first.subject],
            next_observation=f"From that rank's pod: nc -vz {(asked_addresses(silent) or ('ADDRESS',))[0]} "
            f"{asked_port(silent)}; then the rules of both nodes.",
        )
        return
    if not rules or not failed or _accepted(rules, failed):
        return
    port = asked_port(failed)
    yield diagnosis(
        "network.port_blocked",
        f"A firewall rule drops or rejects what the ranks send: port {port} can't be reached.",
        failed,
        rules,
        repair=Repair.CHANGE_NETWORK_RULE,
        commands=(f"iptables -I INPUT -p tcp --dport {port} -j ACCEPT  # on the node with the rule",),
        next_observation="The counters of the rule (iptables -L -n -v) grow while a rank tries to connect.",
    )


def _accepted(rules: Events, failed: Events) -> bool:
    """Rules that name ports, and not the one that was asked for."""
    named = {p for e in rules for p in re.findall(r"(?:dports?|dpt:?) ?\{?([\d,: -]+)", e.text)}
    if not named or any(not re.search(r"dports?|dpt", e.text) for e in rules):
        return False
    port = asked_port(failed)
    return not any(_within(port, part) for text in named for part in re.split(r"[, ]+", text.strip(" ,")) if part)


def _within(port: int, part: str) -> bool:
    low, _, high = part.replace("-", ":").partition(":")
    return low.isdigit() and int(low) <= port <= int(high if high.isdigit() else low)


def _came_and_failed(events: Events) -> tuple[Events, Events] | None:
    """A master that listened and missed ranks, and a rank that dialled it meanwhile and got no answer at all."""
    counted = Events(tuple(e for e in events.of("c10d.clients_missing") if int(e["joined"]) < int(e["expected"])))
    tries = events.of("c10d.connect_errno", "c10d.connect_timeout")
    silent = Events(tuple(e for e in tries if e.get("errno") == "110" and e.writer not in counted.writers))
    return (counted, silent) if counted and silent and not refused(events) else None
