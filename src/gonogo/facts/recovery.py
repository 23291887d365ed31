"""What was overcome: errors that a job tried again and got past are no fault.

A log that ends well (steps go on, or the job says that it is done) takes back the errors before. A platform's warning
is taken back by its own good news of the same object, and by the job's good end. What damages results or hardware
stays, whatever comes after.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gonogo.facts.about import damages, is_fault, is_of_a_job, is_of_the_platform, is_row, name_of, sticks, whose
from gonogo.facts.ages import is_later
from gonogo.facts.beside import files_of_helpers
from gonogo.facts.events import Event, Events
from gonogo.facts.idle_plugins import of_idle_plugins
from gonogo.facts.in_time import in_time
from gonogo.facts.lines import file_place
from gonogo.facts.mentions import QUOTED, SEARCH
from gonogo.facts.neighbours import neighbours
from gonogo.facts.news import GOOD_NEWS, OF_MEETING, OF_PODS, PLATFORM, UNTIL_BOOT
from gonogo.facts.objects import Object, Objects
from gonogo.facts.strangers import rows_of_others, strangers
from gonogo.facts.well import JOBS, WELL, Progress, Well, Whole, folder_of, made_anew

ONE_A_LINE = '{"apiVersion":"v1","kind":"EventList","items":[\n'
TROUBLE = "log.trouble"
VAGUE = (TROUBLE, "k8s.warning", "python.error_line")
_KUBELET = re.compile(r"^\s*Warning\s+[A-Z]\w+\s")
"""A warning among the events that `kubectl describe` shows."""
_WHOLE_JOB = re.compile(
    r"(?i)\bjob\b.{0,60}\b(?:succeeded|completed|finished|done)\b|JobSucceeded"
    r"|JobState=COMPLETED|\bexit(?: code| status)?[ =:]+0\b"
)
_SPEECH = re.compile(
    r"""(?i)^.{0,60}?\b(?:sample|prompt|completion|generated|generation|decoded|prediction|question|answer|assistant)"""
    r"""(?: (?:text|prompt|completion|output|response|answer))?["']?\s*[:=]\s*["']"""
    r"""|^(?:\[[^\]]{1,80}\] ?|[\d:.TZ+-]{20,35} (?:std(?:out|err) [FP] )?){0,3}"""  # what collectors put before a line
    r"""\W{0,4}(?:user|assistant|system|human|customer|agent|instruction|response|[qa])(?: ?\d+)?\W{0,4}:\s"""
    r"""|^\W{0,3}(?:args|arguments|config)\s*[:=]\s*(?:Namespace\(|\{)"""
)
"""Texts that a model is asked or says, and settings: the words of faults in them are nobody's."""
_SCRIPTS = (".sh", ".bash", ".sbatch", ".slurm")
SETTINGS = (
    "env.", "job.nnodes", "job.processes", "train.loader", "nccl.socket_ifname", "nccl.environment", "host.",
    "iam.attached_policy", "cni.snat_setting",
)  # fmt: skip
"""What a script or a manifest says of the job; the rest of its lines are commands, and patterns to look for."""
_PROSE = (".md", ".rst", ".markdown", ".adoc")


