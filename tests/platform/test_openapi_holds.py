"""What the OpenAPI document says is what happens: requests made from it, sent by everybody, and each answer held
against it. `make fuzz` sends many more of them."""

import os
import random
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.core import NOT_SET
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
)

from penstock.ids import uuid7
from penstock.platform.access import ROUTES
from penstock.streams import Level, NewEvent, NewLog, append
from tests.conftest import Serve
from tests.platform.people import PASSWORD
from tests.platform.records import add, id_of
from tests.platform.scenes import VALID
from tests.platform.world import World, ask

pytestmark = pytest.mark.anyio

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "3"))
PARTS = 4
SEED = int(os.environ.get("FUZZ_SEED", "1"))
EVERYBODY = ("anonymous", "outsider", "viewer", "editor", "admin", "owner")
# Said once for all operations, under `default`.
ANYWHERE = {413, 415, 503}
REQUEST = {"method", "url", "headers", "params", "data", "json", "files", "cookies"}
# What succeeds only with a token, a code or an assertion that comes from outside; each has tests of its own.
FROM_OUTSIDE = {
    "/user/oauth/add",
    "/user/oauth/remove",
    "/user/oauth/login/{provider}",
    "/user/oauth/callback/{provider}",
    "/user/resetpassword",
    "/user/saml/acs",
    "/api/v1/auth/oauth2/{provider}",
    "/api/v1/auth/oauth2/{provider}/callback",
    "/api/v1/auth/iam/{provider_id}",
    "/api/v1/auth/iam/{provider_id}/callback",
}
# What an engine does; there is none here, so that what is planted stays as it is.
BY_ENGINE = {
    "/api/v1/executions/{id}/pause",
    "/api/v1/executions/{id}/resume",
    "/api/v1/executions/{id}/rerun",
    "/api/v1/projects/{id}/events",
}
# Parameters without which a request would find or change nothing.
KEYS = {"email", "password", "projectName", "force", "q"}
Operation = APIOperation[Any, Any, Any, Any]
AnyCase = Case[Any]


@pytest.fixture
async def world(serve: Serve) -> AsyncIterator[World]:
    limits = ("auth_rate_limit", "limit_create", "limit_failed_logins", "limit_forgot_password")
    async with serve(engine="none", access_ttl="7d", **dict.fromkeys(limits, 10**6)) as client:
        yield await World(client).settle()


_made: dict[tuple[str, GenerationMode], list[tuple[AnyCase, list[dict[str, Any]]]]] = {}


def made_for(operation: Operation, mode: GenerationMode) -> Iterator[AnyCase]:
    """Requests as the document describes them, or as it forbids them: the same for both databases, and made once."""
    if (operation.label, mode) not in _made:
        cases = _make(operation, mode)
        _made[operation.label, mode] = [(case, [dict(place) for place in places_of(case)]) for case in cases]
    for case, first in _made[operation.label, mode]:
        for place, as_made in zip(places_of(case), first, strict=True):
            place.clear()
            place.update(as_made)
        yield case


def places_of(case: AnyCase) -> list[dict[str, Any]]:
    return [place for place in (case.path_parameters, case.query, case.body) if isinstance(place, dict)]


def _make(operation: Operation, mode: GenerationMode) -> list[AnyCase]:
    cases: list[AnyCase] = []

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def gather(case: AnyCase) -> None:
        cases.append(case)

    try:
        gather()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE, operation.label  # where there is nothing to get wrong
    return cases


