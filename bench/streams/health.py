"""How long /healthz takes while a server is busy: asked from a process of its own, which has nothing else to do."""

import contextlib
import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

_EVERY = 0.02


class Health:
    """In milliseconds; there when the block has ended."""

    most = 0.0
    p99 = 0.0
    asked = 0


@contextlib.contextmanager
def watching(url: str) -> Iterator[Health]:
    health = Health()
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.streams.health", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        yield health
    finally:
        said, _ = process.communicate()
    health.most, health.p99, health.asked = json.loads(said)


def main(url: str) -> None:
    """Until nobody holds the other end of our input any more."""
    over = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait, daemon=True).start()
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    took = []
    while not over.wait(_EVERY):
        began = time.perf_counter()
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        took.append((time.perf_counter() - began) * 1000)
    took.sort()
    print(json.dumps([took[-1], took[int(len(took) * 0.99)], len(took)] if took else [0, 0, 0]))


if __name__ == "__main__":
    main(sys.argv[1])
