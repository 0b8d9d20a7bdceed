"""`make histories` records anew what test_replay walks: real executions, one for each kind of command.

Payloads are stored opened: there is nothing secret in them, and whoever replays them has another key.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from google.protobuf.message import Message
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from temporalio.api.common.v1 import Payload
from temporalio.client import Client

from tests.conftest import Serve
from tests.engine.embedded.shop import Shop
from tests.engine.tasks.http_peer import served
from tests.engine.temporal.workers import working
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio
HISTORIES = Path(__file__).parent / "histories"
LONGEST = 60
"""Events of a history, after which the walk goes on in a new one."""

_CALL = "{call: http, with: {method: get, endpoint: 'PEER'}, output: {as: '${ {n: 1} }'}}"
_TASKS = {
    "set": """
do:
  - first: {set: {items: [1, 2, 3]}}
  - rounds: {for: {each: item, in: '${ .items }'}, do: [{one: {set: {items: '${ .items + [$item * 2] }'}}}]}
  - choose: {switch: [{many: {when: '${ (.items | length) > 3 }', then: last}}, {few: {then: end}}]}
  - last: {set: {sum: '${ .items | add }', text: '${ .items | map(tostring) | sort | join("-") | @base64 }'}}
""",
    "calls": f"do: [{{first: {_CALL}}}, {{second: {_CALL}}}]",
    "fork": f"""
do:
  - work:
      fork:
        branches:
          - quick: {_CALL}
          - slow: {{do: [{{nap: {{wait: {{milliseconds: 30}}}}}}, {{ask: {_CALL}}}]}}
""",
    "race": f"""
do: [{{race: {{fork: {{compete: true, branches: [{{quick: {_CALL}}}, {{long: {{wait: {{hours: 1}}}}}}]}}}}}}]
""",
    "retry": """
do:
  - trying:
      try: [{flaky: {call: http, with: {method: get, endpoint: 'PEER/flaky'}}}]
      catch: {errors: {with: {status: 503}}, retry: {delay: {milliseconds: 20}, limit: {attempt: {count: 5}}}}
""",
    "timeout": """
do:
  - trying:
      try: [{long: {wait: {hours: 1}, timeout: {after: {milliseconds: 30}}}}]
      catch: {errors: {with: {status: 408}}, do: [{late: {set: {late: true}}}]}
""",
    "shell": "do: [{say: {run: {shell: {command: echo hello}}}}]",
    "failing": "do: [{ask: {call: http, with: {method: get, endpoint: 'PEER/broken'}}}]",
    "emit": "do: [{say: {emit: {event: {with: {source: 'https://a.example', type: said, data: {n: 1}}}}}}]",
    "listen": "do: [{hear: {listen: {to: {one: {with: {type: said}}}}}}]",
    "child": "do: [{work: {set: {twice: 2}}}]",
    "heard": "schedule: {on: {one: {with: {type: noted}}}}\ndo: [{note: {set: {heard: true}}}]",
    "parent": """
do:
  - awaited: {run: {workflow: {namespace: shop, name: child, version: latest, input: {}}}}
  - stray: {run: {workflow: {namespace: shop, name: child, version: latest, input: {}}, await: false}}
""",
    "long": f"do: [{{go: {{for: {{in: '${{ [range(12)] }}'}}, do: [{{ask: {_CALL}}}]}}}}]",
    "paused": f"do: [{{nap: {{wait: {{seconds: 1}}}}}}, {{ask: {_CALL}}}]",
    "cancelled": "do: [{nap: {wait: {hours: 1}}}]",
}
_APART = frozenset({"child", "heard", "paused", "cancelled"})


async def test_record(serve: Serve, database_url: str, task_queue: str, on_temporal: dict[str, str]) -> None:
    if database_url.startswith("postgresql"):
        pytest.skip("once is enough")
    given = {**on_temporal, "worker_history": LONGEST, "processes": ["shell"]}
    with served(Starlette(routes=[Route("/{path:path}", _peer())])) as url:
        async with serve(**given) as client, working(database=database_url, **given) as temporal:
            shop = Shop(await set_up(client))
            ids = {name: await shop.workflow(name, text.replace("PEER", url)) for name, text in _TASKS.items()}
            await shop.deploy(ids["heard"])
            for name, id_ in ids.items():
                if name not in _APART:
                    await shop.run(id_)
            await shop.send("noted")
            await _pause(shop, ids["paused"])
            await _cancel(shop, ids["cancelled"])
            for old in HISTORIES.glob("*.json"):
                old.unlink()
            for name, id_ in ids.items():
                for number, execution in enumerate(await shop.started(id_), 1):
                    await _record(temporal, f"WorkflowId = '{execution['id']}'", f"{name}-{number}")
            await _record(temporal, f"WorkflowType = 'Errand' AND TaskQueue = '{task_queue}'", "errand")


async def _pause(shop: Shop, workflow: str) -> None:
    execution = await shop.trigger(workflow)
    await shop.at(execution, "nap")
    await shop.post(f"/executions/{execution}/pause")
    await shop.paused(execution)
    await shop.post(f"/executions/{execution}/resume")
    await shop.ended(execution)


async def _cancel(shop: Shop, workflow: str) -> None:
    execution = await shop.trigger(workflow)
    await shop.at(execution, "nap")
    await shop.post(f"/executions/{execution}/cancel")
    await shop.ended(execution)


async def _record(client: Client, which: str, name: str) -> None:
    """Of each of its runs."""
    number = 0
    async for run in client.list_workflows(which):
        number += 1
        history = await client.get_workflow_handle(run.id, run_id=run.run_id).fetch_history()
        for event in history.events:
            await _open(event, client)
        # Whose machine it was is nobody's business.
        told = re.sub(r'"\d+@[^"]*"', '"somebody"', history.to_json())
        text = msgspec.json.format(told.encode(), indent=1)
        (HISTORIES / f"{name}-{number}.json").write_bytes(text + b"\n")


async def _open(message: Message, client: Client) -> None:
    codec = client.data_converter.payload_codec
    assert codec is not None
    if isinstance(message, Payload):
        message.CopyFrom((await codec.decode([message]))[0])
        return
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            found: Any = [each for each in value.values() if isinstance(each, Message)]
        else:
            found = value if not isinstance(value, Message) else [value]
        for each in found:
            await _open(each, client)


def _peer() -> Callable[[Request], Awaitable[JSONResponse]]:
    calls: Counter[str] = Counter()

    async def answer(request: Request) -> JSONResponse:
        path = request.url.path
        calls[path] += 1
        status = 500 if path == "/broken" else 503 if path == "/flaky" and calls[path] < 3 else 200
        return JSONResponse({"ok": True}, status)

    return answer
