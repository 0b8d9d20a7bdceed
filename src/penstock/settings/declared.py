"""Every setting: its name, its type, its meaning and its default."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from penstock.settings.checks import check_together
from penstock.settings.providers import OAuthProvider, SamlProvider
from penstock.settings.values import Duration, Secret, TrustedProxies

# Link-local addresses, and where Alibaba, AWS, Azure, Google and Oracle hand credentials to their machines.
EGRESS_DENY = (
    "169.254.0.0/16",
    "fe80::/10",
    "100.100.100.200/32",
    "fd00:ec2::254/128",
    "fd20:ce::254/128",
    "168.63.129.16/32",
    "192.0.0.192/32",
)


class Settings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All settings of the server. `penstock config` prints them."""

    # --- serving
    host: Annotated[str, Meta(description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Meta(description="Port to listen on.", ge=0, le=65535)] = 8080
    public_url: Annotated[
        str,
        Meta(description="Where people reach this server, e.g. https://penstock.example. Blank: from each request."),
    ] = ""
    trusted_proxies: Annotated[
        TrustedProxies,
        Meta(description="Networks whose X-Forwarded-* and Forwarded headers are believed."),
    ] = TrustedProxies.parse(["127.0.0.0/8", "::1/128"])
    cors_origins: Annotated[
        list[str], Meta(description="Exact origins of front ends on other hosts, e.g. https://app.example.")
    ] = []
    max_body: Annotated[int, Meta(description="Largest request body, in bytes.", ge=1024)] = 1024 * 1024
    shutdown_grace: Annotated[
        Duration, Meta(description="How long requests in flight may take to finish at shutdown.")
    ] = Duration(30)
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="Least level that is logged.")
    ] = "info"
    log_format: Annotated[
        Literal["auto", "json", "console"],
        Meta(description="auto: for people on a terminal, JSON elsewhere."),
    ] = "auto"

    # --- storage
    database: Annotated[
        Secret,
        Meta(description="A file for SQLite (sqlite:///var/penstock.db) or postgresql://user:password@host/name."),
    ] = Secret("sqlite:///var/penstock.db")
    database_pool: Annotated[int, Meta(description="Most connections to PostgreSQL.", ge=1, le=1000)] = 10

    # --- accounts
    session_ttl: Annotated[Duration, Meta(description="A session ends after this long without use.")] = Duration(
        30 * 86400
    )
    password_min_length: Annotated[int, Meta(description="Fewest characters of a password.", ge=1, le=128)] = 8
    password_hash_concurrency: Annotated[
        int,
        Meta(description="Passwords hashed at once, 19 MiB each. 0: as many as there are cores.", ge=0, le=256),
    ] = 0
    update_requires_password: Annotated[bool, Meta(description="POST /user/update asks for current_password.")] = False
    reset_ttl: Annotated[Duration, Meta(description="Life of a password reset token.")] = Duration(3600)
    reset_url: Annotated[
        str,
        Meta(description="Page that a reset mail links to; ?token=… is added. Blank: this server's own page."),
    ] = ""
    limit_failed_logins: Annotated[
        int, Meta(description="Failed sign-ins an hour, for an account and for an address.", ge=1)
    ] = 25
    limit_forgot_password: Annotated[
        int, Meta(description="Reset mails an hour, for an account and for an address.", ge=1)
    ] = 5
    limit_create: Annotated[int, Meta(description="Accounts an hour from one address.", ge=1)] = 20
    redis_url: Annotated[
        Secret, Meta(description="redis://… shares the rate limits among servers. Blank: in memory.")
    ] = Secret("")

    # --- mail
    smtp_server: Annotated[str, Meta(description="host:port of the mail server. Blank: no mail is sent.")] = ""
    smtp_user: Annotated[str, Meta(description="User at the mail server, when it wants one.")] = ""
    smtp_password: Annotated[Secret, Meta(description="Password at the mail server.")] = Secret("")
    smtp_tls: Annotated[
        Literal["auto", "starttls", "tls", "none"],
        Meta(description="auto: TLS on port 465, elsewhere STARTTLS when offered (required with credentials)."),
    ] = "auto"
    email_from: Annotated[str, Meta(description="Sender of mail, display name plus address.")] = (
        "Penstock <penstock@localhost>"
    )
    forgot_password_subject: Annotated[str, Meta(description="Subject of the reset mail.")] = "Password reset"
    forgot_password_body: Annotated[
        str, Meta(description="Body of the reset mail; must contain ${TOKEN} or ${URL}.")
    ] = "To reset your password, go to ${URL}"

    # --- single sign-on
    oauth_providers: Annotated[
        dict[str, OAuthProvider],
        Meta(description="Social providers by name: client_id, client_secret, kind, redirect_url, use_email, …"),
    ] = {}
    saml_providers: Annotated[
        list[SamlProvider],
        Meta(description="SAML identity providers: metadata (a file) and domains; more by `penstock saml add`."),
    ] = []
    saml_idp_initiated: Annotated[
        bool, Meta(description="Accept SAML sign-ins that began at the identity provider.")
    ] = False
    saml_entity_id: Annotated[str, Meta(description="Our entity id. Blank: the address of /user/saml/metadata.")] = ""

    # --- tokens of the API
    jwt_secret: Annotated[
        Secret,
        Meta(description="Signs tokens; 32 bytes or more. Blank: made once, kept beside the database."),
    ] = Secret("")
    jwt_issuer: Annotated[str, Meta(description="The iss of tokens.")] = "penstock"
    access_ttl: Annotated[Duration, Meta(description="Life of an access token.")] = Duration(15 * 60)
    refresh_ttl: Annotated[Duration, Meta(description="Life of a refresh token.")] = Duration(7 * 86400)
    refresh_grace: Annotated[
        Duration, Meta(description="For so long, a second use of a refresh token repeats the answer. 0s: never.")
    ] = Duration(0)
    auth_rate_limit: Annotated[
        int, Meta(description="register and login a minute from one address. 0 means 10.", ge=0)
    ] = 0

    # --- identity providers of companies
    iam_types: Annotated[
        dict[str, str],
        Meta(description="Implementations of provider types by import path, e.g. custom = 'shop.iam:Directory'."),
    ] = {}

    # --- what may be called on a user's word
    egress_deny: Annotated[
        list[str],
        Meta(description="Networks that nothing a user configures may reach. Default: link-local, cloud metadata."),
    ] = msgspec.field(default_factory=lambda: list(EGRESS_DENY))
    egress_allow: Annotated[
        list[str], Meta(description="Networks that may be reached although egress_deny has them.")
    ] = []

    # --- workflows
    secrets_key: Annotated[
        Secret,
        Meta(description="Encrypts projects' secrets; 32 bytes or more. Blank: derived from the server's secret."),
    ] = Secret("")
    secrets_key_previous: Annotated[
        list[Secret],
        Meta(description="Earlier values of secrets_key or jwt_secret, until `penstock secrets rotate` is done."),
    ] = []
    engine: Annotated[Literal["embedded", "temporal", "none"], Meta(description="What runs workflows.")] = "embedded"
    temporal_address: Annotated[
        str, Meta(description="engine = temporal: host:port of the cluster's front end.", min_length=1)
    ] = "127.0.0.1:7233"
    temporal_namespace: Annotated[str, Meta(description="Its namespace for this installation.", min_length=1)] = (
        "default"
    )
    temporal_task_queue: Annotated[
        str, Meta(description="The queue that servers fill and `penstock worker` empties.", min_length=1)
    ] = "penstock"
    temporal_tls: Annotated[
        bool, Meta(description="Speak TLS to the cluster; a file below, or a key, means it too.")
    ] = False
    temporal_tls_ca: Annotated[str, Meta(description="PEM file of who signed the cluster's certificate.")] = ""
    temporal_tls_cert: Annotated[str, Meta(description="PEM file of our own certificate.")] = ""
    temporal_tls_key: Annotated[str, Meta(description="PEM file of its key.")] = ""
    temporal_api_key: Annotated[Secret, Meta(description="An API key for the cluster, as Temporal Cloud gives it.")] = (
        Secret("")
    )
    worker_workflows: Annotated[
        int, Meta(description="Executions that one `penstock worker` computes for at the same time.", ge=2, le=10_000)
    ] = 4
    worker_activities: Annotated[
        int, Meta(description="Calls and processes that one `penstock worker` has under way.", ge=1, le=10_000)
    ] = 200
    worker_history: Annotated[
        int,
        Meta(description="Events of Temporal after which an execution goes on in a new history.", ge=50, le=40_000),
    ] = 8_000
    worker_drain: Annotated[
        Duration, Meta(description="How long a worker that is told to stop waits for calls to end.")
    ] = Duration(30)
    worker_listen: Annotated[
        str,
        Meta(description="host:port where a worker answers /healthz, /readyz and /metrics. Blank: nowhere."),
    ] = ""
    worker_versions: Annotated[
        bool,
        Meta(description="Executions stay with workers of the build that began them; keep those until they are done."),
    ] = False
    processes: Annotated[
        list[Literal["script", "shell", "container", "mcp"]],
        Meta(
            description="What workflows may start on this machine: run: script, shell, container; MCP servers by stdio."
        ),
    ] = []

    processes_at_once: Annotated[
        int,
        Meta(description="Processes of workflows that run at once; one project has half of them. More wait.", ge=1),
    ] = 50
    process_memory: Annotated[
        int, Meta(description="MiB of memory that such a process may use, where the system can bound it. 0: any.", ge=0)
    ] = 2048
    process_cpu: Annotated[Duration, Meta(description="Processor time that such a process may use. 0s: any.")] = (
        Duration(3600)
    )

    executions_at_once: Annotated[
        int,
        Meta(
            description="Executions that work at once; who sleeps or listens does not count; each project has ten.",
            ge=1,
        ),
    ] = 1000
    executions_begun: Annotated[
        int,
        Meta(
            description="Executions of one project that have begun and not ended, also those that sleep. More stay "
            "pending. Of those that listen, or wait for another, there may be as many again.",
            ge=1,
        ),
    ] = 20_000
    step_size: Annotated[
        int, Meta(description="Bytes that the output of a step, or of an execution, may have.", ge=1024)
    ] = 256 * 1024
    execution_size: Annotated[
        int, Meta(description="Bytes that an execution may store: data of its steps, and what it logs.", ge=1024)
    ] = 256 * 1024 * 1024
    execution_log_level: Annotated[
        Literal["debug", "info", "warn", "error"], Meta(description="What is kept of the executions' logs, and above.")
    ] = "debug"
    expression_time: Annotated[
        Duration,
        Meta(description="How much of a processor's time one expression may take in jq; ten times that by the clock."),
    ] = Duration(1)
    expression_memory: Annotated[int, Meta(description="MiB that one expression may use in jq.", ge=32)] = 256
    expression_processes: Annotated[int, Meta(description="Processes that evaluate expressions.", ge=1)] = 2
    call_timeout: Annotated[
        Duration, Meta(description="How long a call or process may take when the workflow does not say.")
    ] = Duration(300)
    answer_size: Annotated[
        int, Meta(description="Bytes that the answer to a call, or what a process prints, may have.", ge=1024)
    ] = 4 * 1024 * 1024
    catalog: Annotated[
        str, Meta(description="A directory with the functions of the catalog `default`. Blank: there is none.")
    ] = ""
    event_ttl: Annotated[Duration, Meta(description="How long an event waits for somebody who listens.")] = Duration(
        3600
    )
    event_sinks: Annotated[
        list[str], Meta(description="Addresses that emitted events are sent to, as CloudEvents over HTTP.")
    ] = []

    # --- keeping
    execution_retention: Annotated[
        Duration,
        Meta(description="How long ended executions are kept, with steps, events and logs. 0s: for ever."),
    ] = Duration(30 * 86400)
    audit_retention: Annotated[
        Duration, Meta(description="How long entries of the audit log are kept. 0s: for ever.")
    ] = Duration(365 * 86400)

    # --- project metadata (document 3)
    project_auth: Annotated[
        Literal["none", "session"], Meta(description="session: /project asks for a signed-in user.")
    ] = "none"

    # --- hooks
    hooks: Annotated[
        dict[
            Literal[
                "user_info",
                "on_auth_event",
                "hash_password",
                "compare_password",
                "send_email",
                "saml_provider_for",
            ],
            str,
        ],
        Meta(description="Python callables by import path, e.g. on_auth_event = 'shop.accounts:welcome'."),
    ] = {}

    def __post_init__(self) -> None:
        check_together(self)

    @property
    def rate_limit_auth(self) -> int:
        return self.auth_rate_limit or 10
