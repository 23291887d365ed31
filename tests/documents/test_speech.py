"""Texts about faults are left aside; logs, transcripts and issues that quote them are not."""

import json
import time
from pathlib import Path

import pytest

from gonogo import registry
from gonogo.diagnose import diagnose
from gonogo.documents.notebook import outputs
from gonogo.documents.speech import JUDGED_LINES, LARGEST_BYTES, kind, without_changes
from gonogo.model import Certainty, Report, Verdict

OOM = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity)"
FULL = "OSError: [Errno 28] No space left on device"
XID = "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus."
WATCHDOG = (
    "[rank3]:[E ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=42, "
    "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600123 milliseconds before timing out."
)

ABOUT = {
    "a history of commands": [
        f'kubectl logs train-0 | grep "{OOM}"\ndmesg | grep "NVRM: Xid"\necho "{FULL}"\n',
        f': 1700000000:0;kubectl get pods\n: 1700000003:0;kubectl logs train-0 | grep "{OOM}"\n',
        f"  501  cd /logs\n  502  grep -c '{FULL}' *.log\n  503  ls\n",
    ],
    "source code": [
        "import torch\n\ndef main():\n    try:\n        step()\n    except RuntimeError as e:\n"
        f"        raise E('{OOM}') from e\n",
        "#include <nccl.h>\nvoid f(int n) {\n  if (n < 0) {\n"
        f'    throw std::runtime_error("{OOM}");\n  }}\n  return;\n}}\n',
    ],
    "a history of commits": [f"1234567 Fix {OOM}\n2345678 Handle {FULL}\n3456789 (HEAD -> main) Explain {XID}\n"],
    "a list of changes": [
        f"v2.1\n----\n* fix ``{FULL}`` when saving\n* {OOM} is now a warning\n",
        f"# Changelog\n\n## [2.1.0] - 2024-01-01\n### Fixed\n- {OOM} when evaluating\n",
        f"Release notes for 2.20.5\n\nFixed a hang after {XID}\nImproved the message {FULL}\n",
    ],
    "a talk about what is settled": [
        f'[10:01] al: yesterday I saw "{OOM}" on the old cluster\n[10:02] bo: all fixed since, the run is fine\n',
        f'Hi team,\n\nerrors like "{OOM}" of last week\nhave been fixed. Nothing to do.\n\nBest, Bo\n',
        f"# Postmortem\n\nThe nightly run failed with {OOM}.\nIt was resolved by a smaller batch.\n",
    ],
    "documentation": [
        f"# Troubleshooting\n\nYou may see\n\n```\n{WATCHDOG}\n```\n\nThis often means that a rank is slow."
        f"\n\n    {FULL}\n",
        f"Known failure: {OOM}\n  Reason:       OOMKilled\nKnown failure: {XID}\n",
        f"### Why does my job die?\n\nWe recommend smaller batches.\n\n```\n{OOM}\n```\n",
        f"Out of memory\n=====\n\nPyTorch raises the following exception::\n\n    {OOM}\n\nTo resolve it, use less.\n",
    ],
}
OF_A_JOB = {
    "bare": f"{OOM}\n",
    "fenced": f"Training with torch 2.4 fails. Anything known?\n\n```\nstep 1\n{OOM}\n```\n",
    "issue": f"### Describe the bug\n\nThe following error is raised when running.\n\nPossible cause: ?\n"
    f"```\n{OOM}\n```\n",
    "issue of mine": f"You can see the common error below, typically after 10 minutes.\n\n"
    f"```\n{OOM}\n```\nI use 8 GPUs.\n",
    "program and its output": "import torch\n\ndef f():\n    x = g()\n    return x\n\ntry:\n    f()\nexcept E as e:\n"
    f"    raise\n\n{OOM}\n",
    "issue with a program": "It dies:\n```python\nimport torch\n\ndef f():\n    x = g()\n    return x\n\nf()\n```\n\n"
    f"```\nE {OOM}\n```\n",
    "transcript": f"$ kubectl logs train-0 | tail -3\nstep 10 loss 2.2\n{OOM}\n$ kubectl get pods\n",
    "diff before": "$ git diff\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n y = 3\n"
    f"$ python a.py\n{OOM}\n",
    "traceback": f'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n'
    f'    raise E("{OOM}")\ntorch.OutOfMemoryError: {OOM}\n',
    "chat": f"[10:01] al: one node is fine\n[10:02] al: {OOM}\n[10:03] bo: still the same here\n",
    "long log": "# this is how to fix errors\n" * JUDGED_LINES + f"2026-01-01 10:00:00 ERROR {OOM}\n",
}
DIFF = f'diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n-    raise E("{OOM}")\n'
DIFF += f'+    raise OSError("{FULL}")\n'
COMMIT = f"commit {'1' * 40}\nAuthor: A <a@b>\nDate:   now\n\n    Fix {OOM}\n\n    {FULL}\n"
MAILED = f"From {'1' * 40} Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: [PATCH] Fix {OOM}\n\n{FULL}\n"
MAILED += "---\n a.py | 2 +-\n"


