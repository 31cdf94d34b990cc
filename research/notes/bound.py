#!/usr/bin/env python3
"""How much a load of two walks can gain from splits at most, measured on one core without hops.

    bound.py deep-lists|deep-pages SERVER [STARTS]

A request that walks A and then B finds neither in the L2, if both exceed it. One that walks A twice
finds it warm, as on a separate core. The bound is the time of AB by the mean of those of AA and
BB. Other programs may run: of each, the fastest of 400 batches counts, which last 3 ms or less.
SERVER is redis-server or valkey-server, in a new folder that is removed again.
"""

import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LOADS = Path(__file__).resolve().parents[2] / "loads"
BATCHES, REQUESTS = 400, 15
MIDDLE = "local n = math.floor(redis.call('llen', '{0}') / 2) - 1 "
LAST = "local n = redis.call('zcard', '{0}') - 10 "
WALKS = {
    "deep-lists": (
        MIDDLE.format("inbox") + "local read = redis.call('lindex', 'inbox', n)",
        MIDDLE.format("sent") + "local read = redis.call('lrange', 'sent', n, n)",
    ),
    "deep-pages": (
        LAST.format("daily")
        + "local read = redis.call('zrangebyscore', 'daily', '-inf', '+inf', 'limit', n, 10)",
        LAST.format("catalog")
        + "local read = redis.call('zrangebylex', 'catalog', '-', '+', 'limit', n, 10)",
    ),
}


def request(*walks: str) -> bytes:
    """Encode a script of these walks."""
    script = " ".join(f"do {walk} end" for walk in walks) + " return 1"
    words = ["eval", script, "0"]
    lines = [f"*{len(words)}", *(line for word in words for line in (f"${len(word)}", word))]
    return "".join(f"{line}\r\n" for line in lines).encode()


def seconds(server: socket.socket, batch: bytes) -> float:
    """Send a batch and wait for its answers."""
    start, answers = time.perf_counter(), b""
    server.sendall(batch)
    while len(answers) < len(b":1\r\n") * REQUESTS:
        answers += server.recv(65536)
    if answers != b":1\r\n" * REQUESTS:
        raise SystemExit(f"the server answered {answers[:200]!r}")
    return time.perf_counter() - start


def fastest(path: Path, load: str) -> list[float]:
    """Return microseconds of the requests AB, AA, and BB of a filled server."""
    first, second = WALKS[load]
    pairs = ((first, second), (first, first), (second, second))
    batches = [request(*pair) * REQUESTS for pair in pairs]
    with socket.socket(socket.AF_UNIX) as server:
        server.settimeout(60)
        server.connect(str(path))
        rounds = [[seconds(server, batch) for batch in batches] for _ in range(BATCHES)]
    return [min(times) / REQUESTS * 1e6 for times in zip(*rounds, strict=True)]


def start(server: str, load: str, folder: Path) -> float:
    """Start and fill a server, and return its bound."""
    path = folder / "socket"
    command: list[str | Path] = [
        server,
        "--port",
        "0",
        "--unixsocket",
        path,
        "--save",
        "",
        "--dir",
        folder,
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running:
        try:
            while not path.exists() and running.poll() is None:
                time.sleep(0.05)
            fill: list[str | Path] = ["sh", LOADS / load / "fill.sh", path]
            subprocess.run(fill, check=True, stdout=subprocess.DEVNULL)
            both, once, other = fastest(path, load)
        finally:
            running.terminate()
    bound = 2 * both / (once + other)
    print(f"AB {both:.1f} us, AA {once:.1f} us, BB {other:.1f} us: {bound:.2f}", flush=True)
    return bound


def main() -> None:
    """Print the bound of each start, their median, and their range."""
    match sys.argv[1:]:
        case [load, server, *starts] if load in WALKS:
            pass
        case _:
            raise SystemExit(__doc__)
    bounds = []
    for _ in range(int(starts[0]) if starts else 5):
        with tempfile.TemporaryDirectory() as folder:
            bounds.append(start(server, load, Path(folder)))
    print(f"{statistics.median(bounds):.2f} ({min(bounds):.2f} to {max(bounds):.2f})")


if __name__ == "__main__":
    main()
