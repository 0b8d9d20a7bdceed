"""`call: a2a`: asks an agent over JSON-RPC, in the words of A2A 0.3, which are those of the DSL.

Credentials for an agent that a card describes are those for the card (`agentCard.endpoint.authentication`), and are
sent to the card's own origin only: a card could name anybody's address. Of the card's `securitySchemes` we look for
the header of an API key, which is then the token of a `bearer` policy; the other schemes say it in `Authorization`.
"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
from yarl import URL

from penstock.engine import faults
from penstock.engine.tasks import authentication, jsonrpc, resources
from penstock.engine.tasks.addresses import endpoint_of, shown, url_of
from penstock.engine.tasks.work import Authorization, Performed, Work

_STREAMS = ("message/stream", "tasks/resubscribe")
_SENDS = ("message/send", "message/stream")
METHODS = (
    *_SENDS,
    "tasks/get",
    "tasks/list",
    "tasks/cancel",
    "tasks/resubscribe",
    "tasks/pushNotificationConfig/set",
    "tasks/pushNotificationConfig/get",
    "tasks/pushNotificationConfig/list",
    "tasks/pushNotificationConfig/delete",
    "agent/getAuthenticatedExtendedCard",
)


class _Agent(msgspec.Struct, frozen=True):
    url: URL
    headers: Mapping[str, str]
    authorization: Authorization | None


async def perform(arguments: Mapping[str, Any], work: Work) -> Performed:
    method = arguments.get("method")
    if method not in METHODS:
        raise faults.configuration("Unknown A2A method", f"{method!r} is none of {', '.join(METHODS)}")
    agent = await _agent(arguments, work)
    message = jsonrpc.request(_uuid(work, "request"), str(method), _parameters(arguments, work))
    began = time.perf_counter()
    seconds = work.seconds
    try:
        async with asyncio.timeout(seconds):
            results = await _results(agent, message, work)
    except TimeoutError:
        raise faults.communication(
            "No answer in time", f"{shown(agent.url)} did not answer {method} in {seconds:g} seconds"
        ) from None
    work.says("info", f"A2A {method} {shown(agent.url)}", ms=round((time.perf_counter() - began) * 1000))
    return Performed(results if method in _STREAMS else results[-1], agent.authorization)


async def _results(agent: _Agent, message: jsonrpc.Message, work: Work) -> list[Any]:
    async with (
        jsonrpc.post(agent.url, message, agent.headers, work) as answer,
        aclosing(answer.messages()) as messages,
    ):
        results = [jsonrpc.result(each, answer.whose) async for each in messages if _answers(each, message["id"])]
    if not results and message["method"] not in _STREAMS:
        raise faults.communication("No answer", f"{shown(agent.url)} answered without a result")
    return results


def _answers(message: jsonrpc.Message, id_: str) -> bool:
    # Who could not read our id says an error without one.
    return jsonrpc.answers(message, id_) or (message.get("id") is None and "error" in message)


def _parameters(arguments: Mapping[str, Any], work: Work) -> Any:
    parameters = arguments.get("parameters")
    if arguments["method"] not in _SENDS:
        return parameters
    if not isinstance(parameters, Mapping) or not isinstance(parameters.get("message"), Mapping):
        raise faults.configuration("No message", f"{arguments['method']} needs parameters with a message")
    # The same whenever this step is performed again: an agent can tell that it has seen the message.
    defaults = {"kind": "message", "messageId": _uuid(work, "message"), "role": "user"}
    return {**parameters, "message": defaults | dict(parameters["message"])}


def _uuid(work: Work, what: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"penstock:{what}:{work.key}"))


async def _agent(arguments: Mapping[str, Any], work: Work) -> _Agent:
    if arguments.get("agentCard") is not None:
        return await _described(arguments["agentCard"], work)
    if arguments.get("server") is None:
        raise faults.configuration("No agent", "an A2A call needs an agentCard or a server")
    address, policy = endpoint_of(arguments["server"])
    headers, authorization = await authentication.headers(policy, work)
    return _Agent(url_of(address), _own(work) | headers, authorization)


async def _described(resource: Any, work: Work) -> _Agent:
    found = await resources.document(resource, work)
    card = found.data if isinstance(found.data, dict) else {}
    url = url_of(_address(card, found.address))
    _, policy = endpoint_of(resource["endpoint"] if isinstance(resource, Mapping) else resource)
    if policy is None or url.origin() != URL(found.address).origin():
        return _Agent(url, _own(work), None)
    headers, authorization = await authentication.headers(policy, work)
    key = _api_key_header(card)
    if key is not None and authorization is not None and authorization.scheme == "Bearer":
        headers = {key: authorization.parameter}
    return _Agent(url, _own(work) | headers, authorization)


def _own(work: Work) -> dict[str, str]:
    return {"A2A-Version": "0.3", "Idempotency-Key": work.key}


def _address(card: Mapping[str, Any], place: str) -> str:
    """Where the agent speaks JSON-RPC. Cards of A2A 1.0 list their interfaces under another name."""
    if isinstance(card.get("url"), str) and card.get("preferredTransport", "JSONRPC") == "JSONRPC":
        return str(card["url"])
    listed = [*_list(card, "additionalInterfaces"), *_list(card, "supportedInterfaces")]
    for each in listed:
        match each:
            case {"url": str() as url, "transport": "JSONRPC"} | {"url": str() as url, "protocolBinding": "JSONRPC"}:
                return url
    raise faults.configuration("No address in the agent card", f"the card of {place} names no JSON-RPC address")


def _api_key_header(card: Mapping[str, Any]) -> str | None:
    schemes = card.get("securitySchemes")
    required = {name for each in _list(card, "security") if isinstance(each, dict) for name in each}
    for name, scheme in schemes.items() if isinstance(schemes, dict) else ():
        match scheme:
            case {"type": "apiKey", "in": "header", "name": str() as header} if name in required:
                return header
    return None


def _list(card: Mapping[str, Any], member: str) -> list[Any]:
    value = card.get(member)
    return value if isinstance(value, list) else []
