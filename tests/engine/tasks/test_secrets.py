"""What is masked: secrets in all the forms in which they come to light, and what is fetched with them."""

import asyncio
import json
import threading
from base64 import b64encode
from urllib.parse import quote

import msgspec
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from penstock.engine.faults import Fault
from penstock.engine.jq import Jq
from penstock.engine.performing import Performer
from penstock.engine.tasks import http
from penstock.engine.tasks.authentication import headers
from penstock.engine.tasks.secrets import MASK, Secrets

from .authority import Authority
from .http_peer import served, working

pytestmark = pytest.mark.anyio
_KEY = "-----BEGIN KEY-----\nMIGHAgEAMBMGByqGSM49\nkQ==\n-----END KEY-----\n"


def test_a_secret_of_several_lines_is_masked_line_by_line() -> None:
    secrets = Secrets({"key": _KEY, "pair": json.dumps({"user": "ann", "key": "first line\nsecond line"})})
    assert secrets.mask_text("1: MIGHAgEAMBMGByqGSM49") == f"1: {MASK}"
    assert secrets.mask(["kQ==", "second line, too", "ann"]) == [MASK, f"{MASK}, too", "ann"]
    assert secrets.mask_text(_KEY) == MASK


def test_a_secret_is_masked_as_json_and_addresses_write_it() -> None:
    secret = 'pa"ss/w\\örd'
    secrets = Secrets({"password": secret})
    assert secrets.mask_text(json.dumps({"a": secret}, ensure_ascii=False)) == json.dumps({"a": MASK})
    assert (
        secrets.mask_text(f"https://shop.example/{quote(secret, safe='')}/orders")
        == f"https://shop.example/{MASK}/orders"
    )


def test_what_has_no_secret_in_it_is_the_same_object() -> None:
    data = {"a": ["nothing", {"b": 1}]}
    assert Secrets({"key": _KEY}).mask(data) is data


async def test_a_token_that_was_fetched_is_masked_from_then_on() -> None:
    authority = Authority()
    with served(authority.app) as place:
        client = {"id": "me", "secret": "s3cret"}
        policy = {"oauth2": {"authority": f"{place}/realm", "grant": "client_credentials", "client": client}}
        async with working() as work:
            _, proof = await headers(policy, work)
            assert proof is not None
            assert work.secrets.mask({"token": f"Bearer {proof.parameter}"}) == {"token": f"Bearer {MASK}"}


async def test_a_password_is_masked_in_the_header_that_carries_it() -> None:
    async with working(secrets={"login": '{"username": "ann", "password": "open sesame"}'}) as work:
        await headers({"basic": {"use": "login"}}, work)
        assert work.secrets.mask_text(b64encode(b"ann:open sesame").decode()) == MASK
        # What the definition itself says is no secret.
        await headers({"bearer": {"token": "plain"}}, work)
        assert work.secrets.mask_text("plain") == "plain"


async def test_digest_has_no_authorization_before_its_call() -> None:
    async with working() as work:
        performer = Performer(work.tools, Jq(processes=1, seconds=1, megabytes=256, most_output=1_000))
        policy = {"digest": {"username": "ann", "password": "p"}}
        assert (await performer.perform("authorize", {"authentication": policy}, work)).authorization is None


async def test_the_timeout_of_a_task_counts_and_not_the_limit_of_the_server() -> None:
    answers = threading.Event()

    async def slow(_: object) -> JSONResponse:
        while not answers.is_set():
            await asyncio.sleep(0.02)
        return JSONResponse("done")

    with served(Starlette(routes=[Route("/", slow)])) as place:
        arguments = {"method": "get", "endpoint": place}
        async with working(seconds=0.1) as work:
            with pytest.raises(Fault):
                await http.perform(arguments, work)
            timed = msgspec.structs.replace(work, timed=True)
            asyncio.get_running_loop().call_later(0.3, answers.set)
            assert (await http.perform(arguments, timed)).output == "done"