def diagnosed(path: Path, text: str, name: str = "text") -> Report:
    (path / name).write_text(text)
    return diagnose(path / name, registry=registry.load_causes_of("gonogo.facts.events"))


@pytest.mark.parametrize(("what", "text"), [(what, text) for what, texts in ABOUT.items() for text in texts])
def test_a_text_about_faults_has_none(what: str, text: str, tmp_path: Path) -> None:
    assert kind(text.encode()) == what
    report = diagnosed(tmp_path, text)
    assert report.verdict is Verdict.DIAGNOSE_UNDECIDED
    assert not report.diagnoses
    assert any(f"is {what}" in claim.reason for claim in report.coverage.not_proven)


@pytest.mark.parametrize("text", OF_A_JOB.values(), ids=OF_A_JOB)
def test_what_a_job_printed_counts_wherever_it_was_pasted(text: str, tmp_path: Path) -> None:
    report = diagnosed(tmp_path, text)
    assert report.verdict is Verdict.FAULT
    assert report.diagnoses[0].cause == "gpu.out_of_memory"


@pytest.mark.parametrize("text", [DIFF, COMMIT, MAILED + DIFF, COMMIT + DIFF])
def test_diffs_and_commits_become_blank_lines(text: str, tmp_path: Path) -> None:
    assert diagnosed(tmp_path, text).verdict is Verdict.DIAGNOSE_UNDECIDED
    left = without_changes(f"{text}$ python a.py\n{OOM}\n".encode()).decode().split("\n")
    assert [s for s in left if s] == ["$ python a.py", OOM]
    assert left.index(OOM) == text.count("\n") + 1


MANIFEST = f"""# what train.py may say: {OOM}
apiVersion: batch/v1
kind: Job
metadata: {{name: train, creationTimestamp: null}}
spec:
  template:
    spec:
      containers:
      - name: t
        command: [sh, -c, 'python train.py || echo "{OOM}"']
        env: [{{name: TORCH_NCCL_ASYNC_ERROR_HANDLING, value: "1"}}]
---
{{{{- if .Values.more }}}}
apiVersion: v1
kind: ConfigMap
data:
  a: |
    {FULL}
{{{{- end }}}}
"""
OF_A_CLUSTER = {
    "status": f"{MANIFEST}status:\n  message: '{OOM}'\n",
    "live": f"apiVersion: v1\nkind: Pod\nmetadata:\n  uid: 1f0b\n  annotations: {{last: '{OOM}'}}\n",
    "list": f"apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n  status:\n    message: '{OOM}'\n",
    "transcript": f"$ cat job.yaml\n{MANIFEST}",
    "log after it": f"{MANIFEST}{OOM}\n",
}


def test_a_manifest_says_what_should_be_and_not_what_was(tmp_path: Path) -> None:
    assert kind(MANIFEST.encode()) == kind(MANIFEST.replace("\n", "\r\n").encode()) == "a manifest"
    report = diagnosed(tmp_path, MANIFEST)
    assert (report.verdict, report.findings, report.diagnoses) == (Verdict.DIAGNOSE_UNDECIDED, (), ())
    (tmp_path / "log").write_text("step 9 loss 1.2\n")
    both = diagnose(tmp_path, registry=registry.load_causes_of("gonogo.facts.events"))
    assert (both.verdict, both.diagnoses) == (Verdict.NOTHING_FOUND, ())


SCRIPT = "kind: Pod\nspec:\n  containers:\n  - args:\n    - |\n          until ping -c1 x; do sleep 1\n          done\n"


