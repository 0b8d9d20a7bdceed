"""Every route of /api/v1, checked against the table of least roles."""

from litestar import Router

from penstock.platform.access import check_table
from penstock.platform.audit import routes as audit
from penstock.platform.audit.refusals import refuse
from penstock.platform.auth import oauth2
from penstock.platform.auth import routes as auth
from penstock.platform.companies import routes as companies
from penstock.platform.members import routes as members
from penstock.platform.projects import routes as projects
from penstock.problems import Denied

PREFIX = "/api/v1"
HANDLERS = [
    *auth.HANDLERS,
    *oauth2.HANDLERS,
    *companies.HANDLERS,
    *members.HANDLERS,
    *projects.HANDLERS,
    *audit.HANDLERS,
]


def router() -> Router:
    check_table(HANDLERS)
    return Router(PREFIX, route_handlers=HANDLERS, exception_handlers={Denied: refuse})
