"""The kinds of jobs that can be read of a cluster, and how users name one of them."""

from __future__ import annotations

from dataclasses import dataclass

from gonogo.errors import InputError, did_you_mean, shown


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job, by what users call it."""

    group: str
    plural: str
    kind: str
    words: tuple[str, ...]


KINDS = (
    Kind("batch", "jobs", "Job", ("job", "jobs")),
    Kind("", "pods", "Pod", ("pod", "pods", "po")),
    Kind("jobset.x-k8s.io", "jobsets", "JobSet", ("jobset", "jobsets")),
    Kind("kubeflow.org", "pytorchjobs", "PyTorchJob", ("pytorchjob", "pytorchjobs")),
    Kind("kubeflow.org", "mpijobs", "MPIJob", ("mpijob", "mpijobs")),
    Kind("trainer.kubeflow.org", "trainjobs", "TrainJob", ("trainjob", "trainjobs")),
)


@dataclass(frozen=True, slots=True)
class Reference:
    """Which object is meant: `job/train`."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind.words[0]}/{self.name}"


def reference(text: str) -> Reference:
    """`job/train`, `pods/train-0`, `pytorchjobs.kubeflow.org/train`. Raises InputError."""
    word, slash, name = text.partition("/")
    known = {w: k for k in KINDS for w in k.words}
    known |= {f"{k.plural}.{k.group}": k for k in KINDS if k.group}
    example = "expected KIND/NAME such as job/train, with one of " + ", ".join(k.words[0] for k in KINDS)
    if not slash or not name or "/" in name or name != name.strip():
        raise InputError(f"{shown(text)} names no object of a cluster: {example}.")
    if word.lower() not in known:
        hint = did_you_mean(word.lower(), known)
        raise InputError(f"{shown(word)} is no kind of job that is known{f'.{hint}' if hint else f': {example}.'}")
    return Reference(known[word.lower()], name)
