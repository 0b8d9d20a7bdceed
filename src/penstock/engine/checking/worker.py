"""One process that checks definitions. It is run by its path, like that for jq, and speaks its language: the program is
what is asked (`Asked`), the document is the definition's text, the output is an `Examination`."""

import os
import sys
from collections.abc import Iterator

_IDLE = 300.0  # seconds; then the memory that it takes is worth more than the time that it saves


def main() -> None:
    packages, seconds, megabytes, most_output, parent = sys.argv[1:]
    sys.path[:] = packages.split(os.pathsep)
    import msgspec  # noqa: PLC0415 - found only now

    from penstock.engine.checking.examination import Asked, examined  # noqa: PLC0415
    from penstock.engine.jq.worker import end_with, serve  # noqa: PLC0415

    class Program:
        def __init__(self, asked: str) -> None:
            self._asked = msgspec.json.decode(asked, type=Asked)

        def input_text(self, text: str) -> Iterator[str]:
            yield msgspec.json.encode(examined(self._asked, text)).decode()

    end_with(int(parent))
    serve(Program, float(seconds), int(megabytes), int(most_output), _IDLE)


if __name__ == "__main__":
    main()
