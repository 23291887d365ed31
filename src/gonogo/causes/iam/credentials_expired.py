"""The caller's, or the pod's, credentials are expired or absent.

## What is wrong
A session has run out, or the environment has no credentials at all.

## Fix
`aws sso login` (or whatever gives the session); for pods a role by IRSA or Pod Identity.

## Source
https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-sso.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("iam.credentials_expired", also=True)
def credentials_expired(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the SDK's or the API's word."""
    seen = events.of("iam.credentials_absent")
    if seen:
        yield diagnosis(
            "iam.credentials_expired",
            f"The credentials are expired or absent: {seen.first.get('error')}.",
            seen,
            events.of("k8s.unauthorized"),
            repair=Repair.CHANGE_PERMISSION,
            commands=("aws sts get-caller-identity",),
        )
