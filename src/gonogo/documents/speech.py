"""Texts that speak of faults and have none to tell: programs, manifests, diffs, commits, histories, documentation,
change logs.

Judged once a file by what its first lines hold, never by its name; pasted logs in such texts still count where the
text is about a job of its writer's.
"""

from __future__ import annotations

import re

JUDGED_BYTES = 1 << 15
LARGEST_BYTES = 1 << 20  # of what people write

JUDGED_LINES = 200
JUDGED_CHARACTERS = 400  # of a line
SOURCE_CODE = "source code"
MANIFEST = "a manifest"
_NO_MANIFEST = re.compile(
    rb"(?m)^(?!(?:apiVersion|kind|metadata|spec|data|type|immutable)[ \t]*:|[a-z]\w*:[ \t]*$|---|[-#]|\{[{%])\S"
    rb"|^ {0,4}status:[ \t]*$|^[ -]*\{?kind:[ \t]*Event|^ {0,4}(?:- )?(?:reason|message|involvedObject|regarding):"
    rb"|^ {0,4}(?:- )?(?:status|creationTimestamp|resourceVersion|uid|lastTimestamp|eventTime):[ \t]*(?!null|\{\})\S"
)
"""A line that is none of a manifest's, or that only an object has which was read from a cluster."""
LOG = re.compile(
    r"\d{4}-\d\d-\d\d[T _]\d\d:\d\d|(?:^|\s|\[)[IWEF]\d{3,4} \d\d:\d\d|^\[?\w{3} +\d{1,2} \d\d:\d\d:\d\d|\[rank ?\d+\]"
    r"|^\S+:\d+:\d+ \[\d+\] |^\s*File \"[^\"]+\", line \d+|^Traceback \(most|^\[\d+,\d+\]<|^\[pod/"
    r"|^(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL)\b"
)
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_DIFF_HEAD = re.compile(
    rb"^(?:diff --git |index [0-9a-f]+\.\.|--- \S|\+\+\+ \S|(?:new|deleted) file mode |similarity )"
)
_COMMIT = re.compile(rb"^commit [0-9a-f]{7,40}\b")
_SIGNED = re.compile(rb"^-- $|^\d+\.\d+\.\d+$")
_MAILED = re.compile(rb"^From [0-9a-f]{40} ")
_COMMIT_HEAD = re.compile(rb"^(?:Author|AuthorDate|Commit|CommitDate|Date|Merge): ")


def kind(head: bytes) -> str:
    """What a text is that speaks of faults and has none of its own, as the end of a sentence; "" for any other."""
    if len(head) > LARGEST_BYTES:
        return ""
    if re.search(rb"(?m)^kind:", head) and not _NO_MANIFEST.search(head.replace(b"\r\n", b"\n")):
        return MANIFEST
    text = head[:JUDGED_BYTES].decode("utf-8", "replace")
    lines = [s for line in text.split("\n")[:JUDGED_LINES] if (s := line[:JUDGED_CHARACTERS].rstrip())]
    logs = sum(bool(LOG.search(line)) for line in lines)
    if not lines or logs * 3 > len(lines):
        return ""
    from gonogo.documents import writings  # takes a while, and logs need none of it

    return writings.kind(lines, bool(logs))


def without_changes(data: bytes) -> bytes:
    """A text whose diffs and commits are blank lines, so that all others keep their numbers."""
    if not re.search(rb"(?m)^(?:@@ -\d|commit [0-9a-f]{7}|From [0-9a-f]{40} )", data[:JUDGED_BYTES]):
        return data
    lines, old, new, in_commit, in_mail = data.split(b"\n"), 0, 0, False, False
    for place, line in enumerate(lines):
        in_mail = bool(_MAILED.match(line)) or (in_mail and not _DIFF_HEAD.match(line))
        if hunk := _HUNK.match(line):
            old, new = (int(hunk[n] or 1) for n in (2, 4))
        elif (old > 0 or new > 0) and line[:1] in (b"+", b"-", b" ", b"\\"):
            old -= line[:1] in (b"-", b" ")
            new -= line[:1] in (b"+", b" ")
        elif _COMMIT.match(line):
            in_commit = True
        elif not in_mail and not _DIFF_HEAD.match(line) and not _SIGNED.match(line):
            old = new = 0
            in_commit = in_commit and bool(not line.strip() or line[:4] == b"    " or _COMMIT_HEAD.match(line))
            if not in_commit:
                continue
        lines[place] = b""
    return b"\n".join(lines)
