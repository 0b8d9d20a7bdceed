"""Where an operation is called: the first server that is named for it, as seen from the document's own address."""

import re
from collections.abc import Mapping
from typing import Any

from yarl import URL

from penstock.engine.tasks.openapi.description import Description, Operation


def server_of(operation: Operation, description: Description) -> str:
    template = _swagger(description) if description.swagger else _openapi(operation, description)
    try:
        return str(URL(description.address).join(URL(template)).with_query(None))
    except ValueError as error:
        raise description.fault(f"its server {template[:100]!r} is no address") from error


def _openapi(operation: Operation, description: Description) -> str:
    for members in (operation.members, operation.item, description.members):
        if servers := description.list_of(members, "servers"):
            server = description.resolved(servers[0])
            return _filled(str(server.get("url", "/")), server.get("variables"), description)
    return "/"


def _filled(template: str, variables: Any, description: Description) -> str:
    def default(match: re.Match[str]) -> str:
        variable = variables.get(match[1]) if isinstance(variables, Mapping) else None
        value = variable.get("default") if isinstance(variable, Mapping) else None
        if value is None:
            raise description.fault(f"the server's variable {match[1][:100]!r} has no default")
        return str(value)

    return re.sub(r"\{([^{}]+)\}", default, template)


def _swagger(description: Description) -> str:
    here = URL(description.address)
    members = description.members
    schemes = [scheme for scheme in description.list_of(members, "schemes") if scheme in ("https", "http")]
    scheme = "https" if "https" in schemes else (schemes or [here.scheme])[0]
    host = members.get("host") or here.authority
    return f"{scheme}://{host}/{str(members.get('basePath') or '/').lstrip('/')}"
