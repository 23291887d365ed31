"""An action is not allowed.

## What is wrong
IAM knows the caller; no policy of its allows the action.

## What settles it
The role's policies, and `aws iam simulate-principal-policy` for the action.

## Fix
A policy that allows the action on that resource.

## Source
https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair, Subject

_OF_S3 = {
    "HeadBucket": "ListBucket", "ListObjects": "ListBucket", "ListObjectsV2": "ListBucket",
    "HeadObject": "GetObject", "GetObject": "GetObject",
    "PutObject": "PutObject", "CreateMultipartUpload": "PutObject", "UploadPart": "PutObject",
    "CompleteMultipartUpload": "PutObject", "DeleteObject": "DeleteObject", "DeleteObjects": "DeleteObject",
}  # fmt: skip
"""Call of S3 -> the action that a policy allows it by."""
_NAMED_BY = ("action", "operation", "call", "refused", "sdk", "initial", "api", "wanted", "making")
"""Parts of a signature that may name the call, the surest first."""
_S3 = re.compile(r"/(?:s3fs|boto3|botocore|s3transfer|s3torchconnector|fsspec|aiobotocore)/")


_OF_EC2 = re.compile(r"You are not authorized to perform this operation|UnauthorizedOperation")
"""Only EC2 says so."""
_ENCODED = "an action of EC2, which only the decoded message names"
_DECODED = ("aws sts decode-authorization-message --encoded-message <message>",)


@cause(
    "iam.missing_permission",
    refines=("eks.addon_unhealthy", "storage.pvc_not_bound", "image.pull_denied", "cni.plugin_not_ready"),
    also=True,
)
def missing_permission(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a denial that is no explicit one, of an action that is named."""
    seen = Events(
        tuple(
            e
            for e in events.of("iam.not_authorized")
            if not e.get("deny") and "sts:AssumeRoleWithWebIdentity" not in e.text
        )
    )
    bare = events.of("iam.denied_bare")
    if not seen and not (
        bare and not events.of("iam.not_authorized", "iam.web_identity_refused", "clock.skewed", "image.denied")
    ):
        return
    decoded = events.of("iam.decoded") if events.of("iam.decoded").values("deny") else Events()
    if not seen and decoded.where(deny="true"):
        return
    first = next((e for e in seen or bare if any(e.get(name) for name in _NAMED_BY)), (seen or bare).first)
    role = _role(first.get("principal"))
    action = next((v for name in _NAMED_BY if (v := first.get(name))), "")
    action = next(iter((*decoded.values("action"), *decoded.values("called"))), "") or action
    if " " in action:
        action = action.replace("creating", "create").title().replace(" ", "")
    if not action and any(_S3.search(e.get("frame")) for e in events.of("python.exception")):
        action = "an action of S3, which the library does not name"
    if not action and _OF_EC2.search(first.text):
        action = _ENCODED
    if not action:
        return
    policies = [
        o.cite("AttachedPolicies" if "AttachedPolicies" in o.data else "PolicyNames")
        for o in objects.of("answer")
        if "AttachedPolicies" in o.data or "PolicyNames" in o.data
    ]
    unsaid = not seen and all(e.get("error") == "Forbidden" for e in bare)
    yield diagnosis(
        "iam.missing_permission",
        f"{role or 'The caller'} may not call {action}.",
        seen,
        policies,
        decoded,
        bare.outside(seen),
        events.of("storage.provisioning_failed"),
        repair=Repair.CHANGE_PERMISSION,
        subjects=[Subject("aws", role)] if role else [],
        commands=(
            *(
                f"aws iam simulate-principal-policy --policy-source-arn {_arn(first.get('principal'))} "
                f"--action-names {names}{_on(first.text)}"
                for names in _as_iam_names(action, _service(first))
            ),
            *(_DECODED if "Encoded authorization failure message" in first.text and not decoded else ()),
        ),
        certainty=Certainty.HYPOTHESIS if unsaid or action == _ENCODED else None,
        next_observation="Which action, and whether a policy denies it (explicitDeny): the decoded message."
        if action == _ENCODED
        else "What the answer to a HEAD leaves out: the same with a GET (aws s3api list-objects-v2 or "
        "get-object), aws sts get-caller-identity, and date -u beside the answer's Date."
        if unsaid
        else "",
    )


def _as_iam_names(action: str, service: str) -> Iterator[str]:
    """A call as policies name it: with its service, and reads of what is there as reads of the thing."""
    if ":" in action:
        yield action
    elif "S3" in action:
        yield "s3:GetObject s3:PutObject s3:ListBucket"
    elif action in _OF_S3:
        yield f"s3:{_OF_S3[action]}"
    elif " " not in action:
        yield f"{service.lower() or '<service>'}:{action}"


def _service(denied: Event) -> str:
    return denied.get("service") or ("ec2" if _OF_EC2.search(denied.text) else "")


def _role(principal: str) -> str:
    found = re.search(r"(?:assumed-role|role|user)/([^/\s]+)", principal)
    return found[1] if found else ""


def _arn(principal: str) -> str:
    found = re.search(r"arn:(aws[\w-]*):sts::(\d+):assumed-role/([^/\s]+)", principal)
    return f"arn:{found[1]}:iam::{found[2]}:role/{found[3]}" if found else principal or "<principal-arn>"


def _on(text: str) -> str:
    """The resource that was asked for, as an option; without it a policy for one resource looks like a refusal."""
    found = re.search(r"on resource: \W{0,2}(arn:[\w:/*.+=@-]+)", text)
    return f" --resource-arns '{found[1].rstrip('.')}'" if found else ""
