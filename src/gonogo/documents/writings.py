"""What people write of faults that aren't theirs: programs, histories, change logs, documentation, talk of the past."""

from __future__ import annotations

import re

from gonogo.documents.speech import LOG, SOURCE_CODE

_COMMAND = re.compile(
    r"^\s*(?:\d+\*?\s+)?(?:: \d{9,}:\d+;)?(?:[$#%] )?(?:(?:sudo|time|nohup|watch|exec|[A-Z_]+=\S*) +)*"
    r"(?:kubectl|k|k9s|helm|eksctl|aws|docker|nerdctl|crictl|systemctl|journalctl|dmesg|nvidia-smi|[efz]?grep|rg|awk|sed"
    r"|echo|printf|cat|zcat|less|tail|head|find|xargs|cd|ls|ll|pwd|mv|cp|rm|mkdir|chmod|vim?|nano|ssh|scp|rsync|git"
    r"|pip3?|conda|python3?|torchrun|srun|sbatch|squeue|scontrol|sinfo|mpirun|make|export|source|curl|wget|ping|nc|df|du"
    r"|free|top|htop|ps|kill|tmux|exit|clear|history|gonogo)(?= |$)(?! *:)|^#1[5-9]\d{8}$"
)
_CODE = re.compile(
    r"^\s*(?:(?:import|use|using|package|func|fn|const|let|var|return|raise|throw|async|yield|assert|elif|global)\b"
    r"|from \S+ import |def \w+|class \w+|@\w+|#include|(?:if|for|while|with|except|switch|try|else|finally)\b.*[:{]$"
    r"|[\w.\[\]]+(?:, \w+)* [-+*|]?= |[\w.]+\(.*[(,){]?;?$|[])}]+[,;{]*$|\"[^\"]*\": .*[,{(\[]?$"
    r"|[\"'].*[\"'],?$|#|//|/?\*)"
)
_SURELY_CODE = re.compile(
    r"^\s*(?:import \w[\w., ]*$|from \S+ import |def \w+\(|class \w+\b.*[:{]$|#include\b|func \w+\(|fn \w+"
    r"|return\b|raise \w|throw \w|except\b.*:$|try:$)"
)
_PRINTED = re.compile(r"^(?:[\w.]+: )?[\w.]*(?:Error|Exception|Killed)\b(?:: |$)|^[$%>] ")
_VERSION = re.compile(
    r"(?i)^\W{0,4}(?:version |release |v)?\d+\.\d+(?:\.\d+)*\S{0,12}\W*"
    r"(?:\(?(?:\d{4}-\d\d-\d\d|unreleased|[a-z]+ \d).*)?$"
)
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d+[.)]) +\S")
_RULE = re.compile(r"^\s*(?:#{1,6} .*|([-=~^*_])\1{2,})\s*$")
_HASH = re.compile(r"^[0-9a-f]{7,12} (?:\([^)]*\) )?[A-Za-z\[\"'`](?!.*\s{3})")
_ADVICE = r"(?:check|see|raise|set|increase|reduce|lower|run|restart|drain|reboot|replace|use|make sure)"
_GENERAL = re.compile(
    r"(?i)\byou (?:may|might|can|will|could|should)?\s*(?:see|get|encounter|find|observe)\b"
    r"|\b(?:often|usually|typically|generally|sometimes|commonly) (?:means?|caused|indicates?|happens?|seen|occurs?)"
    r"|\b(?:means|indicates) that\b"
    r"|\bis (?:raised|thrown|printed|reported|logged|shown|emitted) (?:if|when|by|where|after)\b"
    r"|\b(?:can|may|might) be (?:raised|caused|thrown|seen)\b|\b(?:common|known|typical|frequent|possible) (?:\w+ )?"
    r"(?:errors?|failures?|faults?|issues?|problems?|causes?|symptoms?)\b"
    r"|^#+ .*\b(?:troubleshoot\w*|runbook|playbook|faq|reference|guide)\b|^\W*(?:symptom|cause|solution|remedy"
    r"|resolution|workaround|mitigation|action|what to do|how to fix)s?\W*(?::|\||$)"
    rf"|\b(?:when|if|in case) (?:you|an?|the|your|training|this) [^.]{{3,60}},? (?:{_ADVICE}|you)\b"
    rf"|^For .{{3,60}}, {_ADVICE}\b|(?:^|[.:] )(?-i:Check|Verify|Set|Increase|Raise|Lower|Reduce|Mount|Restart|Drain"
    r"|Make sure|Ensure) |\bthe following (?:error|exception|message|warning|output)\b|\bshows? up as\b"
    r"|\bwe recommend\b|^\W*Why (?:do|does|is|are|did)\b.*\?"
    r"|(?:^|[.] )To (?:resolve|fix|avoid|solve|mitigate|work around)\b"
)
_PERSONAL = re.compile(
    r"\bI(?![/\w])|\b[Mm]y\b|\b[Ww]e (?:see|saw|got|get|have|had|are|were|run|ran|moved|tried|upgraded|hit|started)\b"
    r"|\b[Oo]ur (?:\w+ )?(?:jobs?|cluster|training|runs?|pods?|nodes?|chart|team)\b"
    r"|\b(?i:today|yesterday|tonight|anyone|just now|help)\b"
    r"|(?i:^\W*(?:.*\bbug\b|(?:your )?environment|versions?|(?:steps )?to reproduce|expected behaviou?r|what happened"
    r"|logs?)\b)"
)
_ASKED = re.compile(r"^[#*=\s]*(?:Why|How|What)\b.*\?\W*$")
_SPEAKER = re.compile(
    r"^(?:\[?\d{1,2}:\d\d(?::\d\d)?(?: [AP]M)?\]? +)?(?:<[\w. -]+>|\**@?[A-Za-z][\w.-]{1,20}\**:) +\S"
)
_CHANGED = re.compile(r"(?i)^\s*(?:[-*+•] +)?(?:fix|add|improv|chang|remov|deprecat|handl|support|updat|bump)\w*\b")
_NEWS = re.compile(r"(?i)^\W*(?:\S+ )?(?:release notes|change ?log|changes|what'?s new|news)\b")
_LOOKS_BACK = re.compile(
    r"(?i)^(?:hi|hello|hey|dear)\b|^\W*.{0,40}(?:post-?mortem|incident (?:report|review)|retrospective)"
)
_TIMED = re.compile(r"^\[?\d{1,2}:\d\d|^<\w")
_MENDED = r"(?<!not )(?:was|were|been) (?:fixed|solved|resolved|mended)\b"
_OVER = re.compile(rf"(?i){_MENDED}")
_UNSETTLED = re.compile(
    r"(?i)\b(?:but|still|yet|again and again|hangs?|hung|fail(?:s|ing)|crash(?:es|ing)|dies|stuck)\b|\?"
)
_SETTLED = re.compile(
    r"(?i)(?<!not )(?<!n't )(?<!never )\b(?:(?:all|both|everything|it|that|now)(?: is| was|'s|s)? (?:been )?"
    r"(?:fixed|solved|resolved|fine|good|well)|(?:fixed|solved|resolved)(?: since| now| long ago|\.|!|$)"
    rf"|{_MENDED}|works? (?:fine|now|again|well)|is (?:fine|healthy|ok|good)\b"
    r"|no (?:more )?(?:problems?|issues?|errors?) (?:since|now|any ?more|today))"
)