def standing(events: Events, objects: Objects, progress: Progress) -> Events:
    """The events that were not overcome; context stays as it is."""
    known = {(e.file, e.line) for e in events if e.signature not in VAGUE}
    events = Events(tuple(e for e in events if e.signature != TROUBLE or (e.file, e.line) not in known), events.counts)
    events = Events(tuple(e for e in events if not _is_mention(e)), events.counts)
    if idle := of_idle_plugins(events, objects):
        events = events.outside(idle)
    helpers = files_of_helpers(objects)
    if helpers:
        events = Events(
            tuple(e for e in events if e.file not in helpers or not e.signature.startswith(OF_PODS)), events.counts
        )
    others = strangers(objects, {*progress.last, *(e.file for e in events)})
    foreign = rows_of_others(events, objects, others)
    events = Events(
        tuple(
            e
            for e in events.outside(foreign)
            if not e.signature.startswith(OF_PODS) or (name_of(e) or e.who.pod) not in others
        ),
        events.counts,
    )
    passed = {e.file: e.line for e in events.of("job.tests_passed")}
    events = Events(tuple(e for e in events if not is_fault(e) or e.line > passed.get(e.file, 0)), events.counts)
    # one loss that is no number, and then numbers: that step was skipped, or it was none of training
    back = Events(tuple(e for e in events.of("train.loss_not_finite") if e.line < progress.finite.get(e.file, 0)))
    events = Events(events.outside(back).all, events.counts)
    done = events.of("job.finished", "job.tests_passed")
    good: dict[str, int] = dict(progress.last)
    for e in (e for e in done if not is_row(e)):
        good[e.file] = max(good.get(e.file, 0), e.line)
    last_fault: dict[str, int] = {}
    for e in events:
        if is_fault(e) and not e.signature.startswith(PLATFORM):
            last_fault[e.file] = max(last_fault.get(e.file, 0), e.line)
    ended_well = {f for f, line in good.items() if line > last_fault.get(f, 0)}
    beside = neighbours(objects, [f for f in progress.last if f in ended_well])
    others |= beside.pods
    events = Events(tuple(e for e in events if not beside.has(e)), events.counts)
    kept = [e for e in events if not (is_fault(e) and e.file in ended_well and e.line < good[e.file] and not sticks(e))]
    launched = _files_that_launched(objects)
    kept = [e for e in kept if e.file not in launched or not e.signature.startswith(("capacity.", "quota."))]
    boots = {e.file: e.line for e in events.of("host.reboot")}
    if ended_well:
        kept = [e for e in kept if not (e.signature.startswith(UNTIL_BOOT) and e.line < boots.get(e.file, 0))]
    again = {made_anew(p.name) for p in objects.of("Pod") if str(p.get("status.phase")) in WELL}
    before = {p.name for p in objects.of("Pod") if made_anew(p.name) in again and made_anew(p.name) != p.name}
    kept = [e for e in kept if not (is_fault(e) and not sticks(e) and _is_log_of(e.file, before))]
    if done:
        up = {p.name for p in objects.of("Pod") if _runs(p)}
        kept = [
            e for e in kept if not (is_fault(e) and (name_of(e) or e.who.pod) in up and file_place(e.file) not in up)
        ]
    mixed = _files_of_many(objects)
    news: dict[str, list[Event]] = {}
    for e in events.of(*GOOD_NEWS):
        news.setdefault(e.file, []).append(e)
    over = {(e.file, e.line) for e in kept if not sticks(e) and _taken_back(e, news.get(e.file, []), e.file in mixed)}
    kept = [e for e in kept if (e.file, e.line) not in over or sticks(e) or not _speaks(e)]
    kept = [e for e in kept if not _taken_back(e, news.get(e.file, []), e.file in mixed)]
    kept = in_time(kept)
    now = [e for e in kept if is_fault(e) and not _is_of_the_start(e) and "previous" not in e.file]
    if not now:
        well = Well.of(done, objects, [f for f in progress.last if f in ended_well])
        kept = [e for e in kept if not is_fault(e) or sticks(e) or not well.covers(e)]
        kept = [e for e in kept if not (e.signature == TROUBLE and is_row(e) and name_of(e) in well.names)]
        ends = [f for f in _ends(done) if f in ended_well]
        whole = Whole.of(objects, progress, [f for f in good if f in ended_well], others, ends)
        if whole:
            alone = not any(is_fault(e) and is_of_a_job(e) for e in kept)
            kept = [e for e in kept if not is_fault(e) or damages(e) or not whole.covers(e, alone)]
    return Events(tuple(kept), events.counts)


def folders_of_good_ends(events: Events, objects: Objects, progress: Progress) -> frozenset[str]:
    """The folders of what shows that a job came to its end, or goes on."""
    well = Well.of(events.of("job.finished"), objects)
    files = [*progress.last, *events.of("job.finished", "node.launched").files]
    files += [o.file.name for o in objects.of("Pod", *JOBS)] if well.jobs else []
    return frozenset(folder_of(file) for file in files)


