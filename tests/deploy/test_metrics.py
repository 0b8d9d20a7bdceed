"""The dashboard, the alerts and their documentation speak of metrics that running servers and workers have, with their
labels."""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import promql_parser as promql
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests import temporal
from tests.acceptance.server import PATIENCE, running
from tests.engine.temporal.workers import listens, worker_process

ROOT = Path(__file__).parents[2]
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "penstock.json").read_text())
ALERTS = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yml").read_text())
SCRAPED = {"job", "instance"}
"""Labels that Prometheus adds to whatever it scrapes."""
DEFINITION = """
document: {dsl: '1.0.3', namespace: t, name: greet, version: '1.0.0'}
do: [{hello: {call: http, with: {method: get, endpoint: '%s/healthz'}}}]
"""
WORKERS = "## Workers"

Samples = dict[str, set[str]]


@dataclass(frozen=True)
class Scraped:
    """What real processes answer after they have run something: a server of each engine, and a worker."""

    embedded: str
    temporal: str
    worker: str


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Scraped:
    return asyncio.run(_scraped(tmp_path_factory.mktemp("metrics")))


async def _scraped(folder: Path) -> Scraped:
    small = {"expression_processes": "1"}
    async with running(folder, f"sqlite:///{folder}/embedded.db", **small) as server:
        url = await server.url()
        await _run_something(url)
        embedded = await _shown(
            url, "penstock_database_up 1.0", 'penstock_engine_executions_total{status="completed"} 1.0'
        )
    database = f"sqlite:///{folder}/temporal.db"
    with temporal.running(folder) as address:
        settings = {**small, "temporal_address": address}
        async with running(folder, database, engine="temporal", **settings) as server:
            url = await server.url()
            async with worker_process(folder, database, settings | {"worker_listen": "127.0.0.1:0"}):
                await _run_something(url)
                ended = 'penstock_worker_executions_total{status="completed"} 1.0'
                worker = await _shown(listens(folder), ended, "penstock_database_up 1.0", "temporal_workflow_completed")
                server_there = await _shown(url, "penstock_temporal_workers 1.0", "penstock_database_up 1.0")
    return Scraped(embedded, server_there, worker)


async def _run_something(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:

        async def made(path: str, body: Any) -> Any:
            return (await client.post(f"/api/v1{path}", json=body)).raise_for_status().json()

        tokens = await made("/auth/register", {"email": "ann@example.com", "password": "correct horse"})
        client.headers["Authorization"] = f"Bearer {tokens['access_token']}"
        company = await made("/companies", {"name": "Acme"})
        project = await made(f"/organizations/{company['id']}/projects", {"name": "Apollo"})
        body = {"name": "Greet", "config_yaml": DEFINITION % url}
        workflow = await made(f"/projects/{project['id']}/workflows", body)
        await made(f"/workflows/{workflow['id']}/deploy", {})
        await made(f"/workflows/{workflow['id']}/trigger", {})


async def _shown(url: str, *lines: str) -> str:
    """All metrics, once these lines begin some of them."""
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client, asyncio.timeout(PATIENCE):
        while True:
            text = (await client.get("/metrics")).text
            if all(any(shown.startswith(line) for shown in text.splitlines()) for line in lines):
                return text
            await asyncio.sleep(0.05)


def families(*texts: str) -> set[str]:
    names = {family.name for text in texts for family in text_string_to_metric_families(text)}
    return {name for name in names if not name.endswith("_created")}


@pytest.fixture(scope="module")
def samples(scraped: Scraped) -> Samples:
    """The labels of each sample, by its name."""
    found: Samples = {"up": set()}
    for text in (scraped.embedded, scraped.temporal, scraped.worker):
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found.setdefault(sample.name, set()).update(sample.labels)
    return found


def expressions() -> Iterator[tuple[str, str]]:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            # What Grafana puts in before Prometheus sees it.
            yield f"dashboard: {panel['title']}", target["expr"].replace("$__rate_interval", "1m")
    for rule in rules():
        yield f"alert: {rule['alert']}", rule["expr"]


def rules() -> list[Any]:
    return [rule for group in ALERTS["groups"] for rule in group["rules"]]


def selectors(expression: Any) -> Iterator[Any]:
    """All that asks for a metric, wherever in the expression."""
    if isinstance(expression, promql.VectorSelector):
        yield expression
    elif isinstance(expression, promql.BinaryExpr):
        yield from selectors(expression.lhs)
        yield from selectors(expression.rhs)
    elif isinstance(expression, promql.Call):
        for argument in expression.args:
            yield from selectors(argument)
    elif isinstance(expression, promql.MatrixSelector):
        yield from selectors(expression.vector_selector)
    elif isinstance(expression, promql.AggregateExpr | promql.ParenExpr | promql.UnaryExpr | promql.SubqueryExpr):
        yield from selectors(expression.expr)


def grouped_by(expression: str) -> set[str]:
    return {name.strip() for names in re.findall(r"\bby \(([^)]*)\)", expression) for name in names.split(",")}


def test_every_expression_asks_for_metrics_and_labels_that_there_are(samples: Samples) -> None:
    wrong = [fault for where, expression in expressions() for fault in faults(samples, where, expression)]
    assert not wrong


def faults(samples: Samples, where: str, expression: str) -> Iterator[str]:
    asked = list(selectors(promql.parse(expression)))
    if not asked:
        yield f"{where}: asks for nothing"
    labels = set(SCRAPED)
    for selector in asked:
        if selector.name not in samples:
            yield f"{where}: no metric {selector.name}"
            continue
        labels |= samples[selector.name]
        used = {matcher.name for matcher in selector.matchers.matchers}
        if not used <= samples[selector.name] | SCRAPED:
            yield f"{where}: {selector.name} has not all of the labels {used}"
    if not grouped_by(expression) <= labels:
        yield f"{where}: not all of {grouped_by(expression)} are labels of what it asks for"


def documented(text: str) -> set[str]:
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}


def test_every_metric_is_documented_and_every_documented_one_exists(scraped: Scraped) -> None:
    servers, _, workers = (ROOT / "docs" / "metrics.md").read_text().partition(WORKERS)
    assert documented(servers) == families(scraped.embedded, scraped.temporal)
    shown = families(scraped.worker)
    assert documented(workers) <= shown
    # Some that Temporal's package counts are there only when something went wrong.
    said = {name for name in re.findall(r"`([a-z_]+)`", workers) if name.startswith("temporal_")}
    assert shown - documented(workers) - said <= documented(servers)


def test_every_alert_says_what_happened_and_what_to_do() -> None:
    for rule in rules():
        assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"].keys() == {"severity"}
        assert rule["annotations"].keys() == {"summary", "do"}
        assert promql.parse_duration(rule.get("for", "1m"))
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names))


def test_the_dashboard_is_one_that_grafana_can_lay_out() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells, f"{panel['title']} lies over another panel"
        assert place["x"] + place["w"] <= 24
        taken |= cells
        if panel["type"] != "row":
            assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            assert panel["targets"]
    variables = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    text = json.dumps(panels)
    used = set(re.findall(r"\$\{?([a-z]+)", text))
    assert used <= variables
