"""A cable in user space: carries frames between two interfaces, late, or not all of them."""

import collections
import contextlib
import random
import select
import socket
import struct
import time

_PACKET_VNET_HDR, _PACKET_IGNORE_OUTGOING, _SOL_PACKET, _SO_RCVBUFFORCE, _ETH_P_ALL = 15, 23, 263, 33, 3
_VNET_BYTES = 10  # of the offload information
_HEADER_BYTES = _VNET_BYTES + 14  # and of Ethernet
_NEEDS_CHECKSUM = 1


def carry(left, right, delay=0.0, loss=0.0, damage=0.0, mtu=65535, seed=0):
    """For ever: every frame from one interface to the other, `delay` seconds late, unless lost or too long.

    Of some a bit is flipped on the way, which nothing but the receiver's checksum can tell.
    """
    dice, queue, poll = random.Random(seed), collections.deque(), select.poll()
    a, b = _socket(left), _socket(right)
    ends = {a.fileno(): (a, b), b.fileno(): (b, a)}
    for descriptor in ends:
        poll.register(descriptor, select.POLLIN)
    while True:
        while queue and queue[0][0] <= time.monotonic():
            _, target, frame = queue.popleft()
            with contextlib.suppress(OSError):  # the far side is down: the frame is lost
                target.send(frame)
        wait = max(0.0, 1000 * (queue[0][0] - time.monotonic())) if queue else None
        for descriptor, _ in poll.poll(wait):
            source, target = ends[descriptor]
            with contextlib.suppress(OSError):
                frame = source.recv(70000)
                if damage and dice.random() < damage:
                    frame = damaged(frame)
                if len(frame) - _HEADER_BYTES <= mtu and dice.random() >= loss:
                    queue.append((time.monotonic() + delay, target, frame))


def damaged(frame):
    """The frame with its checksum finished, if that was left to the adapter, and a bit of its last byte flipped."""
    flags, kind, _, _, start, offset = struct.unpack_from("=BBHHHH", frame)
    if kind:  # many segments in one: no wire carries that
        return frame
    body = bytearray(frame[_VNET_BYTES:])
    if flags & _NEEDS_CHECKSUM:
        part = bytes(body[start:]) + b"\0" * ((len(body) - start) % 2)
        total = sum(struct.unpack(f"!{len(part) // 2}H", part))
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        struct.pack_into("!H", body, start + offset, ~total & 0xFFFF)
    body[-1] ^= 1
    return bytes(_VNET_BYTES) + bytes(body)


def _socket(interface):
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    made.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)  # checksums that are not finished yet stay valid
    made.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
    with contextlib.suppress(PermissionError):  # for root; otherwise bursts lose a few frames
        made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 1 << 26)
    made.bind((interface, _ETH_P_ALL))
    return made
