"""The image, Compose and Kubernetes: linted, and held to our own settings, routes and files. They are not run here."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from compose_spec import PyCompose

from penstock.http import health
from penstock.settings import load

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
FILES = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
RESOURCES = [each for file in FILES for each in yaml.safe_load_all(file.read_text())]
SECRET = "0123456789abcdef" * 4
COMMANDS = {"serve", "worker"}
PROBED = {path for handler in health.HANDLERS for path in handler.paths}


def of_kind(kind: str) -> list[Any]:
    return [each for each in RESOURCES if each["kind"] == kind]


def named(kind: str, name: str) -> Any:
    return next(each for each in of_kind(kind) if each["metadata"]["name"] == name)


def requires(settings: dict[str, str]) -> None:
    """Every name is a setting, every value one that it can have, and together they make a server."""
    assert all(name.startswith("PENSTOCK_") for name in settings)
    loaded = load(environ=settings).settings
    assert loaded.database.reveal().startswith("postgresql://"), "several servers share it"
    assert loaded.jwt_secret, "a backup of the database alone must open no secret"
    assert loaded.secrets_key


# The image


def test_the_image_is_linted_and_what_it_copies_is_there() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    copied = [part for line in lines if re.match(r"COPY (?!--from)", line) for part in line.split()[1:-1]]
    assert copied
    for part in copied:
        assert (ROOT / part).exists(), part
        assert f"!{part.split('/')[0]}" in (DEPLOY / "Dockerfile.dockerignore").read_text(), f"{part} is left out"
    assert [line for line in lines if line.startswith("USER")] == ["USER 10001"]


# Compose


def interpolated(text: str) -> str:
    """As Compose would, with everything set that has to be."""
    text = re.sub(r"\$\{\w+:\?[^}]*\}", SECRET, text)
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)
    assert "${" not in text
    return text


def test_compose_is_valid_and_each_service_waits_for_one_that_is_there() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    PyCompose.from_yaml(yaml.safe_dump(COMPOSE))
    services = COMPOSE["services"]
    for service in services.values():
        assert set(service.get("depends_on", {})) <= services.keys()
        assert set(service["networks"]) <= COMPOSE["networks"].keys()
        assert re.search(r":\d", service["image"]), "which one, is said"
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            exists = source in COMPOSE["volumes"] or source.startswith("./tls/") or (DEPLOY / source).exists()
            assert exists, source
    asked = set(re.findall(r"\$\{(\w+):", text))
    given = set(re.findall(r"^(\w+)=", (DEPLOY / "compose.env.example").read_text(), re.MULTILINE))
    assert asked == given


def test_compose_sets_what_are_settings_and_runs_what_are_commands() -> None:
    ours = [service for service in COMPOSE["services"].values() if service["image"].startswith("penstock:")]
    assert len(ours) == 3
    for service in ours:
        requires({name: interpolated(value) for name, value in service["environment"].items()})
        assert set(service.get("command", ["serve"])) <= COMMANDS
    nginx = COMPOSE["services"]["nginx"]["networks"]["inside"]["ipv4_address"]
    assert ours[0]["environment"]["PENSTOCK_TRUSTED_PROXIES"] == f"{nginx}/32"


def test_compose_puts_its_servers_into_the_configuration_that_is_tested(tmp_path: Path) -> None:
    shell, flags, script = COMPOSE["services"]["nginx"]["command"]
    script = script.replace("$$", "$").replace("/penstock.conf", str(DEPLOY / "nginx" / "penstock.conf"), 1)
    script = script.replace("/etc/nginx/conf.d/default.conf", str(tmp_path / "made")).replace("exec nginx", "exec echo")
    subprocess.run([shell, flags, script], check=True, env={"SERVER_NAME": "shop.example", "PATH": "/usr/bin:/bin"})
    made = (tmp_path / "made").read_text()
    before = (DEPLOY / "nginx" / "penstock.conf").read_text()
    for old, new in (
        ("127.0.0.1:8081", "server-a:8080"),
        ("127.0.0.1:8082", "server-b:8080"),
        ("penstock.example", "shop.example"),
    ):
        before = before.replace(old, new)
    assert made == before
    assert {"server-a", "server-b"} <= COMPOSE["services"].keys()


# Kubernetes


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: f"{each['kind']}/{each['metadata']['name']}")
def test_kubernetes_knows_every_member_of_what_we_hand_it(resource: Any) -> None:
    kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)


def containers() -> Iterator[tuple[Any, Any]]:
    for deployment in of_kind("Deployment"):
        pod = deployment["spec"]["template"]
        for container in pod["spec"]["containers"]:
            yield pod, container


def test_kubernetes_sets_what_are_settings_and_runs_what_are_commands() -> None:
    config, secret = named("ConfigMap", "penstock")["data"], named("Secret", "penstock")["stringData"]
    for _, container in containers():
        values = dict(config)
        for variable in container["env"]:
            reference = variable["valueFrom"]["secretKeyRef"]
            assert reference["name"] == "penstock"
            values[variable["name"]] = secret[reference["key"]]
        requires(values)
        assert set(container["args"]) <= COMMANDS


def test_pods_are_nobody_write_nowhere_and_get_no_settings_from_kubernetes_itself() -> None:
    for pod, container in containers():
        # A Service called penstock would become PENSTOCK_PORT and PENSTOCK_SERVICE_HOST in every pod beside it.
        assert pod["spec"]["enableServiceLinks"] is False
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
        own = container["securityContext"]
        assert own["readOnlyRootFilesystem"] is True
        assert own["allowPrivilegeEscalation"] is False
        assert own["capabilities"] == {"drop": ["ALL"]}
        assert pod["spec"]["terminationGracePeriodSeconds"] > load(environ={}).settings.shutdown_grace
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            if probe in container:
                assert container[probe]["httpGet"]["path"] in PROBED
    server = named("Deployment", "penstock-server")["spec"]["template"]["spec"]["containers"][0]
    assert server["livenessProbe"]["httpGet"]["path"] == "/healthz", "a database that is away is no reason to restart"
    assert server["readinessProbe"]["httpGet"]["path"] == "/readyz"
    worker = named("Deployment", "penstock-worker")["spec"]["template"]["spec"]["containers"][0]
    assert worker["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": worker["ports"][0]["name"]}
    assert worker["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": worker["ports"][0]["name"]}
    listens = named("ConfigMap", "penstock")["data"]["PENSTOCK_WORKER_LISTEN"]
    assert listens == f"0.0.0.0:{worker['ports'][0]['containerPort']}"


def test_services_and_budgets_mean_the_pods_that_there_are() -> None:
    labels = [pod["metadata"]["labels"] for pod, _ in containers()]
    selectors = [each["spec"]["selector"] for each in of_kind("Service")]
    selectors += [each["spec"]["selector"]["matchLabels"] for each in of_kind("PodDisruptionBudget")]
    selectors += [each["spec"]["selector"]["matchLabels"] for each in of_kind("Deployment")]
    for selector in selectors:
        assert [each for each in labels if selector.items() <= each.items()], selector
    ports = {port["name"] for _, container in containers() for port in container.get("ports", ())}
    assert {port["targetPort"] for service in of_kind("Service") for port in service["spec"]["ports"]} <= ports
    (ingress,) = of_kind("Ingress")
    paths = ingress["spec"]["rules"][0]["http"]["paths"]
    assert paths[-1]["backend"]["service"]["name"] in {each["metadata"]["name"] for each in of_kind("Service")}
