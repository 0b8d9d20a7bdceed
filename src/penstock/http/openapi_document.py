"""The finished OpenAPI document: what the routes say, plus what holds for all of them and is not said by each."""

from typing import Any

from penstock.http.openapi import problem_example

Operation = dict[str, Any]
Document = dict[str, Any]

_TAGS = {
    "accounts": "Who you are: sign-up, sign-in, sessions, reset by mail, social providers and SAML. Requests are form "
    "data or JSON of the same members.",
    "sign-in": "Tokens for the API: with a password, a social provider, a company's identity provider, or the cookie "
    "of a session. Send the access token as `Authorization: Bearer …`.",
    "companies": "Companies, and organizations inside them: one record, an organization has a parent.",
    "members": "Who has which role in a company, an organization or a project.",
    "projects": "Where an organization's workflows live.",
    "secrets": "Values that workflows use and nobody reads back.",
    "workflows": "Definitions in the Serverless Workflow DSL: their versions, deployed and stopped.",
    "definitions": "What editors ask for: what is wrong with a definition, its schema, and some to begin with.",
    "permissions": "Roles on one workflow.",
    "links": "Workflows that start when another one ends.",
    "executions": "Runs of a workflow, and their steps.",
    "events": "What happened to a workflow and its executions, as a list and live.",
    "logs": "What executions said, as a list and live.",
    "dashboards": "Numbers at a glance.",
    "audit": "Who did what, when and from where.",
    "identity providers": "A company's own providers, and the roles that they give.",
    "project metadata": "Metadata of projects by name.",
    "operations": "For those who run the server.",
}
_SESSION = {
    "type": "apiKey",
    "in": "cookie",
    "name": "session",
    "description": "Set by every way to sign in; 30 days, renewed by use.",
}
_BEARER = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "JWT",
    "description": "The access token of `/api/v1/auth/login` and its like; 15 minutes, then refresh it.",
}
_API = "/api/v1/"
_ANYONE = ("/api/v1/auth/register", "/api/v1/auth/login", "/api/v1/auth/refresh", "/api/v1/auth/oauth2/")
_NEEDS_SESSION = {"/user/get", "/user/update", "/user/oauth/add", "/user/oauth/remove"}
_TAKES_SESSION = {"/user/signout", "/user/oauth/callback/{provider}", "/project"}
_SIGNS_IN = {"/user/create", "/user/auth", "/user/resetpassword", "/user/oauth/callback/{provider}", "/user/saml/acs"}
_FOREIGN = "The request comes from a foreign origin."
_UNREADABLE = "A parameter or the body is not valid; `errors` says where."
_OTHERWISE = "Any other problem: 413 a body over the limit, 415 a type that is not read, 500, 503."
_PARAMETERS: dict[str, list[tuple[str, str, str]]] = {
    "/user/oauth/login/{provider}": [("next", "/welcome", "Path on this site to come back to; default `/`.")],
    "/user/oauth/callback/{provider}": [
        ("code", "4/0AX4XfWh…", "The provider's code."),
        ("state", "pCwTlZ…", "What we sent along."),
        ("iss", "https://accounts.google.com", "The provider's name for itself (RFC 9207), when it says it."),
        ("error", "access_denied", "Why the provider did not let you in."),
    ],
}
_SOME_ID = "0192d3a4-5b6c-7d8e-9f00-112233445566"
_PATH_PARAMETERS = {
    "provider": ("google", "The provider's configured name."),
    "id": (_SOME_ID, "The resource's id."),
    "cid": (_SOME_ID, "The company's id."),
    "oid": (_SOME_ID, "The id of the organization, or of a company."),
    "pid": (_SOME_ID, "The project's id."),
    "uid": (_SOME_ID, "The user's id."),
    "sid": (_SOME_ID, "The session's id."),
    "number": ("1", "The step's `sequence_num`."),
    "linkId": (_SOME_ID, "The link's id."),
    "provider_id": (_SOME_ID, "The id of the company's identity provider."),
    "v": ("latest", "The version's number, or `latest`."),
    "name": ("smtp_password", "The secret's name."),
}
_EVENTS = (
    "text/event-stream",
    "Each event as it is committed; a comment every 15 s; `event: end` says why it ends.",
    'id: 17\nevent: task.completed\ndata: {"id":17,"type":"task.completed"}\n\n',
)
_BODIES: dict[tuple[str, str], tuple[str, str, str]] = {
    ("/metrics", "200"): (
        "text/plain; version=0.0.4",
        "What Prometheus reads.",
        'penstock_http_request_seconds_count{method="POST",route="/user/auth",status="200"} 17.0\n',
    ),
    ("/api/v1/workflows/{id}/events/stream", "200"): _EVENTS,
    ("/api/v1/projects/{id}/events/stream", "200"): _EVENTS,
    ("/api/v1/events/stream", "200"): _EVENTS,
    ("/api/v1/workflows/{id}/logs/stream", "200"): (
        "text/event-stream",
        "Each log entry as it is committed; a comment every 15 s; `event: end` says why it ends.",
        'id: 17\nevent: log\ndata: {"id":17,"level":"info","message":"started"}\n\n',
    ),
    ("/api/v1/companies/{id}/audit/export", "200"): (
        "application/x-ndjson",
        "One entry a line, oldest first.",
        '{"action":"company.create","resource_type":"company"}\n',
    ),
    ("/project", "201"): ("text/plain", "The name.", "apollo"),
    ("/user/saml/metadata", "200"): (
        "application/samlmetadata+xml",
        "XML, to give to the identity provider's administrators.",
        '<md:EntityDescriptor entityID="https://penstock.example/user/saml/metadata" …',
    ),
}
# What Litestar says when a route says nothing.
_UNSAID = {"Request fulfilled, document follows", "Bad request syntax or unsupported method"}


