"""Compiles `workflow.proto` of the working directory to `workflow.pb`: a program of its own.

What a stranger wrote is read by a compiler in C++: outside of the server, and with bounds. It imports the well-known
types of protobuf, and nothing else, as there is nothing else.
"""

import resource
import sys
from importlib.resources import files

_SECONDS = 10
_MEMORY = 1 << 30
_LARGEST = 32 << 20


def main() -> int:
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST, _LARGEST))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from grpc_tools import protoc  # noqa: PLC0415 - what it may use is bounded by now

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    well_known = files("grpc_tools") / "_proto"
    arguments = ["-I.", f"-I{well_known}", "--include_imports", "--descriptor_set_out=workflow.pb", "workflow.proto"]
    return int(protoc.main(["protoc", *arguments]))


if __name__ == "__main__":
    sys.exit(main())
