"""Every page with something in it, by name: what is photographed for the documentation and examined by axe."""

from collections.abc import Callable

import msgspec

from tests.browser.conftest import Person


class Scene(msgspec.Struct, frozen=True):
    """What was made for the pages to show."""

    company: str
    project: str
    workflow: str


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
    return Scene(company, orders, made[0])


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
    "not-found": lambda _: "/no/such/page",
}
