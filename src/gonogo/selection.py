"""Which checks a run takes: `--only` and `--skip` by id, area or glob."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from gonogo.errors import InputError, did_you_mean, shown
from gonogo.kernel import Check, Registry
from gonogo.model import AREAS, PREFIXES


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen checks, those skipped with the user's reason, and those that weren't asked for."""

    checks: tuple[Check, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    not_asked: tuple[str, ...] = ()


def select(registry: Registry, only: Sequence[str] = (), skip: Sequence[str] = ()) -> Selection:
    """Choose checks. Raises InputError for a word that matches none, or if nothing is left."""
    checks = registry.checks
    chosen = {id for word in _words(only) for id in _matching(checks, word, "--only")} if only else set(checks)
    skipped: dict[str, str] = {}
    for entry in skip:
        words, _, reason = entry.partition("=")
        if not _words([words]):
            raise InputError(f"--skip: {shown(entry)} names no check, area or glob.")
        for word in _words([words]):
            skipped |= dict.fromkeys(_matching(checks, word, "--skip"), reason or "skipped on request")
    skipped = {id: reason for id, reason in skipped.items() if id in chosen}
    left = tuple(check for id, check in sorted(checks.items()) if id in chosen and id not in skipped)
    if not left:
        raise InputError("No check is left to run by --only and --skip.")
    return Selection(left, skipped, tuple(sorted(set(checks) - chosen)))


def _words(entries: Iterable[str]) -> list[str]:
    return [word.strip() for entry in entries for word in entry.split(",") if word.strip()]


def _matching(checks: Mapping[str, Check], word: str, flag: str) -> list[str]:
    """Ids first, then areas, also by what their ids begin with, then globs over both; case doesn't matter."""
    if word.upper() in checks:
        return [word.upper()]
    word = PREFIXES.get(word.upper(), word)
    found = [id for id, c in checks.items() if fnmatchcase(id, word.upper()) or fnmatchcase(c.area, word.lower())]
    if not found and word.lower() in AREAS:
        raise InputError(f"{flag}: there are no checks in area {word.lower()} yet.")
    if not found:
        hint = did_you_mean(word, [*checks, *AREAS])
        raise InputError(f"{flag}: no check, area or glob matches {shown(word)}.{hint} See: gonogo explain --list")
    return found


def reselect(registry: Registry, run: Mapping[str, object]) -> Selection:
    """The checks that a recorded run chose, as far as this version has them; all where it doesn't say."""
    ids, skipped = run.get("checks"), run.get("skipped")
    chosen = {str(id) for id in ids} if isinstance(ids, list) else set(registry.checks)
    reasons = {str(id): str(why) for id, why in skipped.items()} if isinstance(skipped, dict) else {}
    checks = tuple(check for id, check in sorted(registry.checks.items()) if id in chosen)
    if not checks:
        raise InputError("The bundle's run chose no check that this version has.")
    left_out = set(registry.checks) - chosen - set(reasons)
    return Selection(checks, reasons, tuple(sorted(left_out)))