def test_the_end_of_a_manifests_loop_is_not_the_end_of_a_job(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(SCRIPT)
    (tmp_path / "log").write_text("ERROR: the reader of shard 7 gave up\n")
    report = diagnose(tmp_path, registry=registry.load_causes_of("gonogo.facts.events"))
    assert report.verdict is Verdict.DIAGNOSE_UNDECIDED


def test_settings_in_a_manifest_count() -> None:
    case = Path(__file__).parents[1] / "cases/c-bw-p4d-a"  # its MPIJob names the type of instance
    report = diagnose(case, registry=registry.load_causes_of("gonogo.facts.events"))
    assert [(d.cause, d.certainty) for d in report.diagnoses] == [("efa.gdr_not_used", Certainty.ESTABLISHED)]


@pytest.mark.parametrize("text", OF_A_CLUSTER.values(), ids=OF_A_CLUSTER)
def test_what_a_cluster_says_of_an_object_is_no_manifest(text: str) -> None:
    assert kind(text.encode()) != "a manifest"


def test_a_search_for_a_fault_is_none(tmp_path: Path) -> None:
    searched = f'$ kubectl get pods\nNAME  READY\nw-0  1/1\n$ kubectl logs w-0 | grep "{OOM}"\n'
    text = f"{searched}$ kubectl logs w-0 | tail -1\nstep 9\n"
    assert diagnosed(tmp_path, text).verdict is Verdict.NOTHING_FOUND
    assert diagnosed(tmp_path, f"{searched}{OOM}\n").verdict is Verdict.FAULT  # the same words, as its output


def notebook(*cells: tuple[int | None, list[dict[str, object]]]) -> str:
    made = [{"cell_type": "code", "execution_count": n, "source": [f"print('{FULL}')"], "outputs": o} for n, o in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def error(name: str, text: str) -> dict[str, object]:
    red = f"\x1b[0;31m{name}\x1b[0m"
    trace = [
        "-" * 75,
        f"{red}    Traceback (most recent call last)",
        "Cell \x1b[0;32mIn[3], line 2\x1b[0m\n----> 2 f()",
    ]
    return {"output_type": "error", "ename": name, "evalue": text, "traceback": [*trace, f"{red}: {text}"]}


STEPS: dict[str, object] = {
    "output_type": "stream",
    "name": "stdout",
    "text": ["step 1 loss 2.0\n", "Training complete\n"],
}


def test_an_error_that_a_notebook_shows_is_found_at_its_line(tmp_path: Path) -> None:
    text = notebook((1, [STEPS]), (2, [error("OutOfMemoryError", OOM.partition(": ")[2])]), (None, [STEPS]))
    report = diagnosed(tmp_path, text)
    assert [d.cause for d in report.diagnoses] == ["gpu.out_of_memory"]
    first = text[: text.index('"traceback"')].count("\n") + 2
    assert {e.line for e in report.diagnoses[0].evidence} <= set(range(first, first + 7))


def test_a_notebooks_code_and_what_was_run_again_are_no_faults(tmp_path: Path) -> None:
    bad = error("OutOfMemoryError", OOM.partition(": ")[2])
    assert diagnosed(tmp_path, notebook((1, [STEPS]))).verdict is Verdict.NOTHING_FOUND
    assert diagnosed(tmp_path, notebook((2, [bad]), (3, [STEPS]))).verdict is Verdict.NOTHING_FOUND
    assert diagnosed(tmp_path, notebook((2, [bad]), (1, [STEPS]))).verdict is Verdict.FAULT


def test_a_users_own_exception_in_a_notebook_is_named(tmp_path: Path) -> None:
    report = diagnosed(tmp_path, notebook((3, [error("KeyError", "'lr'")])))
    assert [d.cause for d in report.diagnoses] == ["pod.user_code_error"]


@pytest.mark.parametrize("text", ['{"nbformat": 4, "cells": [1]}', '{"nbformat": 4, "cells": ', '{"cells": {"a": 1}}'])
def test_what_only_looks_like_a_notebook_is_read_as_lines(text: str, tmp_path: Path) -> None:
    assert outputs(text.encode()) is None
    assert diagnosed(tmp_path, f"{text}\n{OOM}\n").verdict is Verdict.FAULT


def test_a_large_file_is_a_log_whatever_its_head_looks_like() -> None:
    text = ABOUT["documentation"][0].encode()
    assert kind(text + b"\n" * (LARGEST_BYTES - len(text))) == "documentation"
    assert kind(text + b"\n" * LARGEST_BYTES) == ""


@pytest.mark.parametrize(
    "line", ["=" * 40_000, f"Why {'?' * 40_000}x", "A= " * 20_000, f"{' ' * 40_000}x", "- a" * 9_000]
)
def test_judging_costs_little_whatever_a_line_holds(line: str) -> None:
    began = time.process_time()
    kind(line.encode())
    kind(f"{line[:300]}\n".encode() * 1_000)
    assert time.process_time() - began < 2


def test_a_notebook_of_many_odd_outputs_is_read_at_once() -> None:
    odd = '{"output_type": "stream", "text": ["\\u003d\\u003D\\/"]}'
    text = f'{{"nbformat": 4, "cells": [{{"cell_type": "code", "outputs": [{", ".join([odd] * 50_000)}]}}]}}'
    began = time.process_time()
    assert sum(1 for _ in outputs(text.encode()) or ()) == 50_000
    assert time.process_time() - began < 10
