import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.agent.spec import STEPS
from gonogo.collect.roll import GRACE_SECONDS, SILENT_SECONDS, Roll
from gonogo.documents.records import LOGS, LinksLog, NodeLog, PortsLog, TrainLog
from gonogo.launch.spec import spec_for
from gonogo.plan import Plan

NODES = ("node0", "node1", "node2")


@pytest.fixture
def roll():
    return made()


def made(steps=STEPS):
    spec = spec_for(Plan(), run="r", names=NODES, addresses=NODES, level="quick", steps=steps)
    return Roll(spec)


def record(node, step, kind, **fields):
    return {"node": node, "step": step, "kind": kind, **fields}


def begin(roll, step, now=0.0, nodes=NODES):
    for node in nodes:
        roll.take(record(node, "agent", "begin", of=step), now)


def end(roll, step, now=0.0, nodes=NODES):
    for node in nodes:
        roll.take(record(node, "agent", "end", of=step), now)


def kinds(logs):
    return [type(log) for log in logs]


def test_a_document_is_ready_when_its_step_has_ended_everywhere_and_only_once(roll):
    begin(roll, "node")
    end(roll, "node", nodes=NODES[:2])
    assert roll.ready(0.0) == []
    end(roll, "node", nodes=NODES[2:])
    assert kinds(roll.ready(0.0)) == [NodeLog]
    assert roll.ready(0.0) == []


def test_nothing_is_ready_before_anything_has_begun(roll):
    assert roll.ready(100.0) == []


def test_who_begins_a_step_has_ended_those_before(roll):
    begin(roll, "links")
    assert kinds(roll.ready(0.0)) == [NodeLog, PortsLog]


def test_a_dead_node_is_not_waited_for_and_said_to_be_dead(roll):
    begin(roll, "node")
    roll.take(record("fabric", "fabric", "exit", of="node2", code=None, signal=9), 0.0)
    end(roll, "node", nodes=NODES[:2])
    (log,) = roll.ready(0.0)
    assert log.ended == {"node0": "", "node1": "", "node2": "killed by signal 9"}


def test_a_silent_node_is_not_waited_for_and_said_to_be_silent(roll):
    begin(roll, "node")
    end(roll, "node", SILENT_SECONDS + 0.1, NODES[:2])
    (log,) = roll.ready(SILENT_SECONDS + 0.1)
    assert log.ended["node2"].startswith("stopped answering at ")
    assert log.ended["node0"] == log.ended["node1"] == ""


def test_a_node_that_speaks_again_is_waited_for_again(roll):
    begin(roll, "node")
    end(roll, "node", SILENT_SECONDS + 0.1, NODES[:2])
    roll.take(record("node2", "agent", "heartbeat", at="node"), SILENT_SECONDS + 0.2)
    assert roll.ready(SILENT_SECONDS + 0.2) == []


def test_a_node_that_can_not_be_heard_is_not_silent_until_it_can(roll):
    begin(roll, "node")
    end(roll, "node", SILENT_SECONDS + 0.1, NODES[:2])
    roll.excuse({"node2"}, SILENT_SECONDS)
    assert roll.ready(SILENT_SECONDS + 0.1) == []
    end(roll, "ports", 2 * SILENT_SECONDS + 0.1, NODES[:2])
    assert roll.ended(2 * SILENT_SECONDS + 0.1)["node2"].startswith("stopped answering at ")


def test_a_pause_of_everything_silences_nobody(roll):
    begin(roll, "node")
    assert roll.ready(4.9) == []
    assert set(roll.ended(4.9).values()) == {""}


def test_a_node_frozen_while_the_others_finish_is_found_by_their_last_words(roll):
    begin(roll, "train")
    end(roll, "train", SILENT_SECONDS + 1, NODES[:2])
    assert roll.ended(SILENT_SECONDS + 1)["node2"].startswith("stopped answering")


def test_a_step_that_outlives_its_deadline_is_given_up(roll):
    begin(roll, "node")
    end(roll, "node", nodes=NODES[:2])
    late = 5.0 + GRACE_SECONDS
    for second in range(int(late) + 1):
        for node in NODES:
            roll.take(record(node, "agent", "heartbeat", at="node"), float(second))
    assert roll.ready(late - 0.5) == []
    (log,) = roll.ready(late + 0.5)
    assert log.ended == {"node0": "", "node1": "", "node2": "was cut off at the step's deadline"}


def test_when_nothing_more_can_come_every_document_is_made(roll):
    begin(roll, "ports")
    roll.lost("the launcher was killed by signal 9")
    logs = roll.ready(0.0)
    assert kinds(logs) == list(LOGS.values())
    assert set(logs[-1].ended.values()) == {"the launcher was killed by signal 9"}
    assert roll.done()


def test_a_healthy_end_is_no_loss_and_an_early_one_is(roll):
    for node in NODES:
        if node != "node2":
            roll.take(record(node, "agent", "finish"), 0.0)
        roll.take(record("fabric", "fabric", "exit", of=node, code=0, signal=None), 0.0)
    assert roll.ended(0.0) == {"node0": "", "node1": "", "node2": "ended with code 0"}


def test_links_come_with_the_join_and_steps_not_run_make_no_document():
    roll = made(("node", "ports", "join", "links"))
    begin(roll, "join")
    roll.take(record("node0", "join", "roster", present=[]), 0.0)
    end(roll, "links")
    logs = roll.ready(0.0)
    assert kinds(logs) == [NodeLog, PortsLog, LinksLog]
    assert [r.kind for r in logs[-1].records] == ["roster"]
    assert roll.done() and TrainLog not in kinds(logs)


def test_records_know_their_line_and_the_mark_counts_them(roll):
    first = roll.take(record("node1", "agent", "begin", of="node"), 0.0)
    second = roll.take(record("node1", "node", "info"), 0.0)
    assert (first.line, second.file, second.line) == (1, "agents/node1.jsonl", 2)
    end(roll, "node")
    (log,) = roll.ready(0.0)
    assert roll.mark(log)["of"] == "node"
    assert roll.mark(log)["lines"]["agents/node1.jsonl"] == 3


EVENTS = st.lists(
    st.tuples(
        st.sampled_from([*NODES, "fabric", "stranger"]),
        st.sampled_from(["begin", "end", "finish", "heartbeat", "exit", "built", "note", ""]),
        st.sampled_from([*STEPS, *NODES, "", None]),
        st.floats(0, 3),
    )
)


@given(EVENTS)
def test_whatever_comes_in_whatever_order_each_document_comes_once_and_in_order(events):
    roll, now, seen = made(), 0.0, []
    for node, kind, of, seconds in events:
        now += seconds
        roll.take({"node": node, "step": "fabric" if node == "fabric" else "agent", "kind": kind, "of": of}, now)
        seen += kinds(roll.ready(now))
    roll.lost("the end")
    seen += kinds(roll.ready(now))
    assert seen == list(LOGS.values())
