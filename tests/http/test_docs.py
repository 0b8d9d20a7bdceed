"""The OpenAPI document and its page are true, complete and safe to open."""

import re
import shlex
from html import unescape
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from penstock.http.docs_page import page

pytestmark = pytest.mark.anyio
Operation = dict[str, Any]


@pytest.fixture(params=["sqlite"])
def database_url(request: pytest.FixtureRequest, sqlite_url: str) -> str:
    """Documentation is the same on every database."""
    return sqlite_url


@pytest.fixture
async def document(client: httpx.AsyncClient) -> dict[str, Any]:
    answer = await client.get("/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    parsed: dict[str, Any] = answer.json()
    return parsed


@pytest.fixture
async def operations(document: dict[str, Any]) -> list[tuple[str, str, Operation]]:
    return [(path, method, operation) for path, item in document["paths"].items() for method, operation in item.items()]


async def test_the_document_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")
    assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []


async def test_every_operation_says_what_it_does_and_under_which_heading(
    document: dict[str, Any], operations: list[tuple[str, str, Operation]]
) -> None:
    headings = {tag["name"] for tag in document["tags"]}
    for path, method, operation in operations:
        assert operation["summary"], (method, path)
        assert operation["tags"], (method, path)
        assert set(operation["tags"]) <= headings, (method, path)


async def test_every_operation_has_an_example_of_what_it_takes_and_answers(
    operations: list[tuple[str, str, Operation]],
) -> None:
    for path, method, operation in operations:
        for parameter in operation.get("parameters", []):
            assert "examples" in parameter["schema"], (method, path, parameter["name"])
            assert parameter["description"], (method, path, parameter["name"])
        for media in operation.get("requestBody", {}).get("content", {}).values():
            if media["schema"]["type"] == "array":
                continue  # many of what another one says
            members = media["schema"]["properties"]
            assert all("examples" in of for of in members.values()) or media["example"], (method, path)
            assert set(media["example"]) <= set(members), (method, path)
        for status, response in operation["responses"].items():
            for media in response.get("content", {}).values():
                assert media.get("example") is not None or media["examples"], (method, path, status)


async def test_every_operation_documents_its_problems(operations: list[tuple[str, str, Operation]]) -> None:
    for path, method, operation in operations:
        assert operation["responses"]["default"] == {"$ref": "#/components/responses/Problem"}, (method, path)
        for status, response in operation["responses"].items():
            if status[0] in "45" and response.get("content"):
                assert list(response["content"]) == ["application/problem+json"], (method, path, status)


async def test_documented_problem_examples_look_like_real_problems(
    client: httpx.AsyncClient, document: dict[str, Any]
) -> None:
    real = (await client.get("/user/get")).json()
    media = document["paths"]["/user/get"]["get"]["responses"]["401"]["content"]["application/problem+json"]
    (example,) = [one["value"] for one in media["examples"].values()]
    assert example.keys() == real.keys()
    assert {name: example[name] for name in ("type", "title", "status")} == {
        name: real[name] for name in ("type", "title", "status")
    }


async def test_what_needs_a_session_says_so_and_is_refused_without_one(
    client: httpx.AsyncClient, document: dict[str, Any], operations: list[tuple[str, str, Operation]]
) -> None:
    scheme = document["components"]["securitySchemes"]["session"]
    assert (scheme["type"], scheme["in"], scheme["name"]) == ("apiKey", "cookie", "session")
    needing = {path for path, _, operation in operations if operation.get("security") == [{"session": []}]}
    expected = {"/user/get", "/user/update", "/user/oauth/add", "/user/oauth/remove", "/api/v1/auth/session"}
    assert needing == expected
    for path, method, _ in [entry for entry in operations if entry[0] in needing]:
        assert (await client.request(method, path)).status_code == 401


async def test_operations_that_refuse_foreign_origins_say_so(
    client: httpx.AsyncClient, operations: list[tuple[str, str, Operation]]
) -> None:
    for path, method, operation in operations:
        if path.startswith("/api/v1/") and path != "/api/v1/auth/session":
            continue  # no cookie opens these, so no foreign page can use it; 403 is about roles there
        url = path.replace("{provider}", "google")
        answer = await client.request(method, url, headers={"Origin": "https://evil.example"})
        assert (answer.status_code == 403) == ("403" in operation["responses"]), (method, path)


async def test_the_document_is_made_once(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await client.get("/openapi.json")

    def never(_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr("penstock.http.docs.complete", never)
    assert (await client.get("/openapi.json")).content == first.content


class Outline(HTMLParser):
    """Tags, ids and addresses of a page; nesting is checked on the way."""

    VOID = frozenset({"meta", "link"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "id":
                self.ids.append(value or "")
            elif name in {"href", "src"}:
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


async def test_the_page_shows_every_operation_under_an_anchor_of_its_own(
    client: httpx.AsyncClient, operations: list[tuple[str, str, Operation]]
) -> None:
    answer = await client.get("/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    outline = Outline(answer.text)
    assert len(outline.ids) == len(set(outline.ids)) == len(operations)
    assert {f"#{anchor}" for anchor in outline.ids} <= set(outline.links)
    for path, _, operation in operations:
        assert path in unescape(answer.text)
        assert operation["summary"] in unescape(answer.text)


async def test_the_page_runs_no_script_and_asks_nobody_else(client: httpx.AsyncClient) -> None:
    answer = await client.get("/docs")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "style-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-frame-options"] == "DENY"
    outline = Outline(answer.text)
    assert not outline.tags & {"script", "style", "iframe", "img", "object"}
    assert "style" not in outline.attributes
    assert not any(name.startswith("on") for name in outline.attributes)
    loaded = re.findall(r"<link [^>]*href=\"([^\"]+)\"", answer.text)
    assert loaded == ["docs/style.css"]


async def test_the_style_sheet_knows_dark_rooms_and_phones(client: httpx.AsyncClient) -> None:
    answer = await client.get("/docs/style.css")
    assert answer.headers["content-type"].startswith("text/css")
    assert "light-dark(" in answer.text
    assert "@media (max-width" in answer.text
    assert "url(" not in answer.text
    assert "@import" not in answer.text


async def test_an_address_below_docs_that_is_not_there_is_a_problem_like_any_other(client: httpx.AsyncClient) -> None:
    answer = await client.get("/docs/nothing")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


EVIL = "<script>alert('x')</script>\"'&"


def test_every_text_of_the_document_is_escaped() -> None:
    media = {"schema": {"type": "string"}, "example": {EVIL: EVIL}}
    response = {"description": EVIL, "headers": {EVIL: {"description": EVIL}}, "content": {EVIL: media}}
    parameter = {
        "name": EVIL,
        "in": "query",
        "required": True,
        "description": EVIL,
        "schema": {"type": "string", "examples": [EVIL]},
    }
    body = {"schema": {"properties": {EVIL: {"description": EVIL, "examples": [EVIL]}}}, "example": {EVIL: EVIL}}
    operation = {
        "summary": EVIL,
        "tags": [EVIL],
        "parameters": [parameter],
        "requestBody": {"content": {EVIL: body}},
        "responses": {"200": response, EVIL: response},
    }
    html = page(
        {
            "info": {"title": EVIL, "version": EVIL, "description": EVIL},
            "tags": [{"name": EVIL, "description": EVIL}],
            "paths": {f"/{EVIL}": {"post": operation}},
        }
    )
    assert "<script" not in html
    assert "alert(&#x27;x" in html
    assert not {name for name in Outline(html).attributes if "script" in name}


async def test_the_curl_commands_of_the_page_are_understood_by_the_server(client: httpx.AsyncClient) -> None:
    """Sent as printed, nothing is unknown or malformed: 404 is for things that a fresh server does not have."""
    html = (await client.get("/docs")).text
    commands = [unescape(text) for text in re.findall(r"<pre>(curl .*?)</pre>", html, re.DOTALL)]
    assert len(commands) > 15
    for command in commands:
        words = shlex.split(command)
        url = next(word for word in words if word.startswith("http"))
        data = [words[at + 1] for at, word in enumerate(words) if word == "--data-urlencode"]
        json = [words[at + 1] for at, word in enumerate(words) if word == "--json"]
        plain = [words[at + 1] for at, word in enumerate(words) if word == "--data"]
        kind = [word.removeprefix("Content-Type: ") for word in words if word.startswith("Content-Type: ")]
        method = [words[at + 1] for at, word in enumerate(words) if word == "-X"] or [
            "POST" if data or json or plain else "GET"
        ]
        parts = urlsplit(url)
        sent = await client.request(
            method[0],
            f"{parts.path}?{parts.query}",
            data=dict(item.split("=", 1) for item in data) or None,
            content=(json or plain)[0] if json or plain else None,
            headers={"Content-Type": "application/json" if json else kind[0]} if json or plain else None,
        )
        assert sent.status_code not in {405, 413, 415, 500, 503}, command
