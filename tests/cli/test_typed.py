"""The flags of a command line, kept so that a report can repeat them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from gonogo import target
from gonogo.cli.flags import Asked
from gonogo.cli.kube import Where
from gonogo.cli.verify import _typed
from gonogo.model import RunInfo
from gonogo.report.again import command

WHERE = Where(
    context="my-eks", namespace="ml", selector="group=a", like=Path("job.yaml"), image="registry/train:1", no_gpu=True,
    kubeconfig="/home/me/config",
)  # fmt: skip
ASKED = Asked(Path("p.yaml"), 8, "quick", ["link", "NET*"], ["LNK003=noisy"], 60.0, 20.0)


def test_every_flag_that_chooses_a_cluster_is_kept_through_a_bundle() -> None:
    flags = _typed(ASKED, WHERE, "current")
    of_runs = ("-f", "--nodes", "--level", "--only", "--skip", "--timeout", "--max-cost")
    assert len([flag for flag, _ in flags if flag not in of_runs]) == len(dataclasses.fields(Where))
    info = RunInfo("r", "0", "quick", 0, 0, 0, flags=flags)
    kept = json.loads(json.dumps({"run": dataclasses.asdict(info)}))
    again = target.recorded(kept, {}, (), "b").run
    assert again and again.flags == flags
    assert command(again, "network", "") == (
        "gonogo verify -f p.yaml --nodes 8 --context my-eks -n ml -l group=a --like job.yaml --image registry/train:1 "
        "--kubeconfig /home/me/config --level quick --max-cost 20 --no-gpu --skip LNK003=noisy --only network"
    )


def test_the_context_that_was_current_is_named_so_that_the_advice_stays_true() -> None:
    assert ("--context", "current") in _typed(Asked(), Where(namespace="ml"), "current")
    assert _typed(Asked(), Where(), "") == ()


def test_a_bundle_can_not_smuggle_in_other_words() -> None:
    for flags in ([["; reboot", ""]], [["--nodes"]], "--nodes 3", [["--nodes", 3]], None):
        again = target.recorded({"run": {"flags": flags}}, {}, (), "b").run
        assert again and again.flags is None
    again = target.recorded({"run": {"flags": [["-n", "$(reboot)"]]}}, {}, (), "b").run
    assert again and command(again) == "gonogo verify -n '$(reboot)'"


def test_a_job_to_be_like_alone_means_this_machine() -> None:
    assert not Where(like=Path("job.yaml")).chosen
    assert Where(like=Path("job.yaml"), context="my-eks").chosen and Where(image="registry/train:1").chosen
