"""A load over four connections, for recordings with sessions: redis, memcached, HTTP.

Only one request is active at a time, mostly alternating over the connections. A recording therefore
has requests of each connection between those of the others, and does not depend on the machine's
speed. Requests are random from one seed. `python3 four_connections.py redis|memcached|http ADDRESS
REQUESTS`, where an address is HOST:PORT or the path of a socket; research/notes/delegating.md has
the commands.
"""

import random
import socket
import sys
import time
from collections.abc import Callable

CONNECTIONS = 4
#: Share of requests over the next connection in the round-robin order.
IN_TURN = 0.8
#: Share of requests to memcached that set a key.
SETS = 0.3
#: Maximum time in seconds for a server under an emulator to listen.
PATIENCE = 120


def dial(address: str) -> socket.socket:
    """Connect as soon as the server listens."""
    host, colon, port = address.rpartition(":")
    until = time.monotonic() + PATIENCE
    while True:
        try:
            if colon:
                connection = socket.create_connection((host, int(port)))
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            else:
                connection = socket.socket(socket.AF_UNIX)
                connection.connect(address)
        except OSError:
            if time.monotonic() > until:
                sys.exit(f"nobody listens at {address}")
            time.sleep(0.2)
        else:
            connection.settimeout(PATIENCE)
            return connection


def command(*words: object) -> bytes:
    """Return a command of redis."""
    encoded = [str(word).encode() for word in words]
    sized = [b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded]
    return b"*%d\r\n" % len(sized) + b"".join(sized)


SCRIPT = "local s=0 for i=1,200 do s=s+i end return s+redis.call('STRLEN',KEYS[1])"


def redis() -> bytes:
    """Return a request for strings, hashes, sorted sets, lists, or a script."""
    key = random.randint(1, 400)
    return random.choice(
        [
            command("SET", f"s{key}", "v" * random.randint(1, 2000)),
            command("GET", f"s{key}"),
            command("HSET", f"h{key}", f"f{random.randint(1, 50)}", "x" * 100),
            command("HGETALL", f"h{key}"),
            command("ZADD", f"z{key % 20}", random.random(), f"m{key}"),
            command("ZRANGE", f"z{key % 20}", 0, 50),
            command("LPUSH", f"l{key % 50}", "y" * 80),
            command("SORT", f"l{key % 50}", "ALPHA", "LIMIT", 0, 10),
            command("EVAL", SCRIPT, 1, f"s{key}"),
        ]
    )


def memcached() -> bytes:
    """Return a request: three in ten set a key, and the others get up to twenty."""
    key = random.randint(1, 4000)
    if random.random() < SETS:
        size = random.randint(1, 4000)
        return b"set k%d 0 0 %d\r\n%s\r\n" % (key, size, b"v" * size)
    keys = [b"k%d" % random.randint(1, 4000) for _ in range(random.randint(1, 20))]
    return b"get " + b" ".join(keys) + b"\r\n"


def http() -> bytes:
    """Return a request for one of forty pages."""
    page = random.randint(1, 40)
    return (
        f"GET /page{page}.txt?q={random.randint(1, 9999)} HTTP/1.1\r\nHost: localhost\r\n"
        f"Accept: text/plain,*/*\r\nAccept-Encoding: identity\r\n"
        f"User-Agent: load/{random.randint(1, 5)}\r\nCookie: a={page}; b={page * 7}\r\n\r\n"
    ).encode()


def after_value(answer: bytes, start: int) -> int:
    """Return the end of a redis value that begins at `start`; ValueError if it is incomplete."""
    line_end = answer.index(b"\r\n", start)
    kind, number = answer[start : start + 1], answer[start + 1 : line_end]
    end = line_end + 2
    if kind == b"$" and number != b"-1":
        end += int(number) + 2
    if kind == b"*":
        for _ in range(int(number)):
            end = after_value(answer, end)
    if end > len(answer):
        raise ValueError
    return end


def redis_is_whole(answer: bytes) -> bool:
    """Return whether the answer of redis is complete."""
    try:
        return after_value(answer, 0) == len(answer)
    except ValueError:
        return False


def memcached_is_whole(answer: bytes) -> bool:
    """Return whether the answer of memcached is complete."""
    return answer.endswith((b"STORED\r\n", b"END\r\n"))


def http_is_whole(answer: bytes) -> bool:
    """Return whether the answer of an HTTP server is complete."""
    head, blank, body = answer.partition(b"\r\n\r\n")
    if not blank:
        return False
    size = head.lower().split(b"content-length:")[1].split(b"\r\n")[0]
    return len(body) >= int(size)


KINDS: dict[str, tuple[Callable[[], bytes], Callable[[bytes], bool]]] = {
    "redis": (redis, redis_is_whole),
    "memcached": (memcached, memcached_is_whole),
    "http": (http, http_is_whole),
}


def ask(connection: socket.socket, request: bytes, is_whole: Callable[[bytes], bool]) -> bool:
    """Send a request and wait for its answer; return whether there was one."""
    answer = b""
    try:
        connection.sendall(request)
        while not is_whole(answer):
            part = connection.recv(1 << 16)
            if not part:
                return False
            answer += part
    except OSError:
        return False
    return True


def main(kind: str, address: str, requests: int) -> None:
    """Send this number of requests, or fewer if the server ends before."""
    request, is_whole = KINDS[kind]
    random.seed(1)
    connections = [dial(address) for _ in range(CONNECTIONS)]
    for number in range(requests):
        is_in_turn = random.random() < IN_TURN
        connection = connections[number % CONNECTIONS] if is_in_turn else random.choice(connections)
        if not ask(connection, request(), is_whole):
            return


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
