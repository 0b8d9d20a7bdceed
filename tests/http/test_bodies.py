"""Bodies: three languages, one meaning, and nothing that anyone sends gives a 500."""

import json
import random
from typing import Any

import httpx
import pytest

from tests.conftest import Serve

pytestmark = pytest.mark.anyio
URL = "/user/auth"  # an endpoint that reads a form and answers 401 to whoever is unknown
UNKNOWN = {"email": "ada@example.com", "password": "correct horse"}
URLENCODED, JSON = "application/x-www-form-urlencoded", "application/json"


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """One kind is enough: nothing here depends on it."""
    return sqlite_url


async def send(client: httpx.AsyncClient, body: bytes, kind: str, url: str = "/user/forgotpassword") -> httpx.Response:
    return await client.post(url, content=body, headers={"content-type": kind})


def part(name: str, value: str, extra: str = "") -> str:
    return f'--b\r\nContent-Disposition: form-data; name="{name}"{extra}\r\n\r\n{value}\r\n'


MULTIPART = "multipart/form-data; boundary=b"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (URLENCODED, b"email=%C3%BC@example.com"),
        (URLENCODED, b"email=%C3%BC%40example.com&unknown=ignored&blank="),
        (f"{URLENCODED}; charset=utf-8", b"email=a%2Bb@example.com"),
        (JSON, b'{"email": "ada@example.com"}'),
        (JSON, '{"email": "ü@example.com"}'.encode()),
        ("Application/JSON; charset=utf-8", b'{"email": "ada@example.com"}'),
        (MULTIPART, (part("email", "ada@example.com") + "--b--\r\n").encode()),
        (MULTIPART, (part("email", "ü@example.com") + part("x", "") + "--b--\r\n").encode()),
    ],
)
async def test_a_form_is_read_in_each_language(client: httpx.AsyncClient, kind: str, body: bytes) -> None:
    answer = await send(client, body, kind)
    assert (answer.status_code, answer.json()) == (200, {}), answer.text


REFUSED: list[tuple[str, bytes]] = [
    (URLENCODED, b"email=a@example.com&email=b@example.com"),
    (URLENCODED, b"email=a%00@example.com"),
    (URLENCODED, b"email=%FF%FE"),
    (URLENCODED, b"email=%ED%A0%80"),
    (URLENCODED, "email=ü".encode()),
    (URLENCODED, b"&".join(b"f%d=1" % number for number in range(10_000))),
    (JSON, b'{"email": "a@example.com", "email": "b@example.com"}'),
    (JSON, b'{"email": "a\\u0000@example.com"}'),
    (JSON, b'{"email": "a\\ud800@example.com"}'),
    (JSON, b'{"\\ud800": "x", "\\ud800": "y"}'),
    (JSON, b'{"\\ud800": "x"}'),
    (JSON, b'{"email": ["a@example.com"]}'),
    (JSON, b'{"email": {"a": "b"}}'),
    (JSON, b'{"email": 1.5}'),
    (JSON, b'{"email": NaN}'),
    (JSON, b'{"email": ' + b"9" * 10_000 + b"}"),
    (JSON, b"[]"),
    (JSON, b'"email"'),
    (JSON, b"null"),
    (JSON, b"5"),
    (JSON, b"{"),
    (JSON, b"{} {}"),
    (JSON, b"\xff\xfe"),
    (JSON, b'{"email": "\xff"}'),
    (JSON, '{"email": "a@example.com"}'.encode("utf-16")),
    (JSON, b"[" * 100_000),
    (JSON, b'{"a":' * 100_000),
    (JSON, b'{"email": ' + b"[" * 500 + b"]" * 500 + b"}"),
    (MULTIPART, (part("email", "a@example.com") + part("email", "b@example.com") + "--b--\r\n").encode()),
    (MULTIPART, (part("email", "a", '; filename="a.txt"') + "--b--\r\n").encode()),
    (MULTIPART, (part("email", "a\0@example.com") + "--b--\r\n").encode()),
    (MULTIPART, part("email", "x").encode() + b"--b\r\n\r\n"),
    (MULTIPART, b"no boundary at all"),
    (MULTIPART, b'--b\r\nContent-Disposition: form-data; name="email"\r\n\r\n\xff\xfe\r\n--b--\r\n'),
    (MULTIPART, "".join(part(f"f{number}", "1") for number in range(2_000)).encode() + b"--b--\r\n"),
    ("multipart/form-data", b"--b--\r\n"),
    ("multipart/form-data; boundary=", b"--b--\r\n"),
]  # fmt: skip


@pytest.mark.parametrize("index", range(len(REFUSED)))
async def test_what_is_not_plain_text_given_once_is_refused(client: httpx.AsyncClient, index: int) -> None:
    kind, body = REFUSED[index]
    answer = await send(client, body, kind)
    assert answer.status_code == 400, answer.text
    assert answer.json()["status"] == 400
    assert answer.json()["detail"]


