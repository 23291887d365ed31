"""The scorecard's own rows: faults that no other test injects, each once; and that the table counts what it says."""

import struct
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # as for the program

import scorecard
import wire
from scorecard import ROWS, Result, page

ONCE = (
    "few-connections", "address-taken-twice", "neighbour-stale", "link-slow", "packets-lost",
    "long-connections-dropped", "link-down", "shm-small", "little-memory", "little-cpu", "little-locked-memory",
    "few-descriptors", "few-processes", "few-ephemeral-ports", "clock-ahead", "another-torch", "storage-full",
    "storage-without-inodes", "storage-read-only", "storage-not-shared", "storage-slow", "rank-told-twice",
    "world-size-told-wrong", "another-collective", "another-shape", "call-skipped", "wrong-sum",
    "interface-without-route", "one-batch-fewer", "steps-late", "another-dtype",
    "clock-ahead@node1+storage-read-only@node2",
)  # fmt: skip


@pytest.mark.fabric
@pytest.mark.parametrize("name", ONCE)
def test_a_fault_is_found_named_and_placed(name, tmp_path):
    """Seen in time, and said rightly."""
    result = scorecard.run(name, 0, tmp_path / "bundle")
    assert result.detected and result.cause_right and result.who_right and result.within_bound, result


@pytest.mark.fabric
@pytest.mark.parametrize(
    "name", ["storage-nearly-full", "even-latency", "ranks-told", "machine-busy", "even-cpu-quota"]
)
def test_a_healthy_look_alike_is_go(name, tmp_path):
    result = scorecard.run(name, 0, tmp_path / "bundle")
    assert result.detected, result


def test_the_table_counts_hits_misses_and_false_alarms():
    text = page(
        [
            Result("storage-full", 0, True, True, True, "storage.full on node0", 9.6, True),
            Result("storage-full", 1, True, False, False, "GO, no cause", 12.0, True),
            Result("healthy", 0, False, False, False, "network.link_slow on node1", 8.0, True),
        ],
        seeds=2,
    )
    assert "first cause right: 1 of 2" in text and "false alarms: 1 of 1 healthy runs" in text
    assert "| storage-full | 2 of 2 | 1 of 2 | 1 of 2 | 12 | GO, no cause |" in text
    assert "| healthy | 0 of 1 | 8 | network.link_slow on node1 |" in text


def test_every_row_is_a_scenario_or_says_which():
    import inside  # noqa: F401
    import scenarios  # noqa: F401
    from fault import named

    for name, row in ROWS.items():
        assert named(row.scenario or name)


def test_a_damaged_frame_has_a_checksum_that_tells():
    def sums_up(frame):
        body = frame[10:] + b"\0" * (len(frame) % 2)
        total = sum(struct.unpack(f"!{len(body) // 2}H", body))
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        return total == 0xFFFF

    header = struct.pack("=BBHHHH", 1, 0, 0, 0, 0, 16)  # a checksum of all, to be put at byte 16
    frame = wire.damaged(header + b"\0" * 16 + b"\0\0" + b"as it was sent..")
    assert frame[:10] == bytes(10) and not sums_up(frame)
    mended = frame[:-1] + bytes([frame[-1] ^ 1])
    assert mended.endswith(b"as it was sent..") and sums_up(mended)
