"""How long to wait before the next try: twice as long each time, with jitter so that rivals do not meet again."""

import random
from collections.abc import Iterator


def delays(*, first: float = 0.005, most: float = 0.5, total: float = 10.0) -> Iterator[float]:
    """Seconds to wait before each further try; ends when `total` seconds would be exceeded."""
    waited, delay = 0.0, first
    while waited < total:
        pause = delay * random.uniform(0.5, 1.0)  # noqa: S311
        yield pause
        waited += pause
        delay = min(delay * 2, most)
