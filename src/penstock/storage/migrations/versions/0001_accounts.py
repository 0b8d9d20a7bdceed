"""Accounts, sessions, sign-on and project metadata."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "accounts",
        sa.Column("userid", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("email_verified", sa.Boolean(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=False),
        sa.Column("avatar_url", sa.Text(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("last_login_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("userid", name=op.f("pk_accounts")),
        sa.UniqueConstraint("email", name=op.f("uq_accounts_email")),
        sa.UniqueConstraint("id", name=op.f("uq_accounts_id")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "key_values",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_key_values")),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("reset_url", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
    )
    op.create_index(op.f("ix_outbox_due_at"), "outbox", ["due_at"], unique=False)
    op.create_table(
        "project_metadata",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_project_metadata")),
    )
    op.create_table(
        "saml_assertions",
        sa.Column("provider_id", sa.Text(), nullable=False),
        sa.Column("assertion_id", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("provider_id", "assertion_id", name=op.f("pk_saml_assertions")),
    )
    op.create_index(op.f("ix_saml_assertions_expires_at"), "saml_assertions", ["expires_at"], unique=False)
    op.create_table(
        "saml_providers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("xml", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_saml_providers")),
    )
    op.create_table(
        "saml_requests",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("provider_id", sa.Text(), nullable=False),
        sa.Column("next", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_saml_requests")),
    )
    op.create_index(op.f("ix_saml_requests_expires_at"), "saml_requests", ["expires_at"], unique=False)
    op.create_table(
        "saml_service_provider",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("certificate", sa.Text(), nullable=True),
        sa.Column("privatekey", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_saml_service_provider")),
    )
    op.create_table(
        "oauth_links",
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("foreign_id", sa.Text(), nullable=False),
        sa.Column("userid", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["userid"], ["accounts.userid"], name=op.f("fk_oauth_links_userid"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("method", "foreign_id", name=op.f("pk_oauth_links")),
        sa.UniqueConstraint("userid", "method", name=op.f("uq_oauth_links_userid_method")),
    )
    op.create_table(
        "reset_tokens",
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("userid", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["userid"], ["accounts.userid"], name=op.f("fk_reset_tokens_userid"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_reset_tokens")),
    )
    op.create_index(op.f("ix_reset_tokens_expires_at"), "reset_tokens", ["expires_at"], unique=False)
    op.create_index(op.f("ix_reset_tokens_userid"), "reset_tokens", ["userid"], unique=False)
    op.create_table(
        "saml_domains",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("provider_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["provider_id"],
            ["saml_providers.id"],
            name=op.f("fk_saml_domains_provider_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("domain", name=op.f("pk_saml_domains")),
    )
    op.create_index(op.f("ix_saml_domains_provider_id"), "saml_domains", ["provider_id"], unique=False)
    op.create_table(
        "sessions",
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("id", sa.Text().with_variant(sa.Uuid(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("userid", sa.BigInteger(), nullable=False),
        sa.Column("ip_address", sa.Text(), nullable=False),
        sa.Column("user_agent", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["userid"], ["accounts.userid"], name=op.f("fk_sessions_userid"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_sessions")),
        sa.UniqueConstraint("id", name=op.f("uq_sessions_id")),
    )
    op.create_index(op.f("ix_sessions_expires_at"), "sessions", ["expires_at"], unique=False)
    op.create_index(op.f("ix_sessions_userid"), "sessions", ["userid"], unique=False)
