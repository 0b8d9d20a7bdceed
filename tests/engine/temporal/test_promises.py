"""What the embedded engine promises, promised by the one on Temporal too: the same tests, with another server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.conftest import Serve
from tests.engine.embedded import (
    test_control,
    test_events,
    test_executions,
    test_links,
    test_recovery,
    test_retention,
    test_schedules,
    test_subflows,
)
from tests.engine.temporal.workers import working

pytestmark = test_control.pytestmark
peer = test_control.peer
sink = test_events.sink


@pytest.fixture
def database_url(postgresql_url: str) -> str:
    """What many machines share. That the same holds on SQLite is shown by the other tests here, in less time."""
    return postgresql_url


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
test_rerun_in_fork = test_control.test_a_rerun_comes_to_its_step_whatever_another_branch_did_meanwhile
test_child_s_fault = test_subflows.test_a_fault_of_the_child_is_the_step_s_fault_and_a_cancelled_child_is_one_too
test_child_s_end = test_subflows.test_a_child_ends_with_its_parent_unless_nobody_waits_for_it
test_every_listener = test_events.test_every_listener_gets_an_event_once_and_those_of_other_projects_never
test_hundreds_of_events = test_events.test_hundreds_of_events_for_one_who_listens_come_in_their_order
test_links_follow = test_links.test_each_type_follows_its_own_ends_and_is_given_what_the_source_put_out
test_orderly_end = test_recovery.test_what_was_finished_before_an_orderly_end_is_not_done_again

test_next_run = test_schedules.test_a_deployed_schedule_says_when_it_is_next_until_it_is_replaced_or_stopped
test_deployed_again = test_schedules.test_deployed_again_as_it_is_a_schedule_keeps_its_plan_and_what_it_has_consumed
test_missed_runs = test_schedules.test_runs_that_were_missed_are_made_up_for_once
test_after_the_end = test_schedules.test_the_next_run_counts_from_the_end_of_the_last_however_it_ended
test_lost_plan = test_schedules.test_a_plan_that_was_lost_with_its_execution_is_made_again
test_all_events = test_events.test_a_workflow_starts_when_all_its_events_have_come_once_and_not_again_after_a_restart
test_sinks = test_events.test_an_emitted_event_goes_to_the_sink_again_when_it_was_not_taken
test_consumed = test_events.test_what_a_listener_has_consumed_counts_after_a_restart_and_is_not_done_again
test_limits = test_executions.test_as_many_run_as_the_definition_allows_and_those_who_wait_come_in_their_order
test_cancelled_while_waiting = test_control.test_whatever_waits_can_be_cancelled_and_leaves_no_step_open
test_paused = test_control.test_nothing_begins_while_an_execution_is_paused_not_even_after_a_restart
test_skipped_links = test_links.test_what_may_not_be_started_is_skipped_and_the_log_says_why
test_chains = test_links.test_a_loop_of_links_ends_32_links_after_its_first_execution
test_timeouts = test_executions.test_what_takes_too_long_is_a_fault_with_status_408
test_deleted_project = test_executions.test_a_project_can_be_deleted_from_under_what_runs_in_it
test_retained = test_retention.test_an_ended_execution_goes_with_all_that_was_said_of_it
test_retained_events = test_retention.test_events_that_nobody_wants_go_when_their_time_is_up
test_deleted_target = test_links.test_a_target_that_is_deleted_as_the_source_ends_takes_nobody_else_with_it
test_deleted_child = test_recovery.test_who_waits_for_a_workflow_that_was_deleted_does_not_wait_for_ever
test_cancelled_at_once = test_recovery.test_cancelled_at_the_very_beginning_nothing_of_it_goes_on
