"""Deep pages of two sorted sets, a load whose phases each fill most of an L2.

    deep_pages.py fill SOCKET     makes the two sets in the redis that listens there
    deep_pages.py drive SOCKET    asks for pages, and says how many requests it got a second

A request is a transaction of two reads, each of ten members near the end of a set: redis walks a
list of nodes up to there, so all nodes of one set pass through the cache, then all of the other.
The sets are sized so that one takes seven tenths of this machine's L2. Members are added in random
order, as a server's are, so the nodes lie anywhere. Requests go out a hundred at a time: client and
server share the CPUs, and so the client sleeps while the server works. Rejected: redis-benchmark,
which sends one command over and over, and no transactions.
"""

from __future__ import annotations

import argparse
import random
import socket
import time
from pathlib import Path

L2_SIZE = Path("/sys/devices/system/cpu/cpu0/cache/index2/size")
USUAL_L2_KIB = 1024
SHARE_OF_L2 = 0.7
NODE_BYTES = 66
"""Of a set's list, for each member, in redis 7 with members of thirteen bytes."""

PAGE = 10
PIPELINE = 100
ADDED_AT_ONCE = 500
RECEIVED_BYTES = 1 << 16


def members(share: float) -> int:
    """Give how many members make a list of that share of an L2."""
    try:
        kib = int(L2_SIZE.read_text().strip().removesuffix("K"))
    except (OSError, ValueError):
        kib = USUAL_L2_KIB
    return max(int(share * kib * 1024 / NODE_BYTES), 2 * PAGE)


def command(*words: str | int) -> bytes:
    """Give a command as redis takes it."""
    parts = [str(word).encode() for word in words]
    head = b"*%d\r\n" % len(parts)
    return head + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


def receive(connection: socket.socket, marker: bytes, count: int) -> None:
    """Read until the marker has come so often."""
    rest = b""
    while count > 0:
        received = connection.recv(RECEIVED_BYTES)
        if not received:
            raise SystemExit("deep_pages: the server closed the connection")
        if received.startswith(b"-"):
            raise SystemExit(f"deep_pages: {received.decode(errors='replace').strip()}")
        together = rest + received
        count -= together.count(marker)
        rest = together[-(len(marker) - 1) :]


def fill(connection: socket.socket, size: int) -> None:
    """Make both sets anew."""
    connection.sendall(command("DEL", "daily", "catalog"))
    receive(connection, b"\r\n", 1)
    order = random.Random(1)
    for name, member, scored in [("daily", "user:%08d", True), ("catalog", "item:%08d", False)]:
        numbers = list(range(size))
        order.shuffle(numbers)
        for start in range(0, size, ADDED_AT_ONCE):
            some = numbers[start : start + ADDED_AT_ONCE]
            pairs = [word for n in some for word in (n if scored else 0, member % n)]
            connection.sendall(command("ZADD", name, *pairs))
            receive(connection, b"\r\n", 1)


def drive(connection: socket.socket, size: int, requests: int) -> float:
    """Ask for pages; give how many requests were answered a second."""
    page = ("LIMIT", size - PAGE, PAGE)
    request = (
        command("MULTI")
        + command("ZRANGEBYSCORE", "daily", "-inf", "+inf", *page)
        + command("ZRANGEBYLEX", "catalog", "-", "+", *page)
        + command("EXEC")
    )
    last = b"item:%08d\r\n" % (size - 1)
    began = time.perf_counter()
    for _ in range(requests // PIPELINE):
        connection.sendall(request * PIPELINE)
        receive(connection, last, PIPELINE)
    return requests // PIPELINE * PIPELINE / (time.perf_counter() - began)


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description="Deep pages of two sorted sets in redis")
    parser.add_argument("what", choices=["fill", "drive"])
    parser.add_argument("socket", help="the Unix socket at which redis listens")
    parser.add_argument("--share", type=float, default=SHARE_OF_L2, help="of an L2, for each set")
    parser.add_argument("--requests", type=int, default=3000)
    options = parser.parse_args()
    size = members(options.share)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(options.socket)
        if options.what == "fill":
            fill(connection, size)
        else:
            print(f"{drive(connection, size, options.requests):.1f} requests per second")


if __name__ == "__main__":
    main()
