"""An agent of the A2A protocol, made with its official SDK, that also speaks the protocol's version 0.3."""

import asyncio
from collections.abc import AsyncGenerator
from queue import SimpleQueue
from typing import Any

from a2a.helpers import new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import Event, EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part
from starlette.applications import Starlette

seen: list[dict[str, str]] = []
happened: SimpleQueue[str] = SimpleQueue()


class Reporter(AgentExecutor):
    """Answers `hello` at once; makes a task in two parts of all else; `wait` takes for ever."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        assert context.message is not None
        happened.put(f"{text} {context.message.message_id}")
        if text == "hello":
            await event_queue.enqueue_event(new_text_message("hello to you", context_id=context.context_id))
            return
        task = context.current_task or new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        if text == "wait":
            await asyncio.Event().wait()
        for part in ("first", "second"):
            await updater.add_artifact([Part(text=f"{part} of {text}")])
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        await updater.cancel()


# Its address is set when it is known.
card = AgentCard(
    name="reporter",
    description="writes reports",
    version="1",
    supported_interfaces=[AgentInterface(protocol_binding="JSONRPC", protocol_version="0.3")],
    capabilities=AgentCapabilities(streaming=True, push_notifications=True),
    default_input_modes=["text"],
    default_output_modes=["text"],
    skills=[AgentSkill(id="report", name="report", description="reports", tags=["report"])],
)


class Told(DefaultRequestHandler):
    """Says when somebody watches a task."""

    async def on_subscribe_to_task(self, *asked: Any) -> AsyncGenerator[Event, None]:
        async for event in super().on_subscribe_to_task(*asked):
            happened.put("watched")
            yield event


handler = Told(Reporter(), InMemoryTaskStore(), card, push_config_store=InMemoryPushNotificationConfigStore())
routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/a2a", enable_v0_3_compat=True)]
application = Starlette(routes=routes)


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        seen.append({name.decode(): value.decode() for name, value in scope["headers"]})
    await application(scope, receive, send)
