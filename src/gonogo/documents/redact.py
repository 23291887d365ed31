"""Secrets are taken out of documents before they are written.

What is redacted is what a reader could use: keys, tokens, passwords. Names, addresses and ids stay, since repairs need
them. Patterns work on one line, except private keys and Kubernetes Secrets, which span several.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import ahocorasick_rs

REDACTED = b"[redacted]"

# How a name whose value is secret ends: `tokens_per_second` and `secretName` are harmless. Found first, and fast; the
# text around it then tells whether a value follows.
_KEYS = (
    "api", "access", "secret", "private", "auth", "signing", "master", "encryption", "decryption", "wandb", "account",
    "license", "subscription", "ssh", "deploy", "app", "hmac", "session", "shared", "storage",
)  # fmt: skip
_WORD = re.compile(
    rb"(?:passw(?:or)?d|passphrase|secret|token|credentials?|client[_-]?key[_-]data"
    rb"|(?:" + "|".join(_KEYS).encode() + rb")[_-]?key|(?<![\w.-])auth"
    rb"|(?<!forward)(?<!backward)(?<=[a-z0-9])_pass|(?<=[a-z0-9])_(?:auth|creds?)"  # DB_PASS, REDIS_AUTH
    rb"|(?:(?<![\w.-])|(?<=[a-z0-9])_)pwd(?![\"']?[ \t]*[:=][ \t]*[\"']?[/~]))(?![\w.-])",  # no folder: PWD=/root
    re.IGNORECASE,
)
_HARMLESS = rb"(?!(?:true|false|null|none|~|[-+]?\d{1,6}(?:\.\d*)?|\[redacted\])(?:[\s,;\"'}\])]|\\|$))"
_QUOTE = rb"(?:\\{0,8}[\"'])"
_VALUE = (
    rb"(?P<quote>\")(?!\[redacted\])(?:\\.|[^\"\\\n])+|(?P<single>')(?!\[redacted\])[^'\n]+"
    rb"|(?P<escaped>\\{1,8}[\"'])(?!\[redacted\])(?:(?!(?P=escaped))[^\n])+"
    rb"|(?<![^\s:=>])[^\s,;&\"'\\{}\[\](<$][^\s,;&\"'\\}\])]*"
)
_ASSIGNED = re.compile(rb"(?P<head>" + _QUOTE + rb"?[ \t]*(?:=>|[:=])[ \t]*)" + _HARMLESS + rb"(?:" + _VALUE + rb")")
_FLAG_BEFORE = re.compile(rb"(?:^|[\s\"'])--?[\w-]{0,40}$")
_FLAG = re.compile(  # --token …; - --token\n- …
    rb"(?P<head>(?:[ \t]+|[\"']?[ \t]*\n[ \t]*-[ \t]+)(?![-$]|[\"'][-$]))" + _HARMLESS + rb"(?:" + _VALUE + rb")"
)
_FLAG_IN_LIST = re.compile(  # ["--token", "…"]
    rb"(?P<head>" + _QUOTE + rb",\s{0,80}(?=" + _QUOTE + rb"(?![-$]|\d{1,6}[\"'\\])))(?:" + _VALUE + rb")"
)
_BLOCK = re.compile(rb"[|>][-+0-9]{0,2}(?=\n|\Z)")  # what stands for the lines below it, in YAML
_ENTRY_BEFORE = re.compile(rb"name" + _QUOTE + rb"?[ \t]*:[ \t]*" + _QUOTE + rb"?[\w.-]{0,80}$", re.IGNORECASE)
_ENTRY = re.compile(  # {"name": "DB_PASSWORD", "value": "…"}, and the same in YAML
    rb"(?P<head>"
    + _QUOTE
    + rb"?[ \t]*,?\s{0,80}"
    + _QUOTE
    + rb"?value"
    + _QUOTE
    + rb"?[ \t]*:[ \t]*)(?:"
    + _VALUE
    + rb")"
)
_BEFORE = 120
_SHAPES = re.compile(
    rb"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"  # AWS access key ids
    rb"|\beyJ[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_=-]+){0,4}"  # JSON web tokens, registry passwords
    rb"|\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}|hf_[A-Za-z0-9]{30,}|nvapi-[\w-]{40,}"
    rb"|sk-[\w-]{30,}|xox[abeprs]-[\w-]{20,}|npm_[A-Za-z0-9]{30,}|dckr_pat_[\w-]{20,}|AIza[\w-]{35})"
)
_SCHEME = re.compile(
    rb"(?P<head>\b(?:bearer|basic)[ \t]+)[A-Za-z0-9+/._~=-]{8,}"
    rb"|(?P<header>\bauthorization[\\\"']{0,6}[ \t]*[:=][ \t]*[\\\"']{0,6}"
    rb"(?:(?:token|api-?key|key|digest|negotiate|oauth|jwt|splunk)[ \t]+(?!(?-i:[a-z]+)(?![\w+/.~=-]))|(?=\S{20})))"
    rb"(?!AWS4-)[A-Za-z0-9+/._~=-]{8,}",
    re.IGNORECASE,
)
_URL = re.compile(  # user:password@, where a password may hold / and @; a lone user may be a token for the web only
    rb"(?P<head>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\[\"']{0,200}:)(?!\d{1,5}[/?#])"
    rb"[^\s@\"']{1,500}(?:@[^\s/:@\"',?&]{0,200}){0,3}(?=@(?!sha256:))"
    rb"|(?P<web>\b(?:git\+)?https?://)[^\s/:@\[\"'?#\\]{8,500}(?=@(?!sha256:))",
    re.IGNORECASE,
)
_SIGNED = re.compile(
    rb"(?P<head>[?&]X-(?:Amz|Goog)-(?:Signature|Credential|Security-Token)=)[^\s&\"']+"
    rb"|(?P<sas>[?&;]sig=|(?<![\w.-])sig=(?=[^\s&\"']{0,80}%|[^\s&\"']{24}))[^\s&\"'\\]+"  # `sig=SIGTERM` is none
    rb"|(?P<aws>AWS4-[^\n]{0,400}?\bSignature=|[?&]Signature=)[^\s&\"',\\]+",
    re.IGNORECASE,
)
_COOKIE = re.compile(
    rb"(?P<head>\bcookie[\\\"']{0,6}[ \t]*[:=][ \t]*[\\\"']{0,6})"
    rb"[\w.%-]{1,80}=[^\s;,\"'\\]+(?:;[ ]?[\w.%-]{1,80}=[^\s;,\"'\\]+)*",
    re.IGNORECASE,
)
_WEBHOOK = re.compile(
    rb"(?P<head>\b(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/"
    rb"|webhook\.office\.com/webhookb2/|api\.telegram\.org/bot))[^\s\"'<>&\\]+",
    re.IGNORECASE,
)
# Programs that take a password after a short flag, which says nothing by itself (`python -u`, `docker run -u 0:0`).
_COMMAND = re.compile(
    rb"(?P<head>\bcurl\b[^\n|;]{0,300}?[\s\"'](?:-u|-U|--user|--proxy-user)[ \t\"',=]{0,8}[^\s:\"'=]{0,100}:"
    rb"|\bsshpass[\"', \t]+-p[ \t\"',]{0,8}|\bwandb login[ \t]+(?:--?[\w-]+[ \t]+){0,3}(?=[0-9a-z_]{32})"
    rb"|\bmachine\s{1,9}\S{1,200}\s{1,9}login\s{1,9}\S{1,200}\s{1,9}password\s{1,9}"  # .netrc
    rb"|\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;]{0,200}?[\s\"']-p(?=[^\s\"'])"
    rb"|\b(?:docker|podman|nerdctl|skopeo|crane|oras|registry|az|oc)[ \t]+login\b[^\n|;]{0,200}?"
    rb"[ \t]-p[ \t=]{1,4}[\"']?"
    rb"|\bredis-cli\b[^\n|;]{0,200}?[\s\"']-a[ \t\"',]{1,8})(?![$\"'])[^\s\"'\\]+"
)
_IN_LINES = {
    "shape": _SHAPES, "scheme": _SCHEME, "url": _URL, "signed": _SIGNED, "cookie": _COOKIE, "webhook": _WEBHOOK,
    "command": _COMMAND,
}  # fmt: skip
KEY_BEGIN = re.compile(rb"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
KEY_END = re.compile(rb"-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_INDENT = re.compile(rb"[ ]*(?:-[ ]+)*")
_SECRET = re.compile(rb"\bkind[\"']?[ \t]*:[ \t]*[\"']?Secret\b")
_SECRET_MAP = re.compile(rb"(?P<head>\"(?:data|stringData)\"\s*:\s*\{)(?P<body>[^{}]*)\}")
_SECRET_BLOCK = re.compile(rb"(?m)^(?P<indent>[ ]*)(?:data|stringData):[ ]*\n(?P<body>(?:(?P=indent)[ ]+[^\n]*\n?)+)")


# What each pattern can't do without, in lower case: most lines have none of it, and no pattern looks at them.
_NAMES = tuple(
    word.encode()
    for word in (
        "passw", "passphrase", "_pass", "secret", "token", "credential", "_cred", "auth", "_auth", "pwd", "_pwd",
        *(f"{of}{sign}key" for of in (*_KEYS, "client") for sign in ("", "_", "-")),
    )
)  # fmt: skip
_SIGNS = {
    **dict.fromkeys(_NAMES, "named"),
    **dict.fromkeys(
        (b"akia", b"asia", b"eyj", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_", b"glpat-", b"hf_",
         b"nvapi-", b"sk-", b"xox", b"npm_", b"dckr_pat_", b"aiza"),
        "shape",
    ),
    b"bearer": "scheme", b"basic": "scheme", b"authorization": "scheme", b"://": "url",
    **dict.fromkeys((b"x-amz-", b"x-goog-", b"sig=", b"signature="), "signed"), b"cookie": "cookie",
    **dict.fromkeys(
        (b"hooks.slack.com/", b"/api/webhooks/", b"webhook.office.com/", b"api.telegram.org/"), "webhook"
    ),
    **dict.fromkeys((b"curl", b"sshpass", b"mysql", b"mariadb", b" login", b"\tlogin", b"redis-cli"), "command"),
}  # fmt: skip
_names = ahocorasick_rs.BytesAhoCorasick(_NAMES)
_signs = ahocorasick_rs.BytesAhoCorasick(list(_SIGNS))
_kinds = list(_SIGNS.values())


def redact(data: bytes) -> bytes:
    """The same bytes without secrets; lines stay lines, JSON stays JSON, and a second pass changes nothing."""
    if b"Secret" in data and _SECRET.search(data):
        data = _kubernetes_secret(data)
    data = _private_keys(data)
    seen = {_kinds[sign] for sign, _, _ in _signs.find_matches_as_indexes(data.lower(), overlapping=True)}
    if b"@" not in data:
        seen.discard("url")
    for kind, pattern in _IN_LINES.items():
        if kind in seen:
            data = pattern.sub(_shown, data)
    return _named(data) if "named" in seen else data


def _shown(match: re.Match[bytes]) -> bytes:
    """What stands before a secret, then the mark."""
    return b"".join(head for head in match.groups() if head) + REDACTED


def line_redactor() -> Callable[[bytes], bytes]:
    """A `redact` for the lines of one file in order: it also knows when it is inside a private key."""
    inside = False

    def line(data: bytes) -> bytes:
        nonlocal inside
        if inside:
            end = KEY_END.search(data)
            if not end:
                return REDACTED
            inside, data = False, REDACTED + data[end.end() :]
        begins = [m.end() for m in KEY_BEGIN.finditer(data)]
        inside = bool(begins) and not KEY_END.search(data, begins[-1])
        return redact(data)

    return line


def _named(data: bytes) -> bytes:
    """Values that follow a secret's name."""
    parts, position = [], 0
    for word in _words(data):
        if word.start() < position:  # inside a value that is gone already
            continue
        found = _ASSIGNED.match(data, word.end())
        before = data[max(0, word.start() - _BEFORE) : word.start()]
        if not found and _ENTRY_BEFORE.search(before):
            found = _ENTRY.match(data, word.end())
        if not found and _FLAG_BEFORE.search(before):
            found = _FLAG.match(data, word.end()) or _FLAG_IN_LIST.match(data, word.end())
        if found and _BLOCK.match(data, found.end("head")):
            end = _end_of_block(data, found.end())
            parts += [data[position : found.end()], _masked(data[found.end() : end])]
            position = end
        elif found:
            quote = found["quote"] or found["single"] or found["escaped"] or b""
            parts += [data[position : word.end()], found["head"], quote, REDACTED]
            position = found.end()
    return b"".join(parts) + data[position:]


