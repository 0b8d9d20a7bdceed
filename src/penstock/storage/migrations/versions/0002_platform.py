"""Tenants, grants, workflows, executions, audit and identity providers."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit_entries",
        sa.Column("id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("company_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=True),
        sa.Column("organization_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=True),
        sa.Column("user_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("resource_type", sa.Text(), nullable=False),
        sa.Column("resource_id", sa.Text(), nullable=True),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("ip_address", sa.Text(), nullable=False),
        sa.Column("user_agent", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entries")),
    )
    op.create_index("ix_audit_entries_company_id", "audit_entries", ["company_id", "created_at", "id"], unique=False)
    op.create_index(
        "ix_audit_entries_company_id_action",
        "audit_entries",
        ["company_id", "action", "created_at", "id"],
        unique=False,
    )
    op.create_index(
        "ix_audit_entries_company_id_organization_id",
        "audit_entries",
        ["company_id", "organization_id", "created_at", "id"],
        unique=False,
    )
    op.create_index(
        "ix_audit_entries_company_id_resource_id",
        "audit_entries",
        ["company_id", "resource_id", "created_at", "id"],
        unique=False,
    )
    op.create_index(
        "ix_audit_entries_company_id_resource_type",
        "audit_entries",
        ["company_id", "resource_type", "created_at", "id"],
        unique=False,
    )
    op.create_index(
        "ix_audit_entries_company_id_user_id",
        "audit_entries",
        ["company_id", "user_id", "created_at", "id"],
        unique=False,
    )
    op.create_index(op.f("ix_audit_entries_created_at"), "audit_entries", ["created_at"], unique=False)
    op.create_table(
        "audit_retention",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_retention")),
    )
    op.create_table(
        "companies",
        sa.Column("id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("parent_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["accounts.id"], name=op.f("fk_companies_owner_id")),
        sa.ForeignKeyConstraint(
            ["parent_id"], ["companies.id"], name=op.f("fk_companies_parent_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_companies")),
    )
    op.create_index(op.f("ix_companies_parent_id_created_at"), "companies", ["parent_id", "created_at"], unique=False)
    op.create_index(
        "uq_companies_owner_id_slug",
        "companies",
        ["owner_id", "slug"],
        unique=True,
        sqlite_where=sa.text("parent_id IS NULL"),
        postgresql_where=sa.text("parent_id IS NULL"),
    )
    op.create_index("uq_companies_parent_id_slug", "companies", ["parent_id", "slug"], unique=True)
    op.create_table(
        "company_domains",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("company_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["company_id"], ["companies.id"], name=op.f("fk_company_domains_company_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("domain", name=op.f("pk_company_domains")),
    )
    op.create_index(op.f("ix_company_domains_company_id"), "company_domains", ["company_id"], unique=False)
    op.create_table(
        "iam_providers",
        sa.Column("id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("company_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("provider_type", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["company_id"], ["companies.id"], name=op.f("fk_iam_providers_company_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_iam_providers")),
        sa.UniqueConstraint("company_id", "name", name=op.f("uq_iam_providers_company_id_name")),
    )
    op.create_index(
        op.f("ix_iam_providers_company_id_created_at"), "iam_providers", ["company_id", "created_at"], unique=False
    )
    op.create_table(
        "projects",
        sa.Column("id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("company_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["company_id"], ["companies.id"], name=op.f("fk_projects_company_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
        sa.UniqueConstraint("company_id", "slug", name=op.f("uq_projects_company_id_slug")),
    )
    op.create_index(op.f("ix_projects_company_id_created_at"), "projects", ["company_id", "created_at"], unique=False)
    op.create_table(
        "token_families",
        sa.Column("id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("session_hash", sa.LargeBinary(), nullable=False),
        sa.Column("refresh_jti", sa.Text(), nullable=False),
        sa.Column("previous_jti", sa.Text(), nullable=True),
        sa.Column("rotated_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_hash"], ["sessions.token_hash"], name=op.f("fk_token_families_session_hash"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token_families")),
    )
    op.create_index(op.f("ix_token_families_expires_at"), "token_families", ["expires_at"], unique=False)
    op.create_index(op.f("ix_token_families_session_hash"), "token_families", ["session_hash"], unique=False)
    op.create_table(
        "iam_identities",
        sa.Column("provider_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("authority", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["provider_id"], ["iam_providers.id"], name=op.f("fk_iam_identities_provider_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["accounts.id"], name=op.f("fk_iam_identities_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("provider_id", "subject", name=op.f("pk_iam_identities")),
    )
    op.create_index(op.f("ix_iam_identities_user_id"), "iam_identities", ["user_id"], unique=False)
    op.create_table(
        "iam_mappings",
        sa.Column("id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("provider_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("external_identifier", sa.Text(), nullable=False),
        sa.Column("resource_type", sa.Text(), nullable=False),
        sa.Column("resource_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("role", sa.SmallInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["provider_id"], ["iam_providers.id"], name=op.f("fk_iam_mappings_provider_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_iam_mappings")),
        sa.UniqueConstraint("provider_id", "external_identifier", "resource_id", name="uq_iam_mappings_same"),
    )
    op.create_index(
        op.f("ix_iam_mappings_provider_id_created_at"), "iam_mappings", ["provider_id", "created_at"], unique=False
    )
    op.create_table(
        "secrets",
        sa.Column("project_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.Column("updated_by", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_secrets_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "name", name=op.f("pk_secrets")),
    )
    op.create_index(op.f("ix_secrets_key_id"), "secrets", ["key_id"], unique=False)
    op.create_index(
        op.f("ix_secrets_project_id_created_at_name"), "secrets", ["project_id", "created_at", "name"], unique=False
    )
    op.create_table(
        "workflows",
        sa.Column("id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("project_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("deployed_version", sa.Integer(), nullable=True),
        sa.Column("created_by", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("updated_by", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("search", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_workflows_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workflows")),
        sa.UniqueConstraint("project_id", "slug", name=op.f("uq_workflows_project_id_slug")),
    )
    op.create_index(
        op.f("ix_workflows_project_id_created_at_id"), "workflows", ["project_id", "created_at", "id"], unique=False
    )
    op.create_table(
        "events",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("workflow_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("execution_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=True),
        sa.Column("step_name", sa.Text(), nullable=True),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workflow_id"], ["workflows.id"], name=op.f("fk_events_workflow_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_events_execution_id_id"), "events", ["execution_id", "id"], unique=False)
    op.create_index(op.f("ix_events_workflow_id_created_at"), "events", ["workflow_id", "created_at"], unique=False)
    op.create_index(op.f("ix_events_workflow_id_id"), "events", ["workflow_id", "id"], unique=False)
    op.create_index(op.f("ix_events_workflow_id_type_id"), "events", ["workflow_id", "type", "id"], unique=False)
    op.create_table(
        "executions",
        sa.Column("id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("workflow_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("trigger_type", sa.Text(), nullable=False),
        sa.Column("trigger_data", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("output_data", sa.Text(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("completed_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workflow_id"], ["workflows.id"], name=op.f("fk_executions_workflow_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_executions")),
    )
    op.create_index(op.f("ix_executions_completed_at"), "executions", ["completed_at"], unique=False)
    op.create_index(
        "ix_executions_idempotency_key",
        "executions",
        ["workflow_id", "idempotency_key"],
        unique=False,
        sqlite_where=sa.text("idempotency_key IS NOT NULL"),
        postgresql_where=sa.text("idempotency_key IS NOT NULL"),
    )
    op.create_index(
        "ix_executions_listed",
        "executions",
        ["workflow_id", "created_at", "id", "status", "started_at", "completed_at"],
        unique=False,
    )
    op.create_index(
        "ix_executions_listed_by_status", "executions", ["workflow_id", "status", "created_at", "id"], unique=False
    )
    op.create_index(
        "ix_executions_unended",
        "executions",
        ["status"],
        unique=False,
        sqlite_where=sa.text("completed_at IS NULL"),
        postgresql_where=sa.text("completed_at IS NULL"),
    )
    op.create_table(
        "grants",
        sa.Column("id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("user_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("company_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=True),
        sa.Column("project_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=True),
        sa.Column("workflow_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=True),
        sa.Column("mapping_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=True),
        sa.Column("role", sa.SmallInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "CASE WHEN company_id IS NULL THEN 0 ELSE 1 END + CASE WHEN project_id IS NULL THEN 0 ELSE 1 END + CASE WHEN workflow_id IS NULL THEN 0 ELSE 1 END = 1",
            name="one_target",
        ),
        sa.ForeignKeyConstraint(
            ["company_id"], ["companies.id"], name=op.f("fk_grants_company_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["mapping_id"], ["iam_mappings.id"], name=op.f("fk_grants_mapping_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_grants_project_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["accounts.id"], name=op.f("fk_grants_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["workflow_id"], ["workflows.id"], name=op.f("fk_grants_workflow_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grants")),
    )
    op.create_index(op.f("ix_grants_company_id_user_id"), "grants", ["company_id", "user_id"], unique=False)
    op.create_index(op.f("ix_grants_mapping_id"), "grants", ["mapping_id"], unique=False)
    op.create_index(op.f("ix_grants_project_id_user_id"), "grants", ["project_id", "user_id"], unique=False)
    op.create_index(op.f("ix_grants_user_id"), "grants", ["user_id"], unique=False)
    op.create_index(op.f("ix_grants_workflow_id_user_id"), "grants", ["workflow_id", "user_id"], unique=False)
    op.create_index(
        "uq_grants_company_direct",
        "grants",
        ["user_id", "company_id"],
        unique=True,
        sqlite_where=sa.text("mapping_id IS NULL AND company_id IS NOT NULL"),
        postgresql_where=sa.text("mapping_id IS NULL AND company_id IS NOT NULL"),
    )
    op.create_index(
        "uq_grants_project_direct",
        "grants",
        ["user_id", "project_id"],
        unique=True,
        sqlite_where=sa.text("mapping_id IS NULL AND project_id IS NOT NULL"),
        postgresql_where=sa.text("mapping_id IS NULL AND project_id IS NOT NULL"),
    )
    op.create_index(
        "uq_grants_workflow_direct",
        "grants",
        ["user_id", "workflow_id"],
        unique=True,
        sqlite_where=sa.text("mapping_id IS NULL AND workflow_id IS NOT NULL"),
        postgresql_where=sa.text("mapping_id IS NULL AND workflow_id IS NOT NULL"),
    )
    op.create_table(
        "log_entries",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("workflow_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("execution_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=True),
        sa.Column("level", sa.SmallInteger(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("module_name", sa.Text(), nullable=False),
        sa.Column("fields", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workflow_id"], ["workflows.id"], name=op.f("fk_log_entries_workflow_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_log_entries")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_log_entries_alarming",
        "log_entries",
        ["workflow_id", "id", "level"],
        unique=False,
        sqlite_where=sa.text("level >= 2"),
        postgresql_where=sa.text("level >= 2"),
    )
    op.create_index(op.f("ix_log_entries_execution_id_id"), "log_entries", ["execution_id", "id"], unique=False)
    op.create_index(
        op.f("ix_log_entries_workflow_id_created_at"), "log_entries", ["workflow_id", "created_at"], unique=False
    )
    op.create_index(op.f("ix_log_entries_workflow_id_id"), "log_entries", ["workflow_id", "id"], unique=False)
    op.create_table(
        "workflow_counts",
        sa.Column("workflow_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workflow_id"], ["workflows.id"], name=op.f("fk_workflow_counts_workflow_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("workflow_id", "what", name=op.f("pk_workflow_counts")),
    )
    op.create_table(
        "workflow_hours",
        sa.Column("workflow_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("hour", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workflow_id"], ["workflows.id"], name=op.f("fk_workflow_hours_workflow_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("workflow_id", "hour", "status", name=op.f("pk_workflow_hours")),
    )
    op.create_table(
        "workflow_links",
        sa.Column("id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("source_workflow_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("target_workflow_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("link_type", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["source_workflow_id"],
            ["workflows.id"],
            name=op.f("fk_workflow_links_source_workflow_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["target_workflow_id"],
            ["workflows.id"],
            name=op.f("fk_workflow_links_target_workflow_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workflow_links")),
        sa.UniqueConstraint("source_workflow_id", "target_workflow_id", "link_type", name="uq_workflow_links_same"),
    )
    op.create_index(
        op.f("ix_workflow_links_source_workflow_id_created_at_id"),
        "workflow_links",
        ["source_workflow_id", "created_at", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_workflow_links_target_workflow_id"), "workflow_links", ["target_workflow_id"], unique=False
    )
    op.create_table(
        "workflow_versions",
        sa.Column("workflow_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("config_yaml", sa.Text(), nullable=False),
        sa.Column("findings", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workflow_id"], ["workflows.id"], name=op.f("fk_workflow_versions_workflow_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("workflow_id", "version", name=op.f("pk_workflow_versions")),
    )
    op.create_table(
        "steps",
        sa.Column("id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("execution_id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("step_name", sa.Text(), nullable=False),
        sa.Column("step_type", sa.Text(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("sequence_num", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("input_data", sa.Text(), nullable=True),
        sa.Column("output_data", sa.Text(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("completed_at", sa.BigInteger(), nullable=True),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["executions.id"], name=op.f("fk_steps_execution_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_steps")),
        sa.UniqueConstraint("execution_id", "sequence_num", name=op.f("uq_steps_execution_id_sequence_num")),
    )
