"""The coordinator's part of step `links`: rounds of disjoint pairs, then a second look at whoever seems slow."""

from __future__ import annotations

import asyncio
from typing import Any

from gonogo.agent.lead import Lead, Message
from gonogo.agent.pair import pair_seconds
from gonogo.links.judge import Sample, judge
from gonogo.links.rounds import Pair, batches, rounds, second_look

LOOKS = 3


async def tour(lead: Lead) -> None:
    """Measure the planned pairs; then, as long as somebody looks slow, pair suspects with nodes known to be good.

    A fault is there each time. What only a busy moment made slow is fast at some look, and its best value counts.
    """
    names = lead.present
    plan = rounds(names, lead.spec.rounds)
    lead.writer.write("links", "plan", phase=1, rounds=len(plan), pairs=plan, suspects=[], partners={})
    samples = [s for number, pairs in enumerate(plan) for s in await _round(lead, pairs, number, phase=1)]
    done = len(plan)
    for _ in range(LOOKS):
        again = _again(lead, names, samples)
        for number, pairs in enumerate(again, done):
            samples += await _round(lead, pairs, number, phase=2)
        done += len(again)


def _again(lead: Lead, names: list[str], samples: list[Sample]) -> list[list[Pair]]:
    """Plan and record a second look at whoever looks slow so far; nothing if nobody does."""
    judgement = judge(names, samples)
    suspects = [name for name in judgement.suspects() if name in lead.present]
    measured = [(s.source, s.target) for s in samples]
    seen = {name for pair in measured for name in pair}
    good = [name for name in lead.present if name in seen and name not in suspects]
    accused = [
        (v.source, v.target) for v in judgement.verdicts if v.kind != "node" and {v.source, v.target} <= {*lead.present}
    ]
    again = second_look(suspects, good, measured, accused)
    if again:
        partners = {s: sorted({o for pairs in again for p in pairs if s in p for o in p if o != s}) for s in suspects}
        lead.writer.write(
            "links", "plan", phase=2, rounds=len(again), pairs=again, suspects=suspects, partners=partners
        )
    return again


async def _round(lead: Lead, pairs: list[Pair], number: int, phase: int) -> list[Sample]:
    samples = []
    for planned in batches(pairs, lead.spec.pairs_at_once):
        batch = [pair for pair in planned if {*pair} <= {*lead.present}]  # nobody waits for the lost
        orders: dict[str, Message] = {}
        for a, b in batch:
            orders.update(_orders(lead, a, b, {"do": "pair", "round": number, "phase": phase}))
        replies = await lead.order(orders, pair_seconds(lead.spec) + 1.0)
        partner = {name: other for a, b in batch for name, other in ((a, b), (b, a))}
        samples += [
            _sample(partner[name], name, reply) for name, reply in replies.items() if reply and reply.get("rate")
        ]
        await asyncio.sleep(0)
    return samples


def _orders(lead: Lead, a: str, b: str, message: Message) -> dict[str, Message]:
    """What to tell each of a pair: who dials is who can."""
    port = lead.spec.agent_port
    there, back = lead.reaches(a, b, port), lead.reaches(b, a, port)
    address = {name: lead.members[name].address for name in (a, b)}
    if "connected" not in (there, back):
        return {a: {**message, "peer": b, "outcome": there}, b: {**message, "peer": a, "outcome": back}}
    return {
        a: {**message, "peer": b, "address": address[b], "dial": there == "connected"},
        b: {**message, "peer": a, "address": address[a], "dial": there != "connected"},
    }


def _sample(source: str, target: str, reply: dict[str, Any]) -> Sample:
    rate = reply["rate"]
    return Sample(source, target, rate["gbps"], tuple(rate["slices"]), tuple(rate.get("waits", ())))
