"""What every route of the platform works with, put together once."""

from typing import TYPE_CHECKING, Any

import msgspec

from penstock.accounts.service import Accounts
from penstock.egress import Egress
from penstock.engine.asked import Engine
from penstock.platform.executions.arrivals import Arrivals
from penstock.platform.iam.service import Iam
from penstock.platform.moment import Moment
from penstock.platform.secrets.vault import Vault
from penstock.platform.tokens import Tokens
from penstock.platform.workflows.checking import Checker
from penstock.settings import Settings
from penstock.storage import Database
from penstock.streams import Hub

if TYPE_CHECKING:
    from penstock.platform.access import Access


class Parts(msgspec.Struct, frozen=True):
    settings: Settings
    database: Database
    accounts: Accounts
    tokens: Tokens
    vault: Vault
    streams: Hub
    egress: Egress
    iam: Iam
    checker: Checker
    arrivals: Arrivals
    engine: Engine | None = None
    moment: "Moment[Access]" = msgspec.field(default_factory=Moment)


def parts_of(request: Any) -> Parts:
    parts: Parts = request.app.state.platform
    return parts
