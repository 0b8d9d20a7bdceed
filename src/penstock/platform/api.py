"""Every route of /api/v1, checked against the table of least roles."""

from litestar import Router

from penstock.platform import search
from penstock.platform.access import check_table
from penstock.platform.audit import routes as audit
from penstock.platform.audit.refusals import refuse
from penstock.platform.auth import identities as auth_identities
from penstock.platform.auth import methods as auth_methods
from penstock.platform.auth import oauth2
from penstock.platform.auth import routes as auth
from penstock.platform.auth import sessions as auth_sessions
from penstock.platform.companies import routes as companies
from penstock.platform.dashboards import routes as dashboards
from penstock.platform.definitions import routes as definitions
from penstock.platform.events import receiving as events_in
from penstock.platform.events import routes as events
from penstock.platform.executions import children
from penstock.platform.executions import control_routes as execution_control
from penstock.platform.executions import routes as executions
from penstock.platform.executions import step_routes as steps
from penstock.platform.iam import routes as iam
from penstock.platform.iam.sign_in import routes as iam_sign_in
from penstock.platform.logs import routes as logs
from penstock.platform.members import access as member_access
from penstock.platform.members import routes as members
from penstock.platform.projects import routes as projects
from penstock.platform.secrets import routes as secrets
from penstock.platform.workflows import relation_routes as workflow_relations
from penstock.platform.workflows import routes as workflows
from penstock.problems import Denied

PREFIX = "/api/v1"
HANDLERS = [
    *auth.HANDLERS,
    *auth_methods.HANDLERS,
    *auth_sessions.HANDLERS,
    *auth_identities.HANDLERS,
    *oauth2.HANDLERS,
    *companies.HANDLERS,
    *members.HANDLERS,
    *member_access.HANDLERS,
    *projects.HANDLERS,
    *secrets.HANDLERS,
    *definitions.HANDLERS,
    *workflows.HANDLERS,
    *workflow_relations.HANDLERS,
    *executions.HANDLERS,
    *steps.HANDLERS,
    *children.HANDLERS,
    *execution_control.HANDLERS,
    *events.HANDLERS,
    *events_in.HANDLERS,
    *logs.HANDLERS,
    *dashboards.HANDLERS,
    *search.HANDLERS,
    *audit.HANDLERS,
    *iam.HANDLERS,
    *iam_sign_in.HANDLERS,
]


def router() -> Router:
    check_table(HANDLERS)
    return Router(PREFIX, route_handlers=HANDLERS, exception_handlers={Denied: refuse})
