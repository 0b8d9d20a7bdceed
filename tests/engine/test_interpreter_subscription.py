"""What an AsyncAPI call does with the messages that it receives, whatever brings them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from penstock.dsl.build import workflow_of
from penstock.engine.faults import Fault
from penstock.engine.host import Json, Step
from penstock.engine.interpreter import interpret
from penstock.engine.local import LocalEngine, LocalHost
from penstock.engine.performing import Performer
from penstock.ids import uuid7
from tests.conformance.local import Steps

TASKS = """
document: {dsl: 1.0.3, namespace: test, name: subscribe, version: 1.0.0}
do:
  - receive:
      call: asyncapi
      with:
        document: {endpoint: 'http://nowhere.invalid/asyncapi.json'}
        channel: readings
        subscription: SUBSCRIPTION
"""


class Broker(LocalHost):
    """Messages of numbers, without end, or until there are no more."""

    def __init__(self, engine: LocalEngine, text: str, messages: int | None) -> None:
        super().__init__(engine, workflow_of(text), uuid7(), None)
        self.closed = False
        self.arguments: Json = {}
        self._messages = messages

    @asynccontextmanager
    async def subscribe(self, step: Step, arguments: Json) -> AsyncIterator[AsyncIterator[Any]]:
        self.arguments = arguments
        try:
            yield self._numbers()
        finally:
            self.closed = True

    async def _numbers(self) -> AsyncIterator[Any]:
        number = 0
        while self._messages is None or number < self._messages:
            yield {"payload": number}
            number += 1
        await asyncio.Event().wait()


class Received:
    def __init__(self, runner: asyncio.Runner, performer: Performer) -> None:
        self._runner = runner
        self._performer = performer
        self.steps = Steps()

    def __call__(self, subscription: str, messages: int | None = None) -> Any:
        text = TASKS.replace("SUBSCRIPTION", subscription)
        broker = Broker(LocalEngine(self._performer, watch=self.steps), text, messages)
        try:
            return self._runner.run(interpret(workflow_of(text), broker, {"least": 3}, broker.created_at))
        finally:
            assert broker.closed
            assert broker.arguments["channel"] == "readings"


@pytest.fixture
def received(runner: asyncio.Runner, performer: Performer) -> Received:
    return Received(runner, performer)


@pytest.mark.parametrize(
    ("subscription", "payloads"),
    [
        ("{consume: {amount: 3}}", [0, 1, 2]),
        ("{consume: {until: .payload == 2}}", [0, 1, 2]),
        ("{consume: {while: .payload < 2}}", [0, 1]),
        ("{filter: .payload % 2 == 1, consume: {amount: 2}}", [1, 3]),
        ("{filter: .payload >= $input.least, consume: {amount: 2}}", [3, 4]),
    ],
)
def test_messages_are_taken_until_there_are_enough(received: Received, subscription: str, payloads: list[int]) -> None:
    assert received(subscription) == [{"payload": number} for number in payloads]
    assert received.steps.lines == ["receive completed"]


def test_what_came_in_time_is_what_there_is(received: Received) -> None:
    assert received("{consume: {for: {seconds: 1}}}", messages=2) == [{"payload": 0}, {"payload": 1}]


def test_each_message_is_worked_on(received: Received) -> None:
    subscription = """
          consume: {amount: 2}
          foreach:
            item: message
            at: i
            do: [{square: {set: '${ $message.payload * $message.payload + $i }'}}]
            output: {as: '{result: .}'}
"""
    assert received(subscription) == [{"result": 0}, {"result": 2}]
    assert received.steps.lines == ["receive completed", "square completed", "square completed"]


def test_a_fault_while_working_on_a_message_closes_the_subscription(received: Received) -> None:
    subscription = """
          consume: {amount: 2}
          foreach: {do: [{boom: {raise: {error: {type: 'https://example.com/e', status: 500}}}}]}
"""
    with pytest.raises(Fault) as raised:
        received(subscription)
    assert raised.value.error.instance == "/do/0/receive/with/subscription/foreach/do/0/boom"