async def test_a_wrong_member_is_pointed_at(client: httpx.AsyncClient) -> None:
    answer = await send(client, b'{"a/b~c": []}', JSON)
    assert answer.json()["errors"] == [{"path": "/a~1b~0c", "message": "no such member"}]
    answer = await send(client, b"email=1&email=2", URLENCODED)
    assert answer.json()["errors"] == [{"path": "/email", "message": "given twice"}]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "it is empty"),
        (b'{"name": "a",}', "byte 13"),
        (b'{"name": "a"} x', "trailing characters"),
        (b'{"name": "\xff"}', "UTF-8"),
    ],
)
async def test_what_is_no_json_is_told_where(client: httpx.AsyncClient, body: bytes, says: str) -> None:
    answer = await send(client, body, JSON, "/project")
    assert (answer.status_code, says in answer.json()["detail"]) == (400, True), answer.text
    assert [error["path"] for error in answer.json()["errors"]] == [""]


@pytest.mark.parametrize("depth", [200, 201, 500, 900, 5_000])
async def test_what_is_nested_by_the_hundred_is_refused_and_breaks_nothing(
    client: httpx.AsyncClient, depth: int
) -> None:
    account = {"email": "ada@example.com", "password": "correct horse"}
    token = (await client.post("/api/v1/auth/register", json=account)).json()["access_token"]
    nested = '{"a":' * depth + "1" + "}" * depth
    body = f'{{"name": "Acme", "metadata": {nested}}}'
    headers = {"content-type": JSON, "authorization": f"Bearer {token}"}
    answer = await client.post("/api/v1/companies", content=body, headers=headers)
    assert answer.status_code == (201 if depth == 200 else 400), answer.text


async def test_a_missing_member_is_pointed_at(client: httpx.AsyncClient) -> None:
    answer = await send(client, b'{"email": "ada@example.com"}', JSON, "/api/v1/auth/login")
    assert answer.json()["errors"] == [{"path": "/password", "message": "is missing"}]


@pytest.mark.parametrize("kind", ["text/plain", "application/jsonx", "garbage", ";;", "multipart/mixed"])
async def test_another_language_is_415(client: httpx.AsyncClient, kind: str) -> None:
    answer = await send(client, b"email=a@example.com", kind)
    assert answer.status_code == 415
    assert answer.json()["type"] == "urn:penstock:problem:unsupported-media-type"


async def test_a_body_in_no_language_is_415_and_no_body_is_an_empty_form(client: httpx.AsyncClient) -> None:
    assert (await client.post("/user/forgotpassword", content=b"email=a@example.com")).status_code == 415
    answer = await client.post("/user/forgotpassword")
    assert answer.status_code == 400
    assert "email" in answer.json()["detail"]


def mutations(whole: bytes, count: int, seed: int) -> list[bytes]:
    chance = random.Random(seed)
    pieces = [b"--b", b"--b--", b"\r\n", b"\r\n\r\n", b'"', b";", b":", b"\0", b"\xff", b"name=", b"filename*=utf-8''x",
              b"Content-Type: application/json", b"Content-Type: text/plain; charset=x", b"{", b"[", b"%", b"%zz",
              b"Content-Disposition: form-data", b"Content-Transfer-Encoding: base64", b"A" * 3000]  # fmt: skip
    found = []
    for _ in range(count):
        body = bytearray(whole)
        for _ in range(chance.randint(1, 5)):
            at = chance.randrange(len(body) + 1)
            match chance.randrange(3):
                case 0:
                    body[at:at] = chance.choice(pieces)
                case 1:
                    del body[at : at + chance.randint(1, 20)]
                case _:
                    body[at : at + 1] = bytes([chance.randrange(256)])
        found.append(bytes(body))
    return found


@pytest.mark.parametrize(
    ("kind", "whole"),
    [
        (MULTIPART, (part("email", "ada@example.com") + part("x", "y", '; filename="z"') + "--b--\r\n").encode()),
        (URLENCODED, b"email=ada%40example.com&password=%C3%BC&x=1"),
        (JSON, json.dumps(UNKNOWN | {"x": [1, {"y": None}]}).encode()),
    ],
)
async def test_a_garbled_body_never_breaks_the_server(serve: Serve, kind: str, whole: bytes) -> None:
    async with serve(limit_forgot_password=10_000) as client:
        for body in mutations(whole, 300, seed=7):
            answer = await send(client, body, kind)
            assert answer.status_code in {200, 400}, (body, answer.text)


async def test_a_garbled_content_type_never_breaks_the_server(client: httpx.AsyncClient) -> None:
    body = (part("email", "@") + "--b--\r\n").encode()
    for kind in mutations(b'multipart/form-data; boundary="b"; charset=utf-8', 100, seed=7):
        headers: Any = [(b"content-type", kind.replace(b"\r", b"").replace(b"\n", b"").replace(b"\0", b""))]
        answer = await client.post("/user/forgotpassword", content=body, headers=headers)
        assert answer.status_code in {400, 415}, (kind, answer.text)
