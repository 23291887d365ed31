"""What a verdict rests on, and what it leaves open: told from the findings alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gonogo.model import PREFIXES, Claim, Coverage, Finding, Status, Subject

_PLURAL = {"gpu": "GPUs", "aws": "AWS resources"}
_ONE_OF_A_KIND = ("cluster", "object")  # what is told by the title of the check and not counted
_HARMLESS = (Status.OK, Status.SKIP, Status.WARN)


def coverage(
    findings: Sequence[Finding],
    titles: Mapping[str, str],
    skipped: Mapping[str, str],
    not_asked: Sequence[str] = (),
    cannot_prove: Iterable[str] = (),
    untouched: Iterable[str] = (),
    untried: Iterable[str] = (),
) -> Coverage:
    """Subjects and checks that are proven, and all that isn't, with the reason."""
    open_claims = [
        *_undetermined(findings, titles),
        *(Claim(titles.get(id, id), reason, (id,)) for id, reason in skipped.items()),
        *(Claim(text, "not on this kind of target") for text in cannot_prove),
        *(Claim(text, "found and not touched") for text in untouched),
        *(Claim(*_parted(text)) for text in untried),
    ]
    if not_asked:
        count = len(not_asked)
        open_claims.append(Claim(f"{count} other check{'s' * (count != 1)}", "not asked for", tuple(not_asked)))
    return Coverage((*_subjects(findings), *_whole(findings, titles)), tuple(open_claims))


def _parted(text: str) -> tuple[str, str]:
    """What was not tried, and why."""
    what, _, why = text.partition(": ")
    return what, why


def _subjects(findings: Iterable[Finding]) -> list[Claim]:
    """`3 of 4 nodes`: a subject counts when something about it is ok and nothing about it is worse than a warning.

    No subject of a kind counts when a check of that very kind could not tell them apart and found nothing well.
    """
    findings = tuple(findings)
    blind = {PREFIXES.get(f.check[:3]) for f in findings if f.subject.kind == "cluster" and f.status not in _HARMLESS}
    by_subject: dict[Subject, set[Status]] = {}
    by_kind: dict[str, set[str]] = {}
    for finding in findings:
        if finding.subject.kind not in _ONE_OF_A_KIND:
            by_subject.setdefault(finding.subject, set()).add(finding.status)
            checks = by_kind.setdefault(finding.subject.kind, set())
            if finding.status is Status.OK:  # what it only skipped or warned of proves nothing
                checks.add(finding.check)
    claims = []
    for kind, checks in by_kind.items():
        all_of_kind = [statuses for subject, statuses in by_subject.items() if subject.kind == kind]
        name = _PLURAL.get(kind, f"{kind}s")
        unseen = _not_looked_at(findings, kind)
        good = sum(
            Status.OK in statuses and statuses <= set(_HARMLESS)
            for subject, statuses in by_subject.items()
            if subject.kind == kind and subject not in unseen
        )
        if good and kind not in blind:
            claims.append(Claim(f"{good} of {len(all_of_kind)} {name}", "", tuple(sorted(checks))))
        everywhere = _ok_everywhere(findings, kind, len(all_of_kind))
        if everywhere and good < len(all_of_kind) > 1:
            are = "check is" if len(everywhere) == 1 else "checks are"
            claims.append(Claim(f"{len(everywhere)} {are} ok on all {len(all_of_kind)} {name}", "", everywhere))
    return claims


def _not_looked_at(findings: Iterable[Finding], kind: str) -> set[Subject]:
    """Links of which a check that found others ok says nothing: this level did not measure them."""
    if kind != "link":
        return set()
    by_check: dict[str, dict[Subject, Status]] = {}
    for finding in findings:
        if finding.subject.kind == kind:
            by_check.setdefault(finding.check, {})[finding.subject] = finding.status
    every = {subject for told in by_check.values() for subject in told}
    return {s for told in by_check.values() if Status.OK in told.values() for s in every - set(told)}


def _ok_everywhere(findings: Iterable[Finding], kind: str, number: int) -> tuple[str, ...]:
    """Checks that found each of so many subjects of a kind ok, and say nothing else."""
    subjects: dict[str, set[Subject]] = {}
    spoiled = set()
    for finding in findings:
        if finding.status is Status.OK and finding.subject.kind == kind:
            subjects.setdefault(finding.check, set()).add(finding.subject)
        else:
            spoiled.add(finding.check)
    return tuple(sorted(check for check, on in subjects.items() if len(on) == number and check not in spoiled))


def _whole(findings: Iterable[Finding], titles: Mapping[str, str]) -> list[Claim]:
    """What was found well of the cluster as a whole, by the titles of the checks."""
    statuses: dict[str, set[Status]] = {}
    for finding in findings:
        if finding.subject.kind in _ONE_OF_A_KIND:
            statuses.setdefault(finding.check, set()).add(finding.status)
    return [
        Claim(titles.get(check, check), "", (check,))
        for check, found in statuses.items()
        if Status.OK in found and found <= set(_HARMLESS)
    ]


def _undetermined(findings: Iterable[Finding], titles: Mapping[str, str]) -> list[Claim]:
    """Unknowns and skips, one claim a check, and one for all checks that share a reason."""
    by_check: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.status in (Status.UNKNOWN, Status.SKIP):
            by_check.setdefault(finding.check, []).append(finding)
    by_reason: dict[str, list[str]] = {}
    for check, found in by_check.items():
        worst = max(found, key=lambda f: f.status.severity)
        by_reason.setdefault(worst.message, []).append(check)
    return [Claim(_together(checks, titles), reason, tuple(checks)) for reason, checks in by_reason.items()]


def _together(checks: Sequence[str], titles: Mapping[str, str]) -> str:
    if len(checks) > 3:
        return f"{len(checks)} checks"
    return "; ".join(titles.get(check, check) for check in checks)
