import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.agent.allowance import Allowance
from gonogo.agent.spec import FRAMEWORK, STEPS, Spec
from gonogo.launch.spec import all_rounds, bound_seconds, spec_for
from gonogo.plan import Plan


def spec(level="standard", nodes=4, plan=None, steps=STEPS, **more):
    names = [f"node{i}" for i in range(nodes)]
    return spec_for(plan or Plan(), run="r", names=names, addresses=names, level=level, steps=steps, **more)


def test_steps_are_put_into_order_and_the_spec_survives_its_own_json():
    made = spec(steps=("train", "node", "ports"))
    assert made.steps == ["node", "ports", "train"]
    assert Spec.from_json(made.to_json()) == made


def test_each_level_runs_more_than_the_last():
    quick, standard, deep = spec("quick"), spec("standard"), spec("deep")
    assert (quick.rounds, standard.rounds, deep.rounds) == (2, 5, 3)
    assert spec("deep", 16).rounds == 15
    assert len(quick.sizes) < len(standard.sizes) < len(deep.sizes)
    assert quick.train_steps < standard.train_steps < deep.train_steps
    assert bound_seconds(quick) < bound_seconds(standard) < bound_seconds(deep)


@pytest.mark.parametrize("level, steps", [("read", STEPS), ("quick", ("node", "dance"))])
def test_what_starts_no_agents_and_what_is_no_step_are_errors(level, steps):
    with pytest.raises(ValueError):
        spec(level, steps=steps)


def test_the_plan_reaches_the_agents():
    plan = Plan.model_validate(
        {
            "fabric": {"interface": "ens5"},
            "job": {"backend": "gloo", "rendezvousPort": 1234, "environment": {"A": "b"}},
            "storage": [{"path": "/data"}],
        }
    )
    made = spec(plan=plan)
    assert made.environment == {"A": "b", "GLOO_SOCKET_IFNAME": "ens5"}
    assert (made.rendezvous_port, made.storage_paths) == (1234, ["/data"])


def test_what_the_user_sets_goes_before_what_the_interface_implies():
    plan = Plan.model_validate({"fabric": {"interface": "ens5"}, "job": {"environment": {"GLOO_SOCKET_IFNAME": "lo"}}})
    assert spec(plan=plan).environment == {"GLOO_SOCKET_IFNAME": "lo"}


@given(nodes=st.integers(1, 64), at_once=st.integers(0, 8), steps=st.sets(st.sampled_from(STEPS)))
def test_the_bound_covers_the_deadline_of_every_step(nodes, at_once, steps):
    made = spec("deep", nodes, steps=steps, pairs_at_once=at_once)
    shared = made.shared_seconds * max(0, len({*FRAMEWORK} & steps) - 1)
    assert bound_seconds(made) >= sum(made.step_seconds[step] for step in steps) - shared
    turns = all_rounds(nodes) * -(-(nodes // 2) // (at_once or nodes))
    assert made.step_seconds["links"] > 2 * made.slice_seconds * turns


@given(st.integers(2, 64))
def test_all_rounds_are_enough_for_every_pair(nodes):
    assert all_rounds(nodes) * (nodes // 2) >= nodes * (nodes - 1) // 2


@given(
    level=st.sampled_from(["quick", "standard", "deep"]),
    nodes=st.integers(1, 16),
    shares=st.tuples(*[st.floats(0, 1.0)] * 3),
)
def test_framework_steps_share_one_reserve(level, nodes, shares):
    """Whatever they take of what they are allowed, together they stay within the bound, and each has its own time."""
    made = spec(level, nodes)
    allowance, total = Allowance(made), 0.0
    for step, share in zip(FRAMEWORK, shares, strict=True):
        allowed = allowance.of(step)
        own = made.step_seconds[step] - made.shared_seconds
        assert 10.0 <= own <= allowed + 1e-6 and allowed <= made.step_seconds[step]
        total += share * allowed
        allowance.spent(step, share * allowed)
    rest = sum(made.step_seconds[step] for step in STEPS if step not in FRAMEWORK)
    assert total + rest <= bound_seconds(made)


def test_a_step_that_keeps_to_its_time_leaves_the_reserve_to_the_next():
    made = spec("standard")
    allowance = Allowance(made)
    allowance.spent("collectives", made.step_seconds["collectives"] - made.shared_seconds)
    assert allowance.of("storage") == made.step_seconds["storage"]
    allowance.spent("storage", made.step_seconds["storage"])
    allowance.spent("storage", made.step_seconds["storage"] - 10)  # as the coordinator counts it, and the agent itself
    assert allowance.of("train") == made.step_seconds["train"] - made.shared_seconds + 10
