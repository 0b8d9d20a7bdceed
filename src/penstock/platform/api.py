"""Every route of /api/v1, checked against the table of least roles."""

from litestar import Router

from penstock.platform.access import check_table
from penstock.platform.auth import oauth2
from penstock.platform.auth import routes as auth
from penstock.platform.companies import routes as companies
from penstock.platform.members import routes as members
from penstock.platform.projects import routes as projects

PREFIX = "/api/v1"
HANDLERS = [*auth.HANDLERS, *oauth2.HANDLERS, *companies.HANDLERS, *members.HANDLERS, *projects.HANDLERS]


def router() -> Router:
    check_table(
        (str(method), path.replace(":str}", "}"))
        for handler in HANDLERS
        for path in handler.paths
        for method in handler.http_methods
    )
    return Router(PREFIX, route_handlers=HANDLERS)