def complete(document: Document) -> Document:
    document["tags"] = [{"name": name, "description": text} for name, text in _TAGS.items()]
    components = document["components"]
    components["securitySchemes"] = {"session": _SESSION, "bearer": _BEARER}
    components["responses"] = {"Problem": _problem(500, _OTHERWISE)}
    for path, item in document["paths"].items():
        for method, operation in item.items():
            _complete(path, method, operation)
    return document


def _complete(path: str, method: str, operation: Operation) -> None:
    operation.pop("deprecated", None)
    responses = operation["responses"]
    for status in [status for status, response in responses.items() if response["description"] in _UNSAID]:
        del responses[status]
    for (where, status), (media_type, text, example) in _BODIES.items():
        if where == path and (status in responses or not responses):
            content = {media_type: {"schema": {"type": "string"}, "example": example}}
            responses[status] = {"description": text, "content": content}
    if _refuses_foreign_origins(path, method):
        responses.setdefault("403", _problem(403, _FOREIGN))
    _say_security(path, operation)
    _say_parameters(path, operation)
    _say_usual_problems(path, operation)
    responses["default"] = {"$ref": "#/components/responses/Problem"}
    operation["responses"] = dict(sorted(responses.items()))
    _say_headers(path, operation["responses"])


def _say_usual_problems(path: str, operation: Operation) -> None:
    """What the guards and the readers of requests answer before a route does, where the route does not say it."""
    responses = operation["responses"]
    if operation.get("requestBody") or any(one["in"] != "path" for one in operation.get("parameters", [])):
        responses.setdefault("400", _problem(400, _UNREADABLE))
    if path.startswith(_API) and not path.startswith((*_ANYONE, "/api/v1/auth/iam/")):
        responses.setdefault("401", _problem(401, "Not signed in."))
        if "{" in path:
            responses.setdefault("403", _problem(403, "The role is too low."))
            responses.setdefault("404", _problem(404, "There is no such thing."))


def _refuses_foreign_origins(path: str, method: str) -> bool:
    changes = method == "post" or path in {"/user/auth", "/user/signout"}
    return path.startswith("/user/") and changes and path != "/user/saml/acs"


def _problem(status: int, description: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/ProblemDetails"}
    media = {"schema": schema, "example": problem_example(status, description)}
    return {"description": description, "content": {"application/problem+json": media}}


def _say_headers(path: str, responses: dict[str, Any]) -> None:
    text = {"type": "string"}
    for status, response in responses.items():
        headers = {}
        if status in {"302", "303"}:
            headers["Location"] = {"description": "Where the browser goes.", "schema": text}
        if status[0] in "23" and path in _SIGNS_IN:
            headers["Set-Cookie"] = {"description": "The cookie `session`, when this signed in.", "schema": text}
        if status == "429":
            headers["Retry-After"] = {"description": "Seconds to wait.", "schema": {"type": "integer"}}
        if headers:
            response["headers"] = headers


def _say_security(path: str, operation: Operation) -> None:
    if path.startswith("/api/v1/auth/iam/"):
        operation["security"] = [{}, {"bearer": []}]
    elif path == "/api/v1/auth/session":
        operation["security"] = [{"session": []}]
    elif path.startswith(_API) and not path.startswith(_ANYONE):
        operation["security"] = [{"bearer": []}]
    elif path in _NEEDS_SESSION:
        operation["security"] = [{"session": []}]
    elif path in _TAKES_SESSION:
        operation["security"] = [{}, {"session": []}]


def _say_parameters(path: str, operation: Operation) -> None:
    parameters = operation.get("parameters", [])
    parameters += [
        {"name": name, "in": "query", "description": text, "required": False, "schema": _example(example)}
        for name, example, text in _PARAMETERS.get(path, [])
    ]
    for parameter in parameters:
        for noise in ("deprecated", "allowEmptyValue", "allowReserved"):
            parameter.pop(noise, None)
        if parameter["in"] == "path" and parameter["name"] in _PATH_PARAMETERS:
            example, parameter["description"] = _PATH_PARAMETERS[parameter["name"]]
            parameter["schema"] = _example(example)
    if parameters:
        operation["parameters"] = parameters


def _example(value: str) -> dict[str, Any]:
    return {"type": "string", "examples": [value]}