class Attempt:
    """One operation, tried by everybody on things that are really there."""

    def __init__(self, world: World, operation: Operation) -> None:
        self.world, self.operation = world, operation
        self.chance = random.Random(f"{SEED} {operation.label}")
        self.tree: dict[str, str] = {}
        self.seen: set[int] = set()
        self.mistakes: dict[str, str] = {}
        need = ROUTES.get((operation.method.upper(), operation.path.removeprefix("/api/v1")))
        self.resource = need.resource if need is not None else None
        # Where roles decide nothing, sessions may come and go.
        self.everybody = EVERYBODY if self.resource is not None else ("anonymous", "guest")

    async def begin(self) -> None:
        """A tree in which every list has something in it."""
        if self.resource is None:
            await self.world.invite_guest()
        level = "organization" if self.operation.path == "/api/v1/organizations/{id}" else "company"
        self.tree = tree = await self.world.plant(self.resource, level)
        if self.resource is None:
            sessions = await self.world.people["guest"].get("/auth/sessions")
            tree["sid"] = sessions.json()["items"][0]["id"]
            identity = {"subject": "guest", "authority": "idp", "created_at": 1}
            guest = await id_of(self.world.people["guest"])
            await add(self.world.database, "iam_identities", provider_id=tree["provider_id"], user_id=guest, **identity)
        if self.resource not in {"project", "workflow", "execution"}:
            return
        owner, workflow, execution = self.world.people["owner"], tree["workflow"], tree["execution"]
        async with self.world.database.transaction() as tx:
            events = [NewEvent(workflow, "workflow.started", execution_id=execution)]
            await append(tx, events=events, logs=[NewLog(workflow, Level.WARN, "retried", execution_id=execution)])
            step = {"input_data": "{}", "metadata": "{}", "status": "running", "sequence_num": 1, "attempt": 1}
            await add(tx, "steps", id=uuid7(), execution_id=execution, **step)
        await owner.put(f"/projects/{tree['project']}/secrets/TOKEN", {"value": "hush"})
        if self.operation.path.endswith("/stop"):
            await owner.post(f"/workflows/{workflow}/deploy")
        link = {"target_workflow_id": workflow, "link_type": "dependency"}
        tree["linkId"] = (await owner.made(f"/workflows/{workflow}/links", link))["id"]

    def make_real(self, case: AnyCase, *, always: bool) -> None:
        """Most of the time, what the request names is there; else there would be little but 404."""
        guest = self.world.people.get("guest")
        real: dict[str, Any] = self.tree | {
            "user_id": self.tree["uid"],
            "email": guest.email if guest else "victim@example.com",
            "password": PASSWORD,
            "current_password": PASSWORD,
            "refresh_token": guest.tokens["refresh_token"] if guest else "",
            "execution_id": self.tree["execution"],
            "target_workflow_id": self.tree["workflow"],
            "resource_type": "workflow",
            "resource_id": self.tree["workflow"],
            "projectName": "apollo",
            "force": "true",
            "q": "greet",
            "config_yaml": VALID,
            "trigger_data": {},
        }
        if self.operation.path.endswith(("/create", "/register", "/update")):
            real["email"] = f"{uuid7()}@example.com"
        for place in places_of(case):
            for name in sorted(place.keys() & real.keys()):
                if always or self.chance.random() < 0.75:
                    place[name] = real[name]

    async def example(self) -> None:
        """The document's own example, by somebody who may: it must work, else all else could be refusals."""
        case = self.operation.Case(
            path_parameters=dict.fromkeys(parameters_of(self.operation, "path"), "nothing"),
            query={name: "" for name in parameters_of(self.operation, "query") if name in KEYS},
            body=example_of(self.operation),
            media_type=next(iter(self.operation.definition.raw.get("requestBody", {}).get("content", {})), None),
        )
        self.make_real(case, always=True)
        await self.send(case, self.everybody[-1])

    async def send(self, case: AnyCase, who: str) -> None:
        kwargs = case.as_transport_kwargs(base_url="http://localhost")
        ready = requests.Request(**{name: value for name, value in kwargs.items() if name in REQUEST}).prepare()
        headers = {str(name).lower(): text_of(value) for name, value in ready.headers.items()}
        headers |= self.world.credentials(who)
        body = ready.body.encode() if isinstance(ready.body, str) else ready.body or b""
        assert isinstance(body, bytes)
        answer = await ask(self.world.app, ready.method or "", ready.path_url, headers, body)
        self.seen.add(answer.status_code)
        for mistake in mistakes_of(case, answer):
            sent = f"{ready.path_url} {headers} {body[:300]!r} -> {answer.status_code} {answer.text[:300]}"
            self.mistakes.setdefault(f"{self.operation.label}: {mistake}", f"{who}: {sent}")
        if answer.status_code < 300 and (who == "guest" or ready.method == "DELETE"):
            await self.begin()


def parameters_of(operation: Operation, place: str) -> list[str]:
    return [one["name"] for one in operation.definition.raw.get("parameters", []) if one["in"] == place]


def example_of(operation: Operation) -> Any:
    content = operation.definition.raw.get("requestBody", {}).get("content", {})
    return next((dict(media["example"]) for media in content.values()), NOT_SET)


def text_of(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


def mistakes_of(case: AnyCase, answer: httpx.Response) -> Iterator[str]:
    if str(answer.status_code) not in case.operation.responses.status_codes and answer.status_code not in ANYWHERE:
        yield f"{answer.status_code} is not documented"
    checks = [content_type_conformance, response_headers_conformance]
    if not answer.headers.get("content-type", "").startswith("text/event-stream"):
        checks.append(response_schema_conformance)  # it takes a stream's schema for that of its single events
    try:
        case.validate_response(answer, checks=checks)
    except FailureGroup as found:
        yield from (f"{answer.status_code} {failure.title}: {failure.message[:300]}" for failure in found.exceptions)


_operations: list[Operation] = []


async def operations_of(client: httpx.AsyncClient) -> list[Operation]:
    """The document is the same for everybody, and read once."""
    if not _operations:
        schema = schemathesis.openapi.from_dict((await client.get("/openapi.json")).json())
        for found in schema.get_all_operations():
            assert isinstance(found, Ok)
            _operations.append(found.ok())
    return _operations


# In parts, as all of it is many times what any other test takes.
@pytest.mark.parametrize("part", range(PARTS))
async def test_no_answer_contradicts_the_document(world: World, part: int) -> None:
    await world.client.post("/project", json={"name": "apollo"})
    mistakes: dict[str, str] = {}
    refused: list[str] = []
    for operation in (await operations_of(world.client))[part::PARTS]:
        attempt = Attempt(world, operation)
        await attempt.begin()
        await attempt.example()
        for mode in GenerationMode:
            for case in made_for(operation, mode):
                attempt.make_real(case, always=False)
                for who in attempt.everybody:
                    await attempt.send(case, who)
        mistakes |= attempt.mistakes
        if min(attempt.seen) >= 400 and operation.path not in FROM_OUTSIDE | BY_ENGINE:
            refused.append(f"{operation.label}: {sorted(attempt.seen)}")
    assert mistakes == {}, "\n".join(f"{mistake}\n    {sent}" for mistake, sent in mistakes.items())
    assert refused == [], "nobody ever got through, so nothing was tried:\n" + "\n".join(refused)
