"""Every page with something in it, by name: what is photographed for the documentation and examined by axe."""

from collections.abc import Callable

import msgspec

from tests.browser import runs
from tests.browser.conftest import PASSWORD, Person, new_email


class Scene(msgspec.Struct, frozen=True):
    """What was made for the pages to show."""

    company: str
    project: str
    workflow: str
    execution: str = ""
    failed: str = ""
    provider: str = ""


def furnish(person: Person) -> Scene:
    """A company at work, through the public API."""
    company = person.post("/companies", {"name": "Northwind"})["id"]
    orders = person.post(
        f"/organizations/{company}/projects", {"name": "Orders", "description": "From the shop to the parcel."}
    )["id"]
    person.post(f"/organizations/{company}/projects", {"name": "Reports", "description": "What we send on Mondays."})
    logistics = person.post(f"/companies/{company}/organizations", {"name": "Logistics"})["id"]
    person.post(f"/organizations/{logistics}/projects", {"name": "Fleet"})
    templates = person.http.get("/api/v1/definitions/templates").json()["items"]
    made = [
        person.post(
            f"/projects/{orders}/workflows", {"name": template["title"], "config_yaml": template["config_yaml"]}
        )["id"]
        for template in templates[:5]
    ]
    runs.greeted(person, made[0])
    provider = _people(person, company, orders)
    return Scene(company, orders, made[0], runs.fulfilled(person, orders), runs.failed(person, orders), provider)


def _people(person: Person, company: str, project: str) -> str:
    """Colleagues, secrets, and an identity provider: its id."""
    bob, cleo = new_email("bob"), new_email("cleo")
    for name, email, role in (("Bob Tables", bob, "admin"), ("Cleo Patra", cleo, "viewer")):
        account = {"email": email, "password": PASSWORD, "display_name": name}
        person.http.post("/api/v1/auth/register", json=account).raise_for_status()
        person.post(f"/companies/{company}/members", {"email": email, "role": role})
    person.post(f"/projects/{project}/members", {"email": cleo, "role": "editor"})
    for name in ("SMTP_PASSWORD", "STRIPE_API_KEY"):
        person.http.put(f"/api/v1/projects/{project}/secrets/{name}", json={"value": "hush"}).raise_for_status()
    config = {"issuer": "https://login.northwind.example", "client_id": "penstock", "client_secret": "hush"}
    accounts = {"provider_type": "oidc", "name": "Northwind accounts", "config": config}
    provider = person.post(f"/companies/{company}/iam/providers", accounts)["id"]
    mapping = {"external_identifier": "engineering", "resource_type": "project", "resource_id": project}
    person.post(f"/iam/providers/{provider}/mappings", mapping | {"role": "editor"})
    person.http.put(f"/api/v1/companies/{company}", json={"metadata": {"cost_center": 4711}}).raise_for_status()
    return provider


Address = Callable[[Scene], str]

# Areas add their own pages here.
STRANGER: dict[str, Address] = {
    "sign-in": lambda _: "/sign-in",
    "sign-up": lambda _: "/sign-up",
    "forgot": lambda _: "/forgot",
    "reset": lambda _: "/reset?token=abc",
}
SIGNED_IN: dict[str, Address] = {
    "home": lambda _: "/",
    "welcome": lambda _: "/welcome",
    "welcome-project": lambda scene: f"/welcome?company={scene.company}",
    "welcome-template": lambda scene: f"/welcome?company={scene.company}&project={scene.project}",
    "company": lambda scene: f"/companies/{scene.company}",
    "project": lambda scene: f"/projects/{scene.project}",
    "project-executions": lambda scene: f"/projects/{scene.project}/executions",
    "workflow-new": lambda scene: f"/projects/{scene.project}/new?template=order-saga",
    "workflow": lambda scene: f"/workflows/{scene.workflow}",
    "workflow-editor": lambda scene: f"/workflows/{scene.workflow}/edit?task=/do/1/choose",
    "workflow-executions": lambda scene: f"/workflows/{scene.workflow}/runs",
    "workflow-logs": lambda scene: f"/workflows/{scene.workflow}/logs",
    "workflow-events": lambda scene: f"/workflows/{scene.workflow}/events",
    "workflow-versions": lambda scene: f"/workflows/{scene.workflow}/versions",
    "workflow-links": lambda scene: f"/workflows/{scene.workflow}/links",
    "workflow-permissions": lambda scene: f"/workflows/{scene.workflow}/permissions",
    "workflow-settings": lambda scene: f"/workflows/{scene.workflow}/settings",
    "not-found": lambda _: "/no/such/page",
    "execution": lambda scene: f"/executions/{scene.execution}",
    "execution-timeline": lambda scene: f"/executions/{scene.execution}/timeline",
    "execution-step": lambda scene: f"/executions/{scene.execution}/timeline?step=/do/5/carrier/try/0/book",
    "execution-logs": lambda scene: f"/executions/{scene.execution}/logs",
    "execution-events": lambda scene: f"/executions/{scene.execution}/events",
    "execution-data": lambda scene: f"/executions/{scene.execution}/data",
    "execution-relatives": lambda scene: f"/executions/{scene.execution}/relatives",
    "execution-failed": lambda scene: f"/executions/{scene.failed}",
    "system": lambda _: "/system",
    "executions": lambda _: "/executions?status=failed",
    "members": lambda scene: f"/companies/{scene.company}/members",
    "project-members": lambda scene: f"/projects/{scene.project}/members",
    "secrets": lambda scene: f"/projects/{scene.project}/secrets",
    "project-settings": lambda scene: f"/projects/{scene.project}/settings",
    "company-settings": lambda scene: f"/companies/{scene.company}/settings",
    "providers": lambda scene: f"/companies/{scene.company}/providers",
    "provider": lambda scene: f"/companies/{scene.company}/providers/{scene.provider}",
    "provider-new": lambda scene: f"/companies/{scene.company}/providers/new?type=saml",
    "audit": lambda scene: f"/companies/{scene.company}/audit?period=24h",
    "me": lambda _: "/me",
    "me-sign-in": lambda _: "/me/sign-in",
    "me-sessions": lambda _: "/me/sessions",
}
