"""The step guard: a step that crashes is a record with its traceback, and the next step runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from gonogo.agent.records import Writer

TERMINATION_LOG = Path("/dev/termination-log")


class Cut(Exception):
    """A step was cut short for a reason that is no bug: its deadline, or a lost coordinator."""


@contextlib.contextmanager
def reported(writer: Writer, step: str) -> Iterator[list[str]]:
    """Turn a bug in the work into a record of it; what is yielded then holds its text.

    The one broad except of the agent: a bug costs its step, not the run.
    """
    errors: list[str] = []
    try:
        yield errors
    except (Cut, asyncio.TimeoutError):
        raise
    except Exception as e:  # noqa: BLE001
        errors.append(f"crashed: {type(e).__name__}: {e}")
        writer.write("agent", "crash", of=step, traceback=traceback.format_exc())


@contextlib.contextmanager
def guarded(writer: Writer, step: str) -> Iterator[None]:
    """Write `begin` and `end` of a step around its work; what it raises becomes the error of `end`."""
    started = time.monotonic()
    writer.write("agent", "begin", of=step)
    error = "interrupted"
    try:
        with reported(writer, step) as errors:
            yield
        error = "".join(errors)
    except Cut as e:
        error = str(e)
    except asyncio.TimeoutError:
        error = f"cut off at its deadline, after {time.monotonic() - started:.1f} s"
    finally:
        writer.write("agent", "end", of=step, seconds=time.monotonic() - started, error=error)


def leave_word(text: str) -> None:
    """Tell Kubernetes why this container ends; does nothing outside a pod."""
    if "KUBERNETES_SERVICE_HOST" in os.environ and os.access(TERMINATION_LOG, os.W_OK):
        with contextlib.suppress(OSError):
            TERMINATION_LOG.write_text(text[:4096])
