"""What is asked of the tables of workflows and their versions. (Lists with filters are in `lists`.)"""

import msgspec
from sqlalchemy import bindparam, delete, func, insert, literal, or_, select, update

from penstock.dsl.check import Finding, errors
from penstock.http.times import rfc3339
from penstock.platform.workflows.runs import Runs, runs_from
from penstock.storage import Row, Statement
from penstock.storage.platform_tables import executions, workflow_versions, workflows


class Validation(msgspec.Struct, frozen=True):
    valid: bool
    errors: list[Finding]


class Workflow(msgspec.Struct, frozen=True):
    id: str
    project_id: str
    name: str
    slug: str
    description: str
    config_yaml: str
    version: int
    status: str
    deployed_version: int | None
    created_by: str
    updated_by: str
    created_at: str
    updated_at: str
    validation: Validation
    runs: Runs | msgspec.UnsetType = msgspec.UNSET
    """Only in a list, and when it is asked for."""


class Version(msgspec.Struct, frozen=True):
    workflow_id: str
    version: int
    config_yaml: str
    created_by: str
    created_at: str


class Record(msgspec.Struct, frozen=True):
    """A workflow, and the number that its ETag is made of."""

    workflow: Workflow
    revision: int


NEWEST = workflows.join(
    workflow_versions,
    (workflow_versions.c.workflow_id == workflows.c.id) & (workflow_versions.c.version == workflows.c.version),
)
COLUMNS = (
    workflows.c.id,
    workflows.c.project_id,
    workflows.c.name,
    workflows.c.slug,
    workflows.c.description,
    workflow_versions.c.config_yaml,
    workflows.c.version,
    workflows.c.status,
    workflows.c.deployed_version,
    workflows.c.created_by,
    workflows.c.updated_by,
    workflows.c.created_at,
    workflows.c.updated_at,
    workflow_versions.c.findings,
    workflows.c.revision,
)
_findings = msgspec.json.Decoder(list[Finding]).decode


def record_from(row: Row) -> Record:
    """From `COLUMNS`, or from those and the columns of `runs`."""
    id_, project_id, name, slug, description, config_yaml, version, status, deployed, *rest = row
    created_by, updated_by, created, updated, findings, revision, *runs = rest
    found = errors(_findings(findings))
    workflow = Workflow(
        id_,
        project_id,
        name,
        slug,
        description,
        config_yaml,
        version,
        status,
        deployed,
        created_by,
        updated_by,
        rfc3339(created),
        rfc3339(updated),
        Validation(not found, found),
        runs_from(*runs) if runs else msgspec.UNSET,
    )
    return Record(workflow, revision)


def version_from(row: Row) -> Version:
    workflow_id, version, config_yaml, created_by, created = row
    return Version(workflow_id, version, config_yaml, created_by, rfc3339(created))


FIND = Statement(select(*COLUMNS).select_from(NEWEST).where(workflows.c.id == bindparam("id")))
# Alone, before anything is read: a lock that waited inside a join would see the new workflow beside its old version.
# Not in the way of those who only refer to the row (events, executions): they may hold what we are about to ask for.
LOCK = Statement(select(workflows.c.id).where(workflows.c.id == bindparam("id")).with_for_update(key_share=True))
LOCK_WHOLLY = Statement(select(workflows.c.id).where(workflows.c.id == bindparam("id")).with_for_update())
ADD = Statement(
    insert(workflows).values(
        id=bindparam("id"),
        project_id=bindparam("project_id"),
        name=bindparam("name"),
        slug=bindparam("slug"),
        description=bindparam("description"),
        search=bindparam("search"),
        version=1,
        revision=1,
        status="draft",
        created_by=bindparam("by"),
        updated_by=bindparam("by"),
        created_at=bindparam("now"),
        updated_at=bindparam("now"),
    )
)
UPDATE = Statement(
    update(workflows)
    .where(workflows.c.id == bindparam("id_"))
    .values(
        name=bindparam("name"),
        slug=bindparam("slug"),
        description=bindparam("description"),
        search=bindparam("search"),
        version=bindparam("version"),
        revision=workflows.c.revision + 1,
        updated_by=bindparam("by"),
        updated_at=bindparam("now"),
    )
)
SET_STATUS = Statement(
    update(workflows)
    .where(workflows.c.id == bindparam("id_"))
    .values(
        status=bindparam("status"),
        deployed_version=bindparam("deployed_version"),
        revision=workflows.c.revision + 1,
        updated_by=bindparam("by"),
        updated_at=bindparam("now"),
    )
)
DELETE = Statement(delete(workflows).where(workflows.c.id == bindparam("id")))

ADD_VERSION = Statement(
    insert(workflow_versions).values(
        workflow_id=bindparam("workflow_id"),
        version=bindparam("version"),
        config_yaml=bindparam("config_yaml"),
        findings=bindparam("findings"),
        created_by=bindparam("by"),
        created_at=bindparam("now"),
    )
)
_VERSION = (
    workflow_versions.c.workflow_id,
    workflow_versions.c.version,
    workflow_versions.c.config_yaml,
    workflow_versions.c.created_by,
    workflow_versions.c.created_at,
)
_of_workflow = workflow_versions.c.workflow_id == bindparam("workflow_id")
FIND_VERSION = Statement(select(*_VERSION).where(_of_workflow, workflow_versions.c.version == bindparam("version")))
LATEST_VERSION = Statement(
    select(*_VERSION).where(_of_workflow).order_by(workflow_versions.c.version.desc()).limit(literal(1))
)
LIST_VERSIONS = Statement(
    select(*_VERSION)
    .where(_of_workflow)
    .order_by(workflow_versions.c.version.desc())
    .limit(bindparam("limit"))
    .offset(bindparam("offset"))
)
COUNT_VERSIONS = Statement(select(func.count()).select_from(workflow_versions).where(_of_workflow))

# By status and not by completed_at, for which there is an index.
_unended = (
    executions.c.workflow_id == bindparam("workflow_id"),
    or_(executions.c.status == "pending", executions.c.status == "running"),
)
COUNT_UNENDED = Statement(select(func.count()).select_from(executions).where(*_unended))
LOCK_UNENDED = Statement(
    select(executions.c.id, executions.c.workflow_id, executions.c.status, executions.c.created_at)
    .where(*_unended)
    .order_by(executions.c.id)
    .with_for_update()
)
