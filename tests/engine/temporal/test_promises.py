"""What the embedded engine promises, promised by the one on Temporal too: the same tests, with another server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.conftest import Serve
from tests.engine.embedded import test_control, test_events, test_links, test_recovery, test_subflows
from tests.engine.temporal.workers import working

pytestmark = test_control.pytestmark
peer = test_control.peer


@pytest.fixture
def serve(serve: Serve, database_url: str, on_temporal: dict[str, str]) -> Serve:
    """What asks for a server with an engine gets one on Temporal, with a worker beside it."""

    @asynccontextmanager
    async def run(**asked: Any) -> AsyncIterator[httpx.AsyncClient]:
        given = {**asked, **on_temporal}
        async with serve(**given) as client, working(database=database_url, **given):
            yield client

    return run


test_cancelled_call = test_control.test_a_cancelled_call_is_aborted_and_its_step_says_so
test_rerun = test_control.test_a_rerun_goes_on_from_the_step_and_performs_nothing_before_it_again
test_child_s_fault = test_subflows.test_a_fault_of_the_child_is_the_step_s_fault_and_a_cancelled_child_is_one_too
test_child_s_end = test_subflows.test_a_child_ends_with_its_parent_unless_nobody_waits_for_it
test_every_listener = test_events.test_every_listener_gets_an_event_once_and_those_of_other_projects_never
test_hundreds_of_events = test_events.test_hundreds_of_events_for_one_who_listens_come_in_their_order
test_links_follow = test_links.test_each_type_follows_its_own_ends_and_is_given_what_the_source_put_out
test_orderly_end = test_recovery.test_what_was_finished_before_an_orderly_end_is_not_done_again
