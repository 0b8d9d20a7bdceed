"""The words that programs know findings by. They stay as they are; `docs/dsl.md` explains each."""

from typing import Literal

# What cannot be read.
Reading = Literal[
    "alias",
    "documents",
    "encoding",
    "key",
    "number",
    "tag",
    "too-deep",
    "too-large",
    "too-many",
    "twice",
    "yaml",
]
# What has the wrong shape.
Shape = Literal[
    "choice",
    "dsl-version",
    "duration",
    "empty",
    "item",
    "one-of",
    "pattern",
    "range",
    "required",
    "task-item",
    "task-kind",
    "too-long",
    "type",
    "unknown",
    "uri",
]
# What has the right shape and means nothing, or nothing good.
Meaning = Literal[
    "authentication-unknown",
    "catalog-unknown",
    "cron",
    "default-case",
    "error-unknown",
    "expression",
    "flow-target",
    "function-unknown",
    "ignored",
    "process-refused",
    "retry-unknown",
    "schema",
    "secret-unknown",
    "task-name",
    "timeout-unknown",
    "timezone",
    "too-many-expressions",
    "unreachable",
    "uri-template",
    "variable-name",
    "variable-unknown",
]
Code = Reading | Shape | Meaning
