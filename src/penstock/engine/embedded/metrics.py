"""What `/metrics` shows of the engine of this process."""

from typing import Protocol

from prometheus_client import Counter, Gauge, Histogram

from penstock.http.metrics import registry

_ended = Counter("penstock_engine_executions", "Executions that have ended, by status.", ["status"], registry=registry)
# Looked up once: an execution takes less than a lookup of a label would let it.
ended = {status: _ended.labels(status) for status in ("completed", "failed", "cancelled")}
steps = Counter("penstock_engine_steps", "Steps that have ended.", registry=registry)
portions = Histogram(
    "penstock_engine_batch_executions",
    "Executions that share one commit.",
    registry=registry,
    buckets=(1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500),
)
commit_seconds = Histogram(
    "penstock_engine_commit_seconds",
    "Time that a batch takes to be durable.",
    registry=registry,
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
_running = Gauge("penstock_engine_running", "Executions under way, those that sleep included.", registry=registry)
_waiting = Gauge("penstock_engine_waiting", "Executions that wait for their turn.", registry=registry)
_lease = Gauge(
    "penstock_engine_lease_held", "1 when this process runs executions, 0 when another does.", registry=registry
)


class Turn(Protocol):
    @property
    def running(self) -> int: ...

    @property
    def waiting(self) -> int: ...


def watch(turn: Turn | None) -> None:
    """Whose numbers are shown: those of the turn that is on, if one is."""
    _running.set_function(lambda: 0 if turn is None else turn.running)
    _waiting.set_function(lambda: 0 if turn is None else turn.waiting)
    _lease.set(0 if turn is None else 1)
