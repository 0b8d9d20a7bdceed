"""Every table. Migrations in `migrations/` bring a database here, and a test holds the two together.

Times are microseconds since 1970 (`now()`), ids of document 2 are UUIDs as text, secrets are kept as hashes.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Serial = BigInteger().with_variant(Integer, "sqlite")  # only INTEGER grows by itself in SQLite
Id = Text().with_variant(Uuid(as_uuid=False), "postgresql")

accounts = Table(
    "accounts",
    metadata,
    Column("userid", Serial, primary_key=True, autoincrement=True),
    Column("id", Id, nullable=False, unique=True),
    Column("email", Text, nullable=False, unique=True),
    Column("email_verified", Boolean, nullable=False),
    Column("password_hash", Text),
    Column("settings", Text, nullable=False),
    Column("display_name", Text, nullable=False),
    Column("avatar_url", Text, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("last_login_at", BigInteger),
    # A userid that was given out is never given out again, not even after the newest account is deleted.
    sqlite_autoincrement=True,
)

oauth_links = Table(
    "oauth_links",
    metadata,
    Column("method", Text, primary_key=True),
    Column("foreign_id", Text, primary_key=True),
    Column("userid", BigInteger, ForeignKey("accounts.userid", ondelete="CASCADE"), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("userid", "method"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("token_hash", LargeBinary, primary_key=True),
    Column("id", Id, nullable=False, unique=True),
    Column("userid", BigInteger, ForeignKey("accounts.userid", ondelete="CASCADE"), nullable=False),
    Column("ip_address", Text, nullable=False),
    Column("user_agent", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index(None, "userid"),
    Index(None, "expires_at"),
)

reset_tokens = Table(
    "reset_tokens",
    metadata,
    Column("token_hash", LargeBinary, primary_key=True),
    Column("userid", BigInteger, ForeignKey("accounts.userid", ondelete="CASCADE"), nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index(None, "userid"),
    Index(None, "expires_at"),
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", Id, primary_key=True),
    Column("email", Text, nullable=False),
    Column("reset_url", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("last_error", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index(None, "due_at"),
)

saml_providers = Table(
    "saml_providers",
    metadata,
    Column("id", Text, primary_key=True),  # the entity id found inside the metadata
    Column("xml", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
)

saml_domains = Table(
    "saml_domains",
    metadata,
    Column("domain", Text, primary_key=True),  # so that no two providers speak for one domain
    Column("provider_id", Text, ForeignKey("saml_providers.id", ondelete="CASCADE"), nullable=False),
    Index(None, "provider_id"),
)

saml_requests = Table(
    "saml_requests",
    metadata,
    Column("id", Text, primary_key=True),
    Column("provider_id", Text, nullable=False),
    Column("next", Text, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index(None, "expires_at"),
)

saml_assertions = Table(
    "saml_assertions",
    metadata,
    Column("provider_id", Text, primary_key=True),
    Column("assertion_id", Text, primary_key=True),
    Column("expires_at", BigInteger, nullable=False),
    Index(None, "expires_at"),
)

saml_service_provider = Table(
    "saml_service_provider",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),  # always 1
    Column("certificate", Text),
    Column("privatekey", Text),
)

key_values = Table(
    "key_values",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

project_metadata = Table(
    "project_metadata",
    metadata,
    Column("name", Text, primary_key=True),
    Column("description", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
)
