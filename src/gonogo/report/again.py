"""The command of a run, to be typed again: on the same target, by the same plan, at the same level."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import replace

from gonogo.model import Diagnosis, RunInfo

_VERIFY = re.compile(r"\bgonogo verify\b(?P<rest>[^`;#]*)")
_KUBECTL = re.compile(r"^kubectl (?!.*--context)")
_ON_A_NODE = re.compile(r"  # on (?P<node>[\w.-]+)$")
_NOT_TOLD = "…"
"""Stands for the flags of a run that did not keep them: without them, the command would be one of this machine."""


def command(run: RunInfo, only: str | None = "", timeout: str | None = None) -> str:
    """`gonogo verify -f plan.yaml --nodes 3`; `only` and `timeout` go before what the run had, "" is no timeout.

    `only` is "" for what the run had, and None for all checks.
    """
    instead = {"--only": only or ""} if only != "" else {}
    instead |= {} if timeout is None else {"--timeout": timeout}
    more = [(flag, value) for flag, value in instead.items() if value]
    kept = [(flag, value) for flag, value in run.flags or () if flag not in instead]
    return " ".join(["gonogo verify", *_words(run, [*kept, *more])])


def _words(run: RunInfo, flags: list[tuple[str, str]]) -> list[str]:
    told = [] if run.flags is not None else [_NOT_TOLD]
    return told + [" ".join(map(shlex.quote, (flag, value) if value else (flag,))) for flag, value in flags]


def longer(run: RunInfo) -> str:
    """The --timeout that lets the run come to its end."""
    seconds = math.ceil(run.uncut_seconds)
    return f"{seconds}s" if seconds < 120 else f"{math.ceil(seconds / 60)}m"


def in_context(diagnosis: Diagnosis, run: RunInfo, in_cluster: bool = False) -> Diagnosis:
    """With the run's own flags in each `gonogo verify` that it advises, but for those to be typed on a node.

    Of a cluster, kubectl gets its context, and as a node has no shell to come by, the way to one goes before the
    first command that needs it.
    """
    commands = [_with_flags(c, run) for c in diagnosis.commands]
    if in_cluster:
        if name := next((m["node"] for c in commands if (m := _ON_A_NODE.search(c))), ""):
            shell = f"kubectl debug node/{name} -it --profile=sysadmin --image=busybox -- chroot /host"
            commands.insert(0, f"{shell}  # for a shell on {name}")
        if context := next((value for flag, value in run.flags or () if flag == "--context"), ""):
            commands = [_KUBECTL.sub(f"kubectl --context {shlex.quote(context)} ", c) for c in commands]
    return replace(
        diagnosis,
        commands=tuple(commands),
        next_observation=_with_flags(diagnosis.next_observation, run),
        consequences=tuple(in_context(d, run, in_cluster) for d in diagnosis.consequences),
    )


def _with_flags(text: str, run: RunInfo) -> str:
    def add(match: re.Match[str]) -> str:
        typed = set(match["rest"].split())
        kept = [(flag, value) for flag, value in run.flags or () if flag not in typed | {"--only", "--timeout"}]
        return " ".join(["gonogo verify", *_words(run, kept)]) + match["rest"]

    return text if " # on " in text else _VERIFY.sub(add, text)
