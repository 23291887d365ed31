"""What the scheduler and the kubelet say, in a person's words, with their own behind it."""

from __future__ import annotations

import re

from gonogo.documents.kubernetes import PodStart

PULL = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable")
_PULLS = {
    r"no match for platform|exec format|architecture": "the image is for another CPU architecture",
    r"no basic auth|\b40[13]\b|denied|unauthorized|pull access": "the registry refuses these credentials",
    r"not found|manifest unknown|does not exist|NotFound": "the image does not exist under this name",
    r"no such host|server misbehaving|Temporary failure": "the registry's name does not resolve on the node",
    r"i/o timeout|deadline|connection refused|unreachable|dial tcp": "the node can't reach the registry",
    r"toomanyrequests|\b429\b|\brate\b": "the registry limits the rate of pulls",
    r"not present with pull policy": "the image is not on the node, and may not be pulled",
}
_SCHEDULER = {
    r"untolerated taint": "has a taint that the pods do not tolerate",
    r"didn't match Pod's node affinity|node selector": "does not match the selector or affinity",
    r"Insufficient (\S+?)[.,]?$": "has too little free {0}",
    r"anti-affinity": "already has a pod of this run",
    r"unbound immediate PersistentVolumeClaims": "waits for a claim that is not bound",
    r"volume node affinity conflict": "is in another zone than the volume",
    r"persistentvolumeclaim (\S+) not found": "needs the claim {0}, which does not exist",
    r"unschedulable": "is cordoned",
}


def in_words(pod: PodStart) -> str:
    """One clause without a period."""
    if pod.reason in PULL:
        meant = next(
            (text for pattern, text in _PULLS.items() if re.search(pattern, pod.message, re.I)), "the pull fails"
        )
        return f"{meant} ({pod.reason}: {_cut(pod.message)})"
    match pod.reason:
        case "Unschedulable":
            return f"it finds no node: {_cut(unschedulable(pod.message))}"
        case "OOMKilled":
            return "it was killed for memory: its limit is too small, or the node ran out (OOMKilled)"
        case "CrashLoopBackOff" | "Error" | "StartError" | "RunContainerError" | "ContainerCannotRun":
            code = f" with exit code {pod.exit_code}" if pod.exit_code is not None else ""
            return f"its container dies at once{code} ({pod.reason}: {_cut(pod.message)})"
        case "FailedCreate":
            return f"the API server refuses it: {_cut(pod.message)}"
        case "CreateContainerConfigError":
            return f"something that it refers to is missing: {_cut(pod.message)}"
        case "FailedMount" | "FailedAttachVolume":
            return f"a volume can't be mounted: {_cut(pod.message)}"
        case "FailedCreatePodSandBox":
            return f"it gets no network: {_cut(pod.message)}"
        case "Evicted" | "Preempting" | "Preempted" | "PreemptionByScheduler":
            return f"it was evicted ({pod.reason}: {_cut(pod.message)})"
        case "Queued":
            return f"its turn has not come: {_cut(pod.message)}"
        case "NodeLost":
            return f"its node stopped answering: {_cut(pod.message)}"
    return _cut(f"{pod.reason}: {pod.message}".strip(": ")) or "no reason is known yet"


def unschedulable(message: str) -> str:
    """`0/4 nodes are available: 1 Insufficient nvidia.com/gpu, …` as clauses about so many nodes."""
    head, _, rest = message.partition("nodes are available:")
    reasons = re.split(r"\.\s|, (?=\d+ )", re.split(r"(?:no new claims to deallocate, )?preemption:", rest)[0])
    said = []
    for reason in (r.strip(" .,") for r in reasons):
        number, _, text = reason.partition(" ")
        if number.isdigit():
            said.append(f"{number} {_of_nodes(text)}")
        elif reason:
            said.append(reason)
    return "; ".join(said) + f" (of {head.partition('/')[2].strip()} nodes)" if said and head else message.rstrip(".")


def _of_nodes(text: str) -> str:
    for pattern, words in _SCHEDULER.items():
        if match := re.search(pattern, text):
            extra = re.search(r"\{([^}]*)\}", text)
            detail = f" ({extra[1].strip()})" if extra else ""
            return words.format(*match.groups()) + detail
    return text


def _cut(text: str, longest: int = 300) -> str:
    text = " ".join(text.split()).rstrip(".")
    return text if len(text) <= longest else text[:longest] + "…"
