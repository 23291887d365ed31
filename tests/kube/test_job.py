"""A job of a cluster is read and diagnosed: what belongs to it, what may not be seen, and what no answer is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from kube_api import (
    CLAIMS,
    EVENTS,
    JOBS,
    NODE_EVENTS,
    NODES,
    PODS,
    QUOTAS,
    SERVICES,
    TRACEBACK,
    Api,
    Dict,
    event,
    job,
    pod,
    stamped,
    thing,
    world,
)

from gonogo import registry
from gonogo.collect.kube_job import Reading, read_job_of
from gonogo.collect.kube_kinds import reference
from gonogo.diagnose import diagnose
from gonogo.documents import replay
from gonogo.documents.bundle import Bundle
from gonogo.documents.kubernetes import PodObjects
from gonogo.errors import InputError
from gonogo.model import Certainty, Report, Verdict


def read(api: Api, root: Path, what: str = "job/train", **more: Any) -> Reading:
    bundle = Bundle.create(root)
    try:
        return read_job_of(api.cluster(), reference(what), bundle, say=lambda text: None, **more)
    finally:
        bundle.close()


def judged(root: Path) -> Report:
    return diagnose(root, registry=registry.load_causes_of("gonogo.facts.events"))


def names(root: Path, plural: str) -> list[str]:
    path = root / f"kubernetes/{plural}.json"
    return [o["metadata"]["name"] for o in json.loads(path.read_text())["items"]]


def test_the_job_its_surroundings_and_nothing_of_others_are_kept(tmp_path: Path) -> None:
    api = world()
    read(api, tmp_path / "b")
    kept = {plural: names(tmp_path / "b", plural) for plural in
            ("jobs", "pods", "nodes", "persistentvolumeclaims", "resourcequotas", "services")}  # fmt: skip
    assert kept == {"jobs": ["train"], "pods": ["train-abc"], "nodes": ["node-0"], "persistentvolumeclaims": ["data"],
                    "resourcequotas": ["team"], "services": ["train"]}  # fmt: skip
    assert names(tmp_path / "b", "events") == [
        "node-0.nodeready", "train-abc.failedscheduling", "train-abc.scheduled", "train-abc.started"
    ]  # fmt: skip
    assert {r.method for r in api.asked} == {"GET"}
    text = (tmp_path / "b/kubernetes/jobs.json").read_text()
    assert "NCCL_DEBUG" in text and "hidden-value" not in text
    log = (tmp_path / "b/logs/train-abc.main.log").read_text().splitlines()
    assert log[0] == "[pod/train-abc/main] 2026-11-30T10:07:00.000Z epoch 0"


def test_what_the_program_raised_is_the_cause_and_what_was_overcome_is_not(tmp_path: Path) -> None:
    read(world(), tmp_path / "b")
    report = judged(tmp_path / "b")
    assert report.verdict is Verdict.FAULT
    assert [d.cause for d in report.diagnoses] == ["pod.user_code_error"]
    first = report.diagnoses[0]
    assert "ValueError: batch of 0 at /app/train.py:17" in first.summary
    assert ("logs/train-abc.main.log", 7) in {(e.file, e.line) for e in first.evidence}
    assert report.target.name == "job/train" and "namespace ml" in report.target.summary


def test_a_scheduling_failure_that_lasts_is_one(tmp_path: Path) -> None:
    """The near miss of what was overcome: nothing was ever assigned."""
    api = world()
    api.lists[PODS][0]["spec"].pop("nodeName")
    api.lists[PODS][0]["status"] = {"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}  # fmt: skip
    api.lists[EVENTS] = api.lists[EVENTS][:1]
    read(api, tmp_path / "b")
    assert names(tmp_path / "b", "nodes") == ["node-0", "node-1"]
    report = judged(tmp_path / "b")
    assert report.diagnoses and report.diagnoses[0].cause.startswith("scheduling.")


def test_an_event_reads_as_a_line_of_its_pods(tmp_path: Path) -> None:
    """It has a pod and a time, and may be taken back by what comes after it."""
    api = world()
    api.lists[EVENTS] = [
        event("Pod", "train-abc", "ErrImageNeverPull",
              'Container image "a/b:1" is not present with pull policy of Never', "2026-11-30T10:00:00Z"),
    ]  # fmt: skip
    api.lists[PODS][0]["status"] = {"phase": "Pending"}
    read(api, tmp_path / "b")
    (found,) = judged(tmp_path / "b").diagnoses
    assert (found.cause, [str(s) for s in found.subjects]) == ("image.not_found", ["pod/train-abc"])
    assert "a/b:1" in found.summary
    line = "[pod/train-abc/event] 2026-11-30T10:00:00Z ErrImageNeverPull: Container image"
    assert found.evidence[0].text.startswith(line)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (JOBS, "You may not list jobs.batch in namespace ml: whether the job failed, and why, is not known."),
        (PODS, "You may not list pods in namespace ml: how the pods ended is not known, and no log could be found."),
        (EVENTS, "You may not list events in namespace ml: "),
        (NODE_EVENTS, "You may not list events in namespace default: what happened to the nodes is not known."),
        (NODES, "You may not list nodes: whether the nodes are ready and what they hold is not known."),
        (CLAIMS, "You may not list persistentvolumeclaims in namespace ml: "),
        (QUOTAS, "You may not list resourcequotas in namespace ml: "),
        (SERVICES, "You may not list services in namespace ml: what names the job's pods have is not known."),
        (f"{PODS}/train-abc/log", "You may not get pods/log in namespace ml: what the program printed is not known."),
    ],
)
def test_what_may_not_be_seen_is_said_and_never_green(tmp_path: Path, path: str, words: str) -> None:
    api = world()
    api.lists[PODS][0]["status"]["containerStatuses"][0]["state"] = {"running": {}}
    api.lists[PODS][0]["status"]["phase"] = "Running"
    api.lists[EVENTS] = []
    api.logs = {"train-abc/main": stamped("step 1 loss 0.5\nstep 2 loss 0.4\n")}
    read(api, tmp_path / "all")
    healthy = judged(tmp_path / "all")
    assert (healthy.verdict, healthy.diagnoses) == (Verdict.NOTHING_FOUND, ())
    api.denied = {path}
    reading = read(api, tmp_path / "less")
    assert [text for text in reading.lost.values() if text.startswith(words)], reading.lost
    report = judged(tmp_path / "less")
    assert report.verdict is Verdict.DIAGNOSE_UNDECIDED
    assert not report.diagnoses  # what may not be read of the cluster is no fault of the job
    assert any(c.reason.startswith(words) for c in report.coverage.not_proven)


def test_the_rest_still_tells_the_cause(tmp_path: Path) -> None:
    api = world()
    api.denied = {JOBS, EVENTS, NODES, NODE_EVENTS, CLAIMS, QUOTAS}
    reading = read(api, tmp_path / "b")
    assert len(reading.lost) == 6
    assert judged(tmp_path / "b").diagnoses[0].cause == "pod.user_code_error"


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("job/tran", 'There is no job "tran" in namespace ml. Did you mean "train"?'),
        ("job/zzz", 'There is no job "zzz" in namespace ml: there are train, train-big.'),
        ("pod/train", 'There is no pod "train" in namespace ml'),
        ("jobset/train", "Context eks serves no jobsets.jobset.x-k8s.io"),
        ("jb/train", 'Did you mean "job"?'),
        ("train", "expected KIND/NAME such as job/train"),
        ("job/", "expected KIND/NAME"),
        ("deployment/x", "no kind of job that is known"),
    ],
)
def test_wrong_names_are_one_line(tmp_path: Path, what: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read(world(), tmp_path / "b", what)
    assert words in str(caught.value) and "\n" not in str(caught.value)
    assert not list((tmp_path / "b").iterdir()) if (tmp_path / "b").exists() else True


def test_another_kind_of_that_name_is_offered(tmp_path: Path) -> None:
    api = world()
    api.lists[PODS].append(pod("alone", ("Node", "x")))
    with pytest.raises(InputError, match="Did you mean pod/alone"):
        read(api, tmp_path / "b", "job/alone")


@pytest.mark.parametrize(("code", "words"), [(401, "does not accept these credentials"), (503, "failed (503")])
def test_no_way_in_is_one_line(tmp_path: Path, code: int, words: str) -> None:
    api = world()
    api.codes = {JOBS: code}
    with pytest.raises(InputError) as caught:
        read(api, tmp_path / "b")
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_pods_are_found_through_all_that_made_them(tmp_path: Path) -> None:
    """A TrainJob makes a JobSet, which makes a Job, which makes pods; versions are those that the cluster serves."""
    train, sets = (
        "/apis/trainer.kubeflow.org/v9/namespaces/ml/trainjobs",
        "/apis/jobset.x-k8s.io/v9/namespaces/ml/jobsets",
    )
    api = world()
    api.groups = {
        f"/apis/{group}": {"versions": [{"version": "v9"}], "preferredVersion": {"version": "v9"}}
        for group in ("trainer.kubeflow.org", "jobset.x-k8s.io")
    }
    api.groups["/apis/trainer.kubeflow.org/v9"] = {"resources": [{"name": "trainjobs", "kind": "TrainJob"}]}
    api.groups["/apis/jobset.x-k8s.io/v9"] = {"resources": [{"name": "jobsets", "kind": "JobSet"}]}
    for resource in (r for g in api.groups.values() for r in g.get("resources", [])):
        resource["namespaced"] = True
    trainjob, jobset = thing("fit"), thing("fit", ("TrainJob", "fit"))
    trainjob["metadata"]["uid"], jobset["metadata"]["uid"] = "TrainJob-fit", "JobSet-fit"
    api.lists |= {train: [trainjob], sets: [jobset]}
    api.lists[JOBS].append(job("fit-node-0", ("JobSet", "fit")))
    api.lists[PODS].append(pod("fit-node-0-0-q", ("Job", "fit-node-0")))
    api.logs["fit-node-0-0-q/main"] = stamped(TRACEBACK)
    reading = read(api, tmp_path / "b", "trainjob/fit")
    assert (reading.pods, reading.logs, reading.lost) == (1, 1, {})
    kept = {plural: names(tmp_path / "b", plural) for plural in ("trainjobs", "jobsets", "jobs", "pods")}
    assert kept == {"trainjobs": ["fit"], "jobsets": ["fit"], "jobs": ["fit-node-0"], "pods": ["fit-node-0-0-q"]}


def test_events_of_pods_that_are_gone_are_known_by_their_names(tmp_path: Path) -> None:
    api = world()
    api.lists[PODS] = [pod("train-big-xyz", ("Job", "train-big"))]
    api.lists[EVENTS] = [
        event("Pod", "train-old", "BackOff", "Back-off restarting failed container", "2026-11-30T10:00:00Z"),
        event("Pod", "train-big-old", "BackOff", "Back-off restarting failed container", "2026-11-30T10:00:00Z"),
        event("Pod", "training-1", "BackOff", "Back-off restarting failed container", "2026-11-30T10:00:00Z"),
    ]
    reading = read(api, tmp_path / "b")
    assert names(tmp_path / "b", "events") == ["train-old.backoff"]
    assert reading.notes == ["job/train has no pod: it made none, or they were deleted with their logs."]


def containers(*states: Mapping[str, Any]) -> Dict:
    found = pod("train-abc", ("Job", "train"))
    found["status"]["containerStatuses"] = [
        {"name": f"c{n}", "restartCount": 1, **state} for n, state in enumerate(states)
    ]
    return found


def test_which_logs_of_a_container_are_read(tmp_path: Path) -> None:
    ended = {"terminated": {"exitCode": 1}}
    api = world()
    api.lists[PODS] = [
        containers(
            {"state": {"running": {}}, "lastState": ended},
            {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended},
            {"state": {"waiting": {"reason": "ErrImagePull"}}},
        )
    ]
    text = stamped("hello\n")
    api.logs = dict.fromkeys(("train-abc/c0", "train-abc/c0/previous", "train-abc/c1", "train-abc/c1/previous"), text)
    reading = read(api, tmp_path / "b")
    found = sorted(p.name for p in (tmp_path / "b/logs").iterdir())
    assert found == ["train-abc.c0.log", "train-abc.c0.previous.log", "train-abc.c1.log"]
    assert not reading.lost  # a container that never ran has no log to miss


def test_a_log_that_is_long_is_read_from_its_end_and_said_to_be(tmp_path: Path) -> None:
    api = world()
    many = "\n".join(f"2026-11-30T10:00:00.000000000Z line {n}" for n in range(12_000))
    api.logs["train-abc/main"] = many
    reading = read(api, tmp_path / "b")
    assert reading.notes == ["1 of 1 logs were read in part: logs/train-abc.main.log, its last 10000 lines."]
    assert (tmp_path / "b/logs/train-abc.main.log").read_text().splitlines()[-1].endswith(" line 11999")
    wide = "\n".join(f"2026-11-30T10:00:00.000000000Z {n} {'x' * 9000}" for n in range(2_000))
    api.logs["train-abc/main"] = wide
    read(api, tmp_path / "c")
    kept = (tmp_path / "c/logs/train-abc.main.log").read_text().splitlines()
    assert len(kept) < 1000 and " 1999 " in kept[-1]  # its end, whatever its size


def test_since_bounds_logs_and_events(tmp_path: Path) -> None:
    api = world()
    read(api, tmp_path / "b", since_seconds=3600.0)
    assert names(tmp_path / "b", "events") == []
    log = next(r for r in api.asked if r.url.path.endswith("/log"))
    assert log.url.params["sinceSeconds"] == "3600"


def test_interrupted_it_keeps_what_came_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = world()
    answer = api.answer

    def interrupted(request: Any) -> Any:
        if request.url.path == QUOTAS:
            raise KeyboardInterrupt
        return answer(request)

    monkeypatch.setattr(api, "answer", interrupted)
    api.lists[PODS][0]["status"] = {"phase": "Running"}
    assert read(api, tmp_path / "b").interrupted
    report = judged(tmp_path / "b")
    assert report.verdict is Verdict.DIAGNOSE_UNDECIDED
    assert report.coverage.not_proven[0].reason == "Collecting was interrupted: more may be there."


def test_secrets_in_logs_are_not_kept(tmp_path: Path) -> None:
    api = world()
    api.logs["train-abc/main"] = stamped("login with password=hunter2secret\n" + TRACEBACK)
    read(api, tmp_path / "b")
    assert not any(b"hunter2secret" in p.read_bytes() for p in (tmp_path / "b").rglob("*") if p.is_file())


def test_judged_again_as_a_cluster_it_knows_not_all_pods(tmp_path: Path) -> None:
    """What else runs on the nodes was not read: whoever counts free devices must know."""
    read(world(), tmp_path / "b")
    pods = replay.read(tmp_path / "b").logs[PodObjects]
    assert isinstance(pods, PodObjects) and len(pods) == 1 and not pods.everywhere


def test_each_pod_of_many_is_cited_by_its_own_line_and_value(tmp_path: Path) -> None:
    api = world()
    api.lists[PODS] = [pod(f"train-{n}", ("Job", "train")) for n in range(3)]
    read(api, tmp_path / "b")
    found = [f for f in judged(tmp_path / "b").findings if f.check == "k8s.pod_state"]
    assert [(e.file, e.line, e.text) for f in found for e in f.evidence] == [
        ("kubernetes/pods.json", n + 2, f'Pod/train-{n} status.phase: "Failed"') for n in range(3)
    ]


def running(*names: str) -> Api:
    """A job whose pods run, and print a step a second."""
    api = world()
    api.lists[PODS] = [pod(name, ("Job", "train"), code=-1) for name in names]
    api.lists[EVENTS] = []
    api.logs = {f"{name}/main": stamped("step 1 loss 0.5\nstep 2 loss 0.4\n") for name in names}
    return api


def test_a_job_that_runs_is_read_twice_and_what_came_is_told(tmp_path: Path) -> None:
    api = running("train-0", "train-1")
    api.later = {"train-0/main": stamped("step 3 loss 0.3\nstep 4 loss 0.2\n", 8)}
    told: list[str] = []
    bundle = Bundle.create(tmp_path / "b")
    read_job_of(api.cluster(), reference("job/train"), bundle, again_seconds=0.1, say=told.append)
    bundle.close()
    lines = (tmp_path / "b/logs/train-0.main.log").read_text().splitlines()
    assert [line.rpartition("Z ")[2] for line in lines] == [f"step {n} loss 0.{6 - n}" for n in (1, 2, 3, 4)]
    assert len((tmp_path / "b/logs/train-1.main.log").read_text().splitlines()) == 2
    kept = json.loads((tmp_path / "b/readings.json").read_text())
    assert [(row["log"], row["lines"], row["gained"]) for row in kept["logs"]] == [
        ("logs/train-0.main.log", 2, 2), ("logs/train-1.main.log", 2, 0)
    ]  # fmt: skip
    assert kept["seconds"] >= 0.1
    assert told[-1] == "1 of 2 logs grew in 0 s, by 2 lines, not logs/train-1.main.log."
    assert any("runs: its logs and events are read again in 0 s" in text for text in told)


def ago(*seconds: float) -> str:
    """A log that wrote a line so many seconds ago, each."""
    now = datetime.now(UTC)
    return "".join(
        f"{now - timedelta(seconds=s):%Y-%m-%dT%H:%M:%S.%f}000Z step {n} loss 0.5\n" for n, s in enumerate(seconds)
    )


@pytest.mark.parametrize(
    ("logs", "more", "named"),
    [
        ((range(130, 100, -1), range(130, 100, -1)), [], {"train-0", "train-1"}),
        ((range(130, 100, -1), range(130, 110, -1)), [], {"train-1"}),  # the first to fall silent, by ten seconds
        ((range(130, 100, -1), range(130, 110, -1)), [0], None),  # the other goes on
        ((range(70, 40, -1), range(70, 40, -1)), [], None),  # not for long
        ((range(930, 100, -60), range(930, 100, -60)), [], None),  # no longer than at other times
        (([100], [100]), [], None),  # of one line nobody knows how often it comes
    ],
)
def test_a_job_that_runs_and_writes_no_more_may_hang(
    logs: tuple[Iterable[int], ...], more: list[int], named: set[str] | None, tmp_path: Path
) -> None:
    api = running("train-0", "train-1")
    api.logs = {f"train-{n}/main": ago(*seconds) for n, seconds in enumerate(logs)}
    api.later = {"train-0/main": ago(*more)}
    read(api, tmp_path / "b", again_seconds=0.1)
    report = judged(tmp_path / "b")
    assert report.verdict is (Verdict.NOTHING_FOUND if named is None else Verdict.DIAGNOSE_UNDECIDED)
    assert {s.name for d in report.diagnoses for s in d.subjects} == (named or set())
    assert all((d.cause, d.certainty) == ("job.rank_stalled", Certainty.HYPOTHESIS) for d in report.diagnoses)


def test_events_of_the_second_reading_are_a_document_of_their_own(tmp_path: Path) -> None:
    api = running("train-0")
    old = event("Pod", "train-0", "Unhealthy", "Readiness probe failed", "2026-11-30T10:07:00Z")
    api.lists[EVENTS] = [old]
    answer, asked = api.answer, []

    def later(request: httpx.Request) -> httpx.Response:
        if request.url.path == EVENTS:
            asked.append(request)
            if len(asked) > 1:
                new = event("Pod", "train-0", "Preempting", "Preempted by ml/big", "2026-11-30T10:08:00Z")
                api.lists[EVENTS] = [{**old, "count": 2}, new]
        return answer(request)

    api.answer = later  # type: ignore[method-assign]
    read(api, tmp_path / "b", again_seconds=0.1)
    again = json.loads((tmp_path / "b/kubernetes/events-again.json").read_text())["items"]
    assert [(e["reason"], e["count"]) for e in again] == [("Unhealthy", 2), ("Preempting", 1)]


@pytest.mark.parametrize("state", ["failed", "waiting", "once"])
def test_what_has_failed_or_waits_is_read_once(tmp_path: Path, state: str) -> None:
    api = running("train-0", "train-1")
    status = api.lists[PODS][1]["status"]["containerStatuses"][0]
    if state == "failed":
        status["state"] = {"terminated": {"exitCode": 1}}
    if state == "waiting":
        status["state"] = {"waiting": {"reason": "ImagePullBackOff"}}
    read(api, tmp_path / "b", again_seconds=0.0 if state == "once" else 0.1)
    assert not (tmp_path / "b/readings.json").exists()
    assert not [r for r in api.asked if "sinceTime" in r.url.params]


def test_what_happened_to_nodes_before_the_job_was_made_is_left_out(tmp_path: Path) -> None:
    api = world()
    api.lists[JOBS][0]["metadata"]["creationTimestamp"] = "2026-11-30T09:59:00Z"
    api.lists[NODE_EVENTS] = [
        event("Node", "node-0", "SystemOOM", "System OOM encountered, victim process: x", "2026-11-30T09:58:59Z"),
        event("Node", "node-0", "NodeNotReady", "Node node-0 status is now: NodeNotReady", "2026-11-30T10:03:00Z"),
    ]
    read(api, tmp_path / "b")
    kept = [e["reason"] for e in json.loads((tmp_path / "b/kubernetes/events.json").read_text())["items"]]
    assert "NodeNotReady" in kept and "SystemOOM" not in kept
