"""What `/metrics` of a worker shows: its own numbers, and those of Temporal's package, which counts by itself.

That one keeps them in a listener of its own, on loopback; ours asks it when it is asked.
"""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector, generate_latest
from temporalio import activity
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from penstock import __version__
from penstock.engine.temporal.passed import Batch, Performed

log = structlog.get_logger()
_PATIENCE = aiohttp.ClientTimeout(total=5)
_TRIES = 5

registry = CollectorRegistry()
ProcessCollector(registry=registry)
Info("penstock_build", "Which Penstock this is.", registry=registry).info({"version": __version__})
database_up = Gauge("penstock_database_up", "1 when the database answered the last time, else 0.", registry=registry)
temporal_up = Gauge("penstock_temporal_up", "1 while the Temporal cluster answers this process.", registry=registry)
draining = Gauge("penstock_worker_draining", "1 when it was told to stop, and takes nothing new.", registry=registry)
_activities = Counter(
    "penstock_worker_activities", "Calls, processes and subscriptions, by outcome.", ["outcome"], registry=registry
)
_repeated = Counter(
    "penstock_worker_activities_repeated", "Those that were begun before, by a worker that was lost.", registry=registry
)
_executions = Counter("penstock_worker_executions", "Executions that have ended.", ["status"], registry=registry)
_rows = Counter("penstock_worker_rows", "Rows written, by what they are.", ["what"], registry=registry)
_writing = Gauge("penstock_worker_batches_waiting", "Batches of rows that are not durable yet.", registry=registry)
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2.5, 5, 10)
commit_seconds = Histogram(
    "penstock_worker_commit_seconds", "Time that a transaction takes.", registry=registry, buckets=_SECONDS
)
_lag = Histogram(
    "penstock_worker_lag_seconds",
    "From the moment at which something happened in an execution to when it is durable.",
    registry=registry,
    buckets=_SECONDS,
)
batches = Histogram(
    "penstock_worker_commit_batches",
    "Batches that share a transaction.",
    registry=registry,
    buckets=(1, 2, 5, 10, 25, 50, 100, 200),
)
# What has not happened yet is shown as 0: from nothing to 1 is no increase to Prometheus.
_outcomes = {each: _activities.labels(each) for each in ("performed", "failed", "cancelled", "broken")}
_ended = {each: _executions.labels(each) for each in ("completed", "failed", "cancelled")}
_written = {each: _rows.labels(each) for each in ("steps", "events", "logs", "others")}
_STEPS = ("add_step", "change_step")


@contextmanager
def writing(batch: Batch) -> Iterator[None]:
    """Around what makes it durable."""
    with _writing.track_inprogress():
        yield
    steps = sum(1 for name, _ in batch.writes if name in _STEPS)
    _written["steps"].inc(steps)
    _written["others"].inc(len(batch.writes) - steps)
    _written["events"].inc(len(batch.events))
    _written["logs"].inc(len(batch.logs))
    if batch.follow is not None:
        _ended[batch.follow.status].inc()
    if (since := min((event.created_at for event in batch.events if event.created_at), default=None)) is not None:
        _lag.observe(max(0.0, time.time() - since / 1_000_000))


class Counting(Interceptor):
    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002
        return _Counted(next)


class _Counted(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        info = activity.info()
        if info.is_local:
            return await super().execute_activity(input)
        if info.attempt > 1:
            _repeated.inc()
        outcome = "broken"
        try:
            result = await super().execute_activity(input)
            outcome = "failed" if isinstance(result, Performed) and result.error is not None else "performed"
        finally:
            _outcomes["cancelled" if activity.is_cancelled() else outcome].inc()
        return result


class Telemetry:
    """Of Temporal's package, for a client that is made with its `runtime`."""

    def __init__(self) -> None:
        for tries in range(_TRIES, 0, -1):
            port = _free_port()
            self._url = f"http://127.0.0.1:{port}/metrics"
            try:
                self.runtime = Runtime(telemetry=_telemetry(port))
            except ValueError:
                if tries == 1:
                    raise
            else:
                return

    async def text(self) -> bytes:
        """All that there is to show."""
        own = generate_latest(registry)
        try:
            async with aiohttp.ClientSession(timeout=_PATIENCE) as session, session.get(self._url) as answer:
                return own + await answer.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            log.warning("the metrics of Temporal's package are missing", error=str(error))
            return own


def _telemetry(port: int) -> TelemetryConfig:
    metrics = PrometheusConfig(
        bind_address=f"127.0.0.1:{port}", counters_total_suffix=True, unit_suffix=True, durations_as_seconds=True
    )
    return TelemetryConfig(metrics=metrics, attach_service_name=False)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