def _end_of_block(data: bytes, at: int) -> int:
    """Where the lines end that belong to a key of YAML, whose own line ends at `at`: they are indented more."""
    key = _INDENT.match(data, data.rfind(b"\n", 0, at) + 1)
    deeper = re.compile(rb"(?:\n(?:[ ]{%d,}[^\n]*|(?=\n)))*" % (len(key[0]) + 1 if key else 1))
    return deeper.match(data, at).end()  # type: ignore[union-attr]  # it takes nothing, too


def _masked(lines: bytes) -> bytes:
    return re.sub(rb"(?m)^([ ]*)[^ \n][^\n]*$", rb"\1" + REDACTED, lines)


def _words(data: bytes) -> Iterator[re.Match[bytes]]:
    """What `_WORD.finditer` finds, looked for only where one of its words begins."""
    end = 0
    for _, start, _ in sorted(_names.find_matches_as_indexes(data.lower(), overlapping=True), key=lambda hit: hit[1]):
        if start >= end and (word := _WORD.match(data, start)):
            end = word.end()
            yield word


def _private_keys(data: bytes) -> bytes:
    parts, position = [], 0
    while begin := KEY_BEGIN.search(data, position):
        end = KEY_END.search(data, begin.end())
        parts += [data[position : begin.start()], REDACTED]
        position = end.end() if end else len(data)  # a key that is cut off is secret to the end
    return b"".join(parts) + data[position:]


def _kubernetes_secret(data: bytes) -> bytes:
    def json_map(match: re.Match[bytes]) -> bytes:
        body = re.sub(rb"(:\s*\")[^\"]*(\")", rb"\1" + REDACTED + rb"\2", match["body"])
        return match["head"] + body + b"}"

    def yaml_block(match: re.Match[bytes]) -> bytes:
        own = len(_INDENT.match(match["body"])[0])  # type: ignore[index]  # it takes nothing, too
        entries = re.split(rb"(?m)^(?=[ ]{%d}[\w.\"'-])" % own, match["body"])
        return match[0][: match.start("body") - match.start()] + b"".join(map(yaml_entry, entries))

    def yaml_entry(entry: bytes) -> bytes:
        head, *lines = entry.split(b"\n", 1)
        key, colon, value = head.partition(b":")
        if not _BLOCK.match(value.strip()):
            head = key + colon + b' "' + REDACTED + b'"' if colon else _masked(head)
        return b"\n".join([head, *map(_masked, lines)])

    return _SECRET_BLOCK.sub(yaml_block, _SECRET_MAP.sub(json_map, data))