def _files_of_many(objects: Objects) -> set[str]:
    """Files whose Event objects are of more than one pod, where lines don't say which: one a line does."""
    names: dict[str, set[str]] = {}
    for o in objects.of("Event"):
        if o.file.text.startswith(ONE_A_LINE):
            continue
        names.setdefault(o.file.name, set()).add(str(o.get("involvedObject.name") or o.get("regarding.name") or ""))
    return {file for file, found in names.items() if len(found) > 1}


def _is_mention(event: Event) -> bool:
    """Whether a line only speaks of faults: a model's words, settings, searches, code or a quote of it."""
    if event.file.endswith(_SCRIPTS):
        return not event.signature.startswith(SETTINGS)
    if is_fault(event) and SEARCH.search(event.text):
        return True
    return bool(_SPEECH.search(event.text)) or (event.file.endswith(_PROSE) and bool(QUOTED.search(event.text)))


def _is_log_of(file: str, pods: set[str]) -> bool:
    """Whether a file is named for one of the pods, or for the end of its name."""
    place = file_place(file)
    end = place.rpartition("-")[2]
    return place in pods or (len(end) == 5 and any(p.endswith(f"-{end}") for p in pods))


def _runs(pod: Object) -> bool:
    """Whether a table shows a pod that runs now with all its containers, or came to a good end."""
    ready, _, wanted = str(pod.get("status.ready", "")).partition("/")
    phase = str(pod.get("status.phase"))
    return phase in WELL or (phase == "Running" and ready == wanted != "")


def _files_that_launched(objects: Objects) -> set[str]:
    """Files that list the activities of a scaling group, the newest of which is a launch that succeeded."""
    newest: dict[str, Object] = {}
    for one in objects.of("Activities"):
        if one.get("StatusCode") in ("Successful", "Failed", "Cancelled") and one.get("StartTime"):
            last = newest.get(one.file.name)
            if last is None or str(one.get("StartTime")) > str(last.get("StartTime")):
                newest[one.file.name] = one
    return {
        file
        for file, one in newest.items()
        if one.get("StatusCode") == "Successful" and "aunching" in str(one.get("Description", "aunching"))
    }


def _taken_back(event: Event, told: Sequence[Event], of_many: bool) -> bool:
    """Whether good news of the same object stands after it in the same file; in one of many both must be named."""
    if not told or not _speaks(event):
        return False
    warns = event.signature == TROUBLE and (is_row(event) or bool(_KUBELET.search(event.text)))
    if not warns and not event.signature.startswith((*PLATFORM, *OF_MEETING)):
        return False
    if "exec format error" in event.text:  # an image is pulled and started before the kernel refuses its program
        return False
    name = whose(event) if of_many else name_of(event)
    kind = "k8s.warning" if warns else event.signature
    for news in told:
        if kind.startswith(GOOD_NEWS[news.signature]) and is_later(news, event):
            other = whose(news) if of_many else name_of(news)
            if name == other or (not of_many and (not name or not other)):
                return bool(name) or not of_many
            if news.signature == "node.launched" and _kin(name, other):
                return True
    return False


def _ends(done: Events) -> set[str]:
    """Logs in which a whole job says that it is done; a test, or a part of a job, is none."""
    return {e.file for e in done if e.signature == "job.finished" and _WHOLE_JOB.search(e.text)}


def _is_of_the_start(event: Event) -> bool:
    """Whether a line is the platform's, or a rank's that looks for the others: over in a job that is whole."""
    return is_of_the_platform(event) or event.signature in OF_MEETING


def _speaks(event: Event) -> bool:
    """Whether a line says, in whatever words, that something broke."""
    return is_fault(event) or event.signature == TROUBLE


def _kin(one: str, other: str) -> bool:
    """Whether two node claims are of one pool: a claim that failed is made anew under another name."""
    return one.rpartition("-")[0] == other.rpartition("-")[0] != ""
