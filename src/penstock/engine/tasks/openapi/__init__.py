"""`call: openapi`: an operation of an OpenAPI 3.0 or 3.1 or a Swagger 2 document, called with named parameters."""

from collections.abc import Mapping
from typing import Any

from penstock.engine.faults import validation
from penstock.engine.tasks.addresses import url_of, with_query, without_user
from penstock.engine.tasks.exchange import Call, exchange, output_of
from penstock.engine.tasks.http import request_of
from penstock.engine.tasks.openapi.arguments import placed
from penstock.engine.tasks.openapi.description import Description
from penstock.engine.tasks.openapi.servers import server_of
from penstock.engine.tasks.resources import Document, document
from penstock.engine.tasks.work import Performed, Work


async def perform(arguments: Mapping[str, Any], work: Work) -> Performed:
    parameters = arguments.get("parameters") or {}
    if not isinstance(parameters, Mapping):
        raise validation("Parameters not usable", "`parameters` must be an object of names and values")
    policy = arguments.get("authentication")
    if policy is not None and not isinstance(policy, Mapping):
        raise validation("Authentication not usable", "`authentication` must be an object")
    found = await document(arguments.get("document"), work)
    description = _description(found)
    operation = description.operation(arguments.get("operationId"))
    given = placed(operation, description, parameters)
    url = url_of(server_of(operation, description).rstrip("/") + given.path)
    headers, body = request_of(given.headers, given.body, work)
    call = Call(
        method=operation.method,
        url=with_query(without_user(url), given.query),
        headers=headers,
        body=body,
        policy=policy,
        output=output_of(arguments),
        redirect=arguments.get("redirect") is True,
    )
    return await exchange(call, work)


def _description(found: Document) -> Description:
    description = found.notes.get("openapi")
    if not isinstance(description, Description):
        description = found.notes["openapi"] = Description(found.data, found.address)
    return description
