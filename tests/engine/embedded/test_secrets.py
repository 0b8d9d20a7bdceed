"""Secrets of executions: used where they must be, and shown to nobody, not even to the database."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import Shop, reopened, shop
from tests.engine.tasks.http_peer import served

pytestmark = pytest.mark.anyio

SECRET = 'open "sesame"/7'
LINES = "first-line-of-key\nsecond-line-of-key"
TOKEN = "token-that-was-fetched"
_SHOWN = ("events", "logs", "executions")


class Peer:
    """An authority that gives tokens, and a service that tells what it was sent."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.url = ""

    async def token(self, _: Request) -> JSONResponse:
        return JSONResponse({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 300})

    async def echo(self, request: Request) -> JSONResponse:
        sent = (await request.body()).decode()
        self.heard.append(sent)
        return JSONResponse({"said": f"you said {sent}", "proof": request.headers.get("authorization")})


@pytest.fixture
def peer() -> Iterator[Peer]:
    made = Peer()
    routes = [Route("/oauth2/token", made.token, methods=["POST"]), Route("/echo", made.echo, methods=["POST"])]
    with served(Starlette(routes=routes)) as made.url:
        yield made


async def _shown(here: Shop, *workflows: str) -> str:
    """All that the API tells of these workflows' executions."""
    told: list[Any] = []
    for workflow in workflows:
        told += [
            (await here.owner.get(f"/workflows/{workflow}/{what}", params={"page_size": 100})).json() for what in _SHOWN
        ]
        told += [await here.steps(execution["id"]) for execution in await here.executions(workflow)]
    return json.dumps(told, ensure_ascii=False)


def _hidden(text: str) -> bool:
    forms = (SECRET, json.dumps(SECRET)[1:-1], "second-line-of-key", TOKEN)
    return not any(form in text for form in forms)


_CHILD = """
input: {from: .}
do:
  - keep: {set: {again: '${ .given }'}}
  - wait: {listen: {to: {one: {with: {type: go}}}}, output: {as: '${ $context }'}}
"""


def _parent(peer: Peer) -> str:
    return f"""
use:
  secrets: [key, lines]
do:
  - hold:
      set: {{plain: '${{ "a " + $secrets.key + " b" }}', list: ['${{ $secrets.lines | split("\\n") | last }}']}}
      export: {{as: '{{held: .plain}}'}}
  - fetch:
      call: http
      with:
        method: post
        body: '${{ $secrets.key }}'
        headers: {{content-type: text/plain}}
        endpoint:
          uri: {peer.url}/echo
          authentication:
            oauth2: {{authority: {peer.url}, grant: client_credentials, client: {{id: me, secret: s3cret}}}}
      output: {{as: '. + {{token: $authorization.parameter}}'}}
  - tell: {{emit: {{event: {{with: {{source: 'https://x.example', type: told, data: '${{ $secrets.key }}'}}}}}}}}
  - child:
      run: {{workflow: {{namespace: shop, name: child, input: {{given: '${{ $secrets.key }}'}}}}}}
  - send:
      call: http
      with:
        method: post
        headers: {{content-type: text/plain}}
        body: '${{ $context.held }}'
        endpoint: {peer.url}/echo
  - fail: {{raise: {{error: {{type: https://x.example/oops, status: 500, detail: '${{ $secrets.key }}'}}}}}}
"""


async def test_a_secret_is_used_across_workflows_and_a_restart_and_shown_nowhere(
    serve: Serve, peer: Peer, database_url: str
) -> None:
    async with shop(serve) as here:
        await here.secret("key", SECRET)
        await here.secret("lines", LINES)
        heard = await here.workflow(
            "heard",
            "schedule: {on: {one: {with: {type: told}}}}\ndo: [{keep: {set: '${ {got: .[0].data} }'}}]",
            deploy=True,
        )
        child = await here.workflow("child", _CHILD)
        linked = await here.workflow("linked", "do: [{keep: {set: '${ {got: .} }'}}]")
        parent = await here.workflow("parent", _parent(peer))
        body = {"target_workflow_id": linked, "link_type": "finished"}
        await here.owner.made(f"/workflows/{parent}/links", body)
        id_ = await here.trigger(parent)

        async def waits() -> bool:
            runs = await here.executions(child)
            return bool(runs) and "wait" in [each["step_name"] for each in await here.steps(runs[0]["id"])]

        await came(waits)
        await here.started(heard)
    async with reopened(serve, here) as there:
        await there.send("go")
        done = await there.ended(id_)
        assert done["error"]["detail"] == "********"
        # The service was sent the very secret, also by the step after the restart.
        assert peer.heard == [SECRET, f"a {SECRET} b"]
        await there.started(linked)
        shown = await _shown(there, parent, child, heard, linked)
        assert "********" in shown
        assert _hidden(shown)
        again = (await there.post(f"/executions/{(await there.executions(child))[0]['id']}/rerun")).json()
        await there.at(again["id"], "wait")
        assert (await there.execution(again["id"]))["trigger_data"] == {"given": "********"}
    if database_url.startswith("sqlite"):
        folder = Path(database_url.removeprefix("sqlite:///")).parent
        for file in folder.glob("penstock.db*"):
            assert _hidden(file.read_bytes().decode("utf-8", "replace")), file


async def test_a_secret_that_is_not_there_is_a_fault_of_authorization(serve: Serve) -> None:
    async with shop(serve) as here:
        workflow = await here.workflow("lacking", "use: {secrets: [nothing]}\ndo: [{say: {set: {x: 1}}}]")
        done = await here.run(workflow)
        assert (done["status"], done["error"]["status"]) == ("failed", 403)
        assert done["error"]["type"].endswith("/authorization")
        assert "'nothing'" in done["error"]["detail"]


async def test_what_scripts_print_is_logged_line_by_line_with_secrets_masked(serve: Serve) -> None:
    code = "import os\nprint('begin')\nprint(os.environ['KEY'])"
    script = {"language": "python", "code": code, "environment": {"KEY": "${ $secrets.lines }"}}
    tasks = f"use: {{secrets: [lines]}}\ndo: [{{tell: {{run: {{script: {json.dumps(script)}}}}}}}]"
    async with shop(serve, processes=["script"]) as here:
        await here.secret("lines", LINES)
        workflow = await here.workflow("telling", tasks)
        done = await here.run(workflow)
        assert done["status"] == "completed", done
        said = [each["message"] for each in await here.logs(workflow, module="tell")]
        assert said[:3] == ["begin", "********", "********"]
        assert _hidden(await _shown(here, workflow))
