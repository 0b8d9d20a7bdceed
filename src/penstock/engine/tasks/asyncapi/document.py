"""Reading an AsyncAPI document, version 2 or 3: from a channel or an operation to the server that serves it.

Version 2 calls what clients may send `publish`, and the DSL takes its words: `message` publishes, `subscription`
subscribes, whichever operation the document describes for the channel.
"""

import re
from collections.abc import Mapping
from typing import Any

from penstock.engine import faults
from penstock.engine.tasks.asyncapi.target import Target, family, place_of, versioned

_MOST_HOPS = 10
_LISTED = 20
_PLACEHOLDER = re.compile(r"\{([^{}]{1,100})\}")
_JSON = "application/json"


class Document:
    def __init__(self, data: Any, place: str) -> None:
        version = data.get("asyncapi") if isinstance(data, dict) else None
        if not isinstance(version, str) or version.partition(".")[0] not in ("2", "3"):
            raise faults.configuration("Not an AsyncAPI document", f"{place} is no AsyncAPI document of version 2 or 3")
        self._data: dict[str, Any] = data
        self._is_third = version.startswith("3")

    def target(self, arguments: Mapping[str, Any]) -> Target:
        channel, operation, name = self._wanted(arguments)
        message = arguments.get("message") or {}
        address = channel.get("address") if self._is_third else name
        if not isinstance(address, str):
            raise faults.configuration("No address", f"the channel {name!r} of the AsyncAPI document has no address")
        server = self._server(channel, arguments)
        place = self._place(server, arguments)
        kind = self._message(channel, operation)
        correlation = self._mapping(kind.get("correlationId")).get("location")
        content_type = kind.get("contentType") or self._data.get("defaultContentType") or _JSON
        return Target(
            protocol=place.protocol,
            tls=place.tls,
            host=place.host,
            port=place.port,
            path=place.path,
            address=self._filled(address, channel, message),
            content_type=str(content_type),
            bindings=self._bindings(operation, place.protocol),
            correlation=correlation if isinstance(correlation, str) else None,
            policy=arguments.get("authentication"),
            channel=self._bindings(channel, place.protocol),
            message=self._bindings(kind, place.protocol),
            security=tuple(self._security(operation) or self._security(server)),
            others=place.others,
        )

    def _bindings(self, described: Mapping[str, Any], protocol: str) -> dict[str, Any]:
        bindings = self._mapping(described.get("bindings"))
        return self._mapping(bindings.get(protocol) or bindings.get(protocol.rstrip("5")))

    def _security(self, described: Mapping[str, Any]) -> list[str]:
        """Version 2 names the schemes, version 3 refers to them."""
        listed = described.get("security")
        found: list[str] = []
        for each in listed if isinstance(listed, list) else ():
            schemes = self._mapping(self._mapping(self._data.get("components")).get("securitySchemes"))
            named = [each] if self._is_third else [schemes.get(name) for name in self._mapping(each)]
            found += [str(self._mapping(scheme).get("type")) for scheme in named]
        return found

    def _wanted(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], str]:
        """The channel, the operation (as far as there is one) and the channel's name."""
        if (wanted := arguments.get("operation")) is not None:
            return self._operation(str(wanted))
        name = str(arguments.get("channel"))
        channel = self._named("channels", name, "channel")
        if self._is_third:
            return channel, {}, name
        kind = "publish" if arguments.get("message") is not None else "subscribe"
        return channel, self._mapping(channel.get(kind)), name

    def _operation(self, wanted: str) -> tuple[dict[str, Any], dict[str, Any], str]:
        # The DSL calls it a reference: a pointer is understood as well as a name.
        name = wanted.removeprefix("#/operations/")
        if self._is_third:
            operation = self._named("operations", name, "operation")
            channel = operation.get("channel")
            reference = str(channel.get("$ref", "")) if isinstance(channel, dict) else ""
            return self._mapping(channel), operation, reference.rpartition("/")[2].replace("~1", "/")
        known = []
        for place, each in self._mapping(self._data.get("channels")).items():
            for kind in ("publish", "subscribe"):
                operation = self._mapping(self._mapping(each).get(kind))
                known.append(str(operation.get("operationId")))
                if known[-1] == name:
                    return self._mapping(each), operation, place
        raise _missing("operation", name, known)

    def _named(self, member: str, name: str, what: str) -> dict[str, Any]:
        there = self._mapping(self._data.get(member))
        if name not in there:
            raise _missing(what, name, list(there))
        return self._mapping(there[name])

    def _server(self, channel: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
        servers = self._mapping(self._data.get("servers"))
        if isinstance(wanted := arguments.get("server"), Mapping):
            return self._named("servers", str(wanted.get("name")), "server")
        listed = channel.get("servers")
        names = [_last(each) for each in listed] if isinstance(listed, list) and listed else list(servers)
        protocol = arguments.get("protocol")
        for name in names:
            server = self._mapping(servers.get(name))
            if protocol is None or family(_protocol(server)) == protocol:
                return server
        raise _missing("server", f"with protocol {protocol}" if protocol else "for the channel", list(servers))

    def _place(self, server: Mapping[str, Any], arguments: Mapping[str, Any]) -> Any:
        wanted = arguments.get("server")
        given = (wanted.get("variables") if isinstance(wanted, Mapping) else None) or {}
        declared = self._mapping(server.get("variables"))

        def value(match: "re.Match[str]") -> str:
            name = match[1]
            variable = self._mapping(declared.get(name))
            chosen = given.get(name, variable.get("default"))
            allowed = variable.get("enum")
            if chosen is None or (isinstance(allowed, list) and chosen not in allowed):
                raise faults.configuration(
                    "Server variable missing", f"the server needs its variable {name!r}; see server.variables"
                )
            return str(chosen)

        address = server.get("host") if self._is_third else server.get("url")
        path = server.get("pathname") if self._is_third else ""
        return place_of(
            _PLACEHOLDER.sub(value, str(address or "")),
            _protocol(server),
            _PLACEHOLDER.sub(value, str(path or "")),
        )

    def _message(self, channel: Mapping[str, Any], operation: Mapping[str, Any]) -> dict[str, Any]:
        """The first that the document describes: which of several it is, nobody says."""
        for holder in (operation, channel):
            messages = holder.get("messages")
            several = list(messages.values()) if isinstance(messages, dict) else messages
            if isinstance(several, list) and several:
                return self._mapping(several[0])
        message = self._mapping(operation.get("message"))
        choices = message.get("oneOf")
        return self._mapping(choices[0]) if isinstance(choices, list) and choices else message

    def _filled(self, address: str, channel: Mapping[str, Any], message: Mapping[str, Any]) -> str:
        parameters = self._mapping(channel.get("parameters"))

        def value(match: "re.Match[str]") -> str:
            parameter = self._mapping(parameters.get(match[1]))
            found = located(parameter.get("location"), message)
            if found is None:
                found = parameter.get("default", self._mapping(parameter.get("schema")).get("default"))
            if found is None:
                raise faults.configuration(
                    "Channel parameter missing",
                    f"nothing says what {match[1]!r} of the channel is: its parameter has no default, and no location "
                    "that is in the message",
                )
            return str(found)

        return _PLACEHOLDER.sub(value, address)

    def _mapping(self, value: Any) -> dict[str, Any]:
        """The object itself; where it refers to another place of the document, that one."""
        for _ in range(_MOST_HOPS):
            if not isinstance(value, dict):
                return {}
            reference = value.get("$ref")
            if not isinstance(reference, str):
                return value
            if not reference.startswith("#/"):
                raise faults.configuration("Reference not read", "an AsyncAPI document may refer to places in it only")
            value = pointed(self._data, reference[1:])
        raise faults.configuration("Reference not read", "the AsyncAPI document refers in a circle")


def pointed(data: Any, pointer: str) -> Any:
    """What a JSON pointer leads to, or None."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        data = data.get(name) if isinstance(data, Mapping) else None
    return data


def located(location: Any, message: Mapping[str, Any]) -> Any:
    """What `$message.header#/…` or `$message.payload#/…` leads to, or None."""
    if not isinstance(location, str):
        return None
    source, _, pointer = location.partition("#")
    part = {"$message.header": "headers", "$message.payload": "payload"}.get(source)
    found = pointed(message.get(part), pointer) if part is not None else None
    return found if isinstance(found, str | int | float) and not isinstance(found, bool) else None


def _protocol(server: Mapping[str, Any]) -> str:
    return versioned(str(server.get("protocol")), server.get("protocolVersion"))


def _last(reference: Any) -> str:
    text = reference.get("$ref", "") if isinstance(reference, Mapping) else reference
    return str(text).rpartition("/")[2] if str(text).startswith("#/") else str(text)


def _missing(what: str, name: str, there: list[str]) -> faults.Fault:
    listed = ", ".join(each[:100] for each in there[:_LISTED]) or "none"
    return faults.configuration(
        f"No such {what}", f"the AsyncAPI document has no {what} {name[:200]}; it has: {listed}"
    )
