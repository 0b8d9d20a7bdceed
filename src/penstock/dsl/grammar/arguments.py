"""Which `$arguments` an expression may use, by where it stands: the table of the specification's `dsl.md`."""

# Before there is an execution, nobody has opened the secrets for it.
SCHEDULE = frozenset({"workflow", "runtime"})
WORKFLOW_INPUT = frozenset({"secrets", "workflow", "runtime"})
WORKFLOW_OUTPUT = WORKFLOW_INPUT | {"context"}
# Before its input is transformed, a task has none.
BEFORE_TASK = WORKFLOW_OUTPUT | {"task"}
TASK = BEFORE_TASK | {"input", "authorization"}
AFTER_TASK = TASK | {"output"}
# The workflow's own time limit begins with its input.
WORKFLOW = WORKFLOW_OUTPUT | {"input"}
ALL = AFTER_TASK