def kind(lines: list[str], has_logs: bool) -> str:
    """What a text is by its first lines, some of which may be a log's; "" for none of these."""
    if _share(_COMMAND, lines) >= 0.95 and len(lines) > 1:
        return "a history of commands"
    if not has_logs and _is_code(lines):
        return SOURCE_CODE
    if len(lines) > 2 and _share(_HASH, lines) > 0.6:
        return "a history of commits"
    if not has_logs and _is_change_log(lines):
        return "a list of changes"
    if not has_logs and _is_settled_talk(lines):
        return "a talk about what is settled"
    return "documentation" if _is_general(lines) else ""


def _share(pattern: re.Pattern[str], lines: list[str]) -> float:
    return sum(bool(pattern.search(line)) for line in lines) / len(lines)


def _is_code(lines: list[str]) -> bool:
    """Whether a text is a program; not a question with a program in it, nor one with what it printed."""
    surely = sum(bool(_SURELY_CODE.search(s)) for s in lines)
    return (
        surely > max(2, len(lines) // 20)
        and _share(_CODE, lines) >= 0.4
        and not any(s.startswith("```") or _PRINTED.match(s) for s in lines)
    )


def _is_change_log(lines: list[str]) -> bool:
    """Whether versions are headings, and most of the rest are items of lists."""
    versions = [s for s in lines if _VERSION.match(s)]
    rest = [s for s in lines if not _VERSION.match(s) and not _RULE.match(s) and not s.startswith("  ")]
    if any(map(_NEWS.search, lines[:2])) and _share(_CHANGED, lines[1:] or lines) > 0.5:
        return True
    return bool(versions and rest) and _share(_ITEM, rest) >= 0.7


def _is_settled_talk(lines: list[str]) -> bool:
    """Whether people talk, and the last of them say that all is well; or somebody looks back on what is mended."""
    if any(map(_UNSETTLED.search, lines[-2:])):
        return False
    if any(map(_LOOKS_BACK.search, lines[:2])) and any(map(_OVER.search, lines)):
        return True
    said = [s for s in lines if _SPEAKER.search(s)]
    timed = sum(bool(_TIMED.search(s)) for s in said)
    return len(said) * 3 >= 2 * len(lines) and timed * 2 > len(said) and any(map(_SETTLED.search, lines[-2:]))


def _is_general(lines: list[str]) -> bool:
    """Whether sentences say what errors mean to whoever meets them, and none says what happened to the writer."""
    said = [s for s in lines if not LOG.search(s) and not re.match(r"^\s{4,}|^\S*(?:Error|Exception|WARN)\S*:", s)]
    general = sum(bool(_GENERAL.search(s)) for s in said)
    own = any(_PERSONAL.search(s) for s in said if not _ASKED.match(s))
    return general > 1 and general * 8 >= len(said) and not own
