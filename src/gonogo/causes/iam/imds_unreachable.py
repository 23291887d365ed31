"""Pods can't reach instance metadata.

## What is wrong
With a hop limit of 1 answers of the metadata service do not reach pods behind the CNI's bridge; or metadata is off.

## Fix
HttpPutResponseHopLimit 2 in the launch template, or (better) IRSA or Pod Identity.

## Source
https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_NONE = re.compile(r"Unable to locate credentials|NoCredential")
"""What an SDK says that found no credentials anywhere, and so asked for the instance's last."""


@cause("iam.imds_unreachable", refines=("iam.credentials_expired", "eks.addon_unhealthy"), also=True)
def imds_unreachable(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where metadata does not answer; established by a hop limit of 1."""
    absent = events.of("iam.credentials_absent").where(error=_NONE)
    seen = events.of("iam.imds_failed") or absent
    if not seen:
        return
    short = [
        (o, path)
        for o in objects.all
        for path in (
            "HttpPutResponseHopLimit",
            "MetadataOptions.HttpPutResponseHopLimit",
            "LaunchTemplateData.MetadataOptions.HttpPutResponseHopLimit",
        )
        if str(o.get(path)) == "1"
    ]
    nested = [
        (o, i)
        for o in objects.of("Reservations")
        for i, x in enumerate(o.items("Instances"))
        if str((x.get("MetadataOptions") or {}).get("HttpPutResponseHopLimit")) == "1"
    ]
    if seen is absent and (not (short or nested) or "role-arn" in str([a.data for a in objects.of("ServiceAccount")])):
        return
    yield diagnosis(
        "iam.imds_unreachable",
        f"Instance metadata does not answer to the pod{' : its hop limit is 1' if short or nested else ''}.".replace(
            " :", ":"
        ),
        seen,
        [o.cite(path) for o, path in short],
        [o.cite(("Instances", i, "MetadataOptions", "HttpPutResponseHopLimit")) for o, i in nested],
        events.of("iam.credentials_absent"),
        repair=Repair.CHANGE_CLUSTER,
        commands=("aws ec2 modify-instance-metadata-options --instance-id <instance> --http-put-response-hop-limit 2",),
    )
