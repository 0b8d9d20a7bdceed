"""The check of a Temporal cluster: whether it answers, knows our namespace, and has workers."""

from collections.abc import AsyncIterator

from penstock.cli.findings import Finding, fail, ok, warn
from penstock.platform.engine import require_temporal
from penstock.settings import Loaded, SettingsError


async def temporal(loaded: Loaded) -> AsyncIterator[Finding]:
    settings = loaded.settings
    if settings.engine != "temporal":
        return
    try:
        require_temporal()
    except SettingsError as error:
        yield fail("temporal", str(error), "Run pip install 'penstock[temporal]'.")
        return
    from temporalio.service import RPCError, RPCStatusCode  # noqa: PLC0415 - an optional package

    from penstock.engine.temporal.connection import Cluster, look_at  # noqa: PLC0415
    from penstock.engine.temporal.standing import workers  # noqa: PLC0415

    cluster = Cluster.of(settings)
    try:
        count = await workers(await look_at(cluster), cluster.task_queue)
    except SettingsError as error:
        yield fail("temporal", str(error), "Name files that this account may read.")
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            yield fail(
                "temporal",
                f"{cluster.address} has no namespace {cluster.namespace}",
                f"Run temporal operator namespace create {cluster.namespace}, or correct temporal_namespace.",
            )
        else:
            yield fail("temporal", f"{cluster.address} refuses: {error}", "See temporal_api_key and temporal_tls_*.")
    except RuntimeError as error:
        yield fail(
            "temporal",
            f"{cluster.address} does not answer: {error}",
            "Start the cluster, or correct temporal_address and temporal_tls.",
        )
    else:
        if count:
            yield ok("temporal", f"{cluster.address}, {count} at work on the task queue {cluster.task_queue}")
        else:
            yield warn(
                "temporal",
                f"no worker asks for work on the task queue {cluster.task_queue}: executions wait",
                "Start penstock worker, with the same settings and database as the servers.",
            )
