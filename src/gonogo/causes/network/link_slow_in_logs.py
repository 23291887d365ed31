"""A node is far below its peers.

## What is wrong
All pairs with one node are slow, and pairs without it are not: its adapter, cable or bond is at fault.

## Fix
Take the node out; check its interfaces.

## Source
https://www.kernel.org/doc/html/latest/networking/bonding.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import median

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair, node

SLOW = 0.75  # of the median


_RATE = re.compile(r"(?i)bw|gbps|gb_per|gb/s|mbit|gbit|bandwidth|throughput")


@cause("network.link_slow", also=True)
def link_slow_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a table of pairs has one node in all slow rows and in no fast one."""
    for table in objects.of("csv"):
        columns = [str(c) for c in table.items("columns")]
        rate = next((i for i, c in enumerate(columns) if i > (columns[0] != "pair") and _RATE.search(c)), None)
        if rate is None:
            continue
        rows = [(*_ends(r), float(r[rate]), i) for i, r in enumerate(table.items("rows")) if _is_number(r[rate])]
        middle = median([r[2] for r in rows]) if rows else 0.0
        top = max((r[2] for r in rows), default=0.0)
        floor = SLOW * max(middle, SLOW * top)
        slow = [r for r in rows if r[2] < floor]
        fast = [r for r in rows if r[2] >= floor]
        common = set.intersection(*({r[0], r[1]} for r in slow)) if slow else set()
        blamed = [n for n in common if not any(n in r[:2] for r in fast)]
        if len(rows) > 2 and len(slow) > 1 and fast and len(blamed) == 1:
            yield diagnosis(
                "network.link_slow",
                f"All {len(slow)} pairs with {blamed[0]} are slow (at most {max(r[2] for r in slow):g} beside "
                f"{top:g}).",
                [table.cite(("rows", r[3])) for r in slow],
                [table.cite(("rows", r[3])) for r in fast[:2]],
                events.of("host.link_down"),
                repair=Repair.REPLACE_NODE,
                subjects=[node(blamed[0])],
                commands=("ethtool <interface>; cat /proc/net/bonding/*  # on that node",),
            )
    yield from _one_in_pairs(events)
    yield from _one_file_behind(events)


def _one_in_pairs(events: Events) -> Iterator[Diagnosis]:
    """Rates of pairs of nodes, a line each: one node is in all slow pairs and in no fast one."""
    rates = events.of("host.pair_rate")
    top = max((_rate(e) for e in rates), default=0.0)
    slow = [e for e in rates if _rate(e) < SLOW * top]
    fast = [e for e in rates if _rate(e) >= SLOW * top]
    common = set.intersection(*({e.get("source"), e.get("target")} for e in slow)) if slow else set()
    blamed = [n for n in common if not any(n in (e.get("source"), e.get("target")) for e in fast)]
    if (len(slow) > 1 or (slow and len(fast) > 1)) and fast and len(blamed) == 1:
        yield diagnosis(
            "network.link_slow",
            f"All {len(slow)} pairs with {blamed[0]} are slow (at most {max(float(e['rate']) for e in slow):g} beside "
            f"{top:g} {fast[0].get('unit')}).",
            Events(tuple(slow)),
            Events(tuple(fast[:2])),
            events.of("host.link_down", "host.nic_speed"),
            repair=Repair.REPLACE_NODE,
            subjects=[node(blamed[0])],
            commands=("ethtool <interface>; cat /proc/net/bonding/*  # on that node",),
        )


def _one_file_behind(events: Events) -> Iterator[Diagnosis]:
    """iperf's reports of three hosts or more, a file each, of which one is far below all others."""
    best: dict[str, Event] = {}
    for e in events.of("host.bandwidth_test"):
        if e.file not in best or _gbps(e) > _gbps(best[e.file]):
            best[e.file] = e
    rates = sorted(best.values(), key=_gbps)
    if len(rates) > 2 and _gbps(rates[0]) < SLOW * _gbps(rates[1]):
        low = rates[0]
        yield diagnosis(
            "network.link_slow",
            f"{low.who} measures {_gbps(low):g} Gbit/s, and {len(rates) - 1} others at least {_gbps(rates[1]):g}.",
            Events((low,)),
            Events(tuple(rates[1:])),
            repair=Repair.REPLACE_NODE,
            subjects=[low.subject],
            commands=("ethtool <interface>; tc -s qdisc show  # on that node",),
        )


def _gbps(event: Event) -> float:
    return float(event["rate"]) / (1 if event.get("unit").startswith("G") else 1000)


def _rate(event: Event) -> float:
    """Of a pair, in the thousands of its unit."""
    return float(event["rate"]) / (1000 if event.get("unit").startswith("M") else 1)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*\d+(?:\.\d+)?\s*", text) is not None


def _ends(row: list[str]) -> tuple[str, str]:
    """The two nodes of a row, which may stand in one cell: `n0 -> n1`."""
    found = re.split(r"\s*(?:<?-+>|→| to )\s*", row[0])
    return (found[0], found[1]) if len(found) == 2 else (row[0], row[1])
