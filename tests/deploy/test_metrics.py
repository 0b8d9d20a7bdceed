"""The dashboard, the alerts and their documentation speak of metrics that a running server has, with its labels."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import promql_parser as promql
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.acceptance.server import PATIENCE, running

ROOT = Path(__file__).parents[2]
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "penstock.json").read_text())
ALERTS = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yml").read_text())
SCRAPED = {"job", "instance"}
"""Labels that Prometheus adds to whatever it scrapes."""
DEFINITION = """
document: {dsl: '1.0.3', namespace: t, name: greet, version: '1.0.0'}
do: [{hello: {set: {greeting: hello}}}]
"""

Samples = dict[str, set[str]]


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a real server answers after it has run something."""
    return asyncio.run(_scraped(tmp_path_factory.mktemp("metrics")))


async def _scraped(folder: Path) -> str:
    async with (
        running(folder, f"sqlite:///{folder}/penstock.db", expression_processes="1") as server,
        httpx.AsyncClient(base_url=await server.url(), timeout=PATIENCE) as client,
    ):

        async def made(path: str, body: Any) -> Any:
            return (await client.post(f"/api/v1{path}", json=body)).raise_for_status().json()

        tokens = await made("/auth/register", {"email": "ann@example.com", "password": "correct horse"})
        client.headers["Authorization"] = f"Bearer {tokens['access_token']}"
        company = await made("/companies", {"name": "Acme"})
        project = await made(f"/organizations/{company['id']}/projects", {"name": "Apollo"})
        body = {"name": "Greet", "config_yaml": DEFINITION}
        workflow = await made(f"/projects/{project['id']}/workflows", body)
        await made(f"/workflows/{workflow['id']}/deploy", {})
        await made(f"/workflows/{workflow['id']}/trigger", {})
        async with asyncio.timeout(PATIENCE):
            while True:
                text = (await client.get("/metrics")).text
                lines = text.splitlines()
                if (
                    "penstock_database_up 1.0" in lines
                    and 'penstock_engine_executions_total{status="completed"} 1.0' in lines
                ):
                    return text
                await asyncio.sleep(0.05)


@pytest.fixture(scope="module")
def samples(metrics: str) -> Samples:
    """The labels of each sample, by its name."""
    found: Samples = {"up": set()}
    for family in text_string_to_metric_families(metrics):
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


def test_every_metric_is_documented_and_every_documented_one_exists(metrics: str) -> None:
    families = {family.name for family in text_string_to_metric_families(metrics)}
    text = (ROOT / "docs" / "metrics.md").read_text()
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    documented = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    assert documented == {name for name in families if not name.endswith("_created")}


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
