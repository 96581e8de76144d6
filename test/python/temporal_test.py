"""The unmodified Temporal Python SDK against build/rondo. README.md says how to run it.

One server for all tests, a client and a worker for each. The last test replays every history that the others left.
"""
import asyncio
import re
import unittest
import uuid
from datetime import datetime, timedelta, timezone

import temporalio.api.enums.v1 as enums
import temporalio.api.operatorservice.v1 as operator
from temporalio.client import (
    Client, Interceptor, OutboundInterceptor, Schedule, ScheduleActionStartWorkflow, ScheduleBackfill,
    ScheduleCalendarSpec, ScheduleIntervalSpec, ScheduleOverlapPolicy, SchedulePolicy, ScheduleRange, ScheduleSpec,
    ScheduleState, ScheduleUpdate, ScheduleAlreadyRunningError, WithStartWorkflowOperation,
    WorkflowExecutionStatus, WorkflowFailureError, WorkflowQueryFailedError,
    WorkflowUpdateFailedError, WorkflowUpdateStage)
from temporalio.common import TypedSearchAttributes, SearchAttributePair, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import (
    ActivityError, ApplicationError, CancelledError, TerminatedError, TimeoutError, WorkflowAlreadyStartedError)
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Replayer, Worker
from temporalio.workflow import NondeterminismError

from rondo import Server, quiet
from workflows import (
    ACTIVITIES, COLOR, SIZE, WORKFLOWS, Account, Attributes, Cancelled, Chain, Child, Counting, Deterministic, Failures,
    Forever, Greeting, Hello, Later, Local, Parent, Scheduled, Timers)

QUEUE = "python"
world = {}


def setUpModule():
    quiet()
    world["server"] = Server()
    world["started"] = set()


def tearDownModule():
    world["server"].close()


class NoteStarts(Interceptor):
    """Notes the run of each start that was acknowledged: the replay must find it."""

    def intercept_client(self, next):
        class Noting(OutboundInterceptor):
            async def start_workflow(self, input):
                handle = await super().start_workflow(input)
                world["started"].add(handle.result_run_id)
                return handle

        return Noting(next)


def fresh(name):
    return f"{name}-{uuid.uuid4()}"


async def eventually(probe):
    """The first answer of the probe that is true. Waits for ever; a test that hangs is ended from outside."""
    while True:
        found = await probe()
        if found:
            return found
        await asyncio.sleep(0.05)


def kinds(history):
    prefix = len("EVENT_TYPE_")
    return [enums.EventType.Name(event.event_type)[prefix:] for event in history.events]


class SdkCase(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.client = await Client.connect(world["server"].address, interceptors=[NoteStarts()])
        self.worker = await self.new_worker().__aenter__()
        self.addAsyncCleanup(self.worker.__aexit__, None, None, None)

    def new_worker(self):
        # Heartbeats are sent at once, so that a cancellation is heard at once.
        return Worker(self.client, task_queue=QUEUE, workflows=WORKFLOWS, activities=ACTIVITIES,
                      max_heartbeat_throttle_interval=timedelta(milliseconds=100))

    async def start(self, run, *args, **more):
        more.setdefault("id", fresh(run.__qualname__.partition(".")[0].lower()))
        return await self.client.start_workflow(run, args=list(args), task_queue=QUEUE, **more)

    async def history_of(self, handle):
        return kinds(await handle.fetch_history())

    async def failure_of(self, handle):
        with self.assertRaises(WorkflowFailureError) as caught:
            await handle.result()
        return caught.exception.cause


class Activities(SdkCase):
    async def test_hello_with_retries(self):
        handle = await self.start(Hello.run, "World", 2)
        self.assertEqual(await handle.result(), Greeting("Hello, World!", 3))
        history = await handle.fetch_history()
        self.assertEqual([kind for kind in kinds(history) if kind.startswith("ACTIVITY")],
                         ["ACTIVITY_TASK_SCHEDULED", "ACTIVITY_TASK_STARTED", "ACTIVITY_TASK_COMPLETED"])
        (started,) = [event for event in history.events if event.HasField("activity_task_started_event_attributes")]
        attempt = started.activity_task_started_event_attributes
        self.assertEqual((attempt.attempt, attempt.last_failure.message), (3, "attempt 2 fails"))

    async def test_failures_reach_the_client(self):
        cause = await self.failure_of(await self.start(Failures.run, "activity"))
        self.assertIsInstance(cause, ActivityError)
        self.assertEqual(cause.retry_state.name, "NON_RETRYABLE_FAILURE")
        self.assertEqual((cause.cause.type, cause.cause.message, cause.cause.details),
                         ("Refused", "no such order", ({"why": "no such order"},)))
        cause = await self.failure_of(await self.start(Failures.run, "exhausted"))
        self.assertEqual((cause.retry_state.name, cause.cause.message), ("MAXIMUM_ATTEMPTS_REACHED", "attempt 3 fails"))
        cause = await self.failure_of(await self.start(Failures.run, "timeout"))
        self.assertIsInstance(cause.cause, TimeoutError)
        self.assertEqual(cause.cause.type.name, "START_TO_CLOSE")
        cause = await self.failure_of(await self.start(Failures.run, "self"))
        self.assertIsInstance(cause, ApplicationError)
        self.assertEqual((cause.type, cause.message, cause.details), ("Own", "itself", (7,)))

    async def test_heartbeats_carry_progress_to_the_next_attempt(self):
        self.assertEqual(await (await self.start(Counting.run, 10)).result(), [6, 7, 8, 9, 10])

    async def test_activities_that_are_completed_from_elsewhere(self):
        handle = await self.start(Later.run)
        later = self.client.get_async_activity_handle(workflow_id=handle.id, run_id=None, activity_id="later")

        async def is_running():
            pending = (await handle.describe()).raw_description.pending_activities
            return any(each.state == enums.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED for each in pending)

        await eventually(is_running)
        await later.heartbeat("soon")
        await later.complete("from elsewhere")
        self.assertEqual(await handle.result(), "from elsewhere")

    async def test_local_activities(self):
        handle = await self.start(Local.run)
        self.assertEqual(await handle.result(),
                         ["Hello, Local!", 3, "noted: 0", "noted: 1", "noted: 2", "locally"])
        found = await self.history_of(handle)
        self.assertEqual(found.count("MARKER_RECORDED"), 5)
        self.assertFalse([kind for kind in found if kind.startswith("ACTIVITY")])


class Timing(SdkCase):
    async def test_timers_fire_in_order_and_not_early(self):
        handle = await self.start(Timers.run, 300)
        self.assertEqual(await handle.result(), ["first", "second", "timed out"])
        started, waited = {}, []
        for event in (await handle.fetch_history()).events:
            at = event.event_time.ToMicroseconds()
            if event.HasField("timer_started_event_attributes"):
                timer = event.timer_started_event_attributes
                started[timer.timer_id] = (at, timer.start_to_fire_timeout.ToMicroseconds())
            elif event.HasField("timer_fired_event_attributes"):
                start, delay = started[event.timer_fired_event_attributes.timer_id]
                waited.append((at - start, delay))
        self.assertEqual(sorted(delay for _, delay in waited), [300_000, 300_000, 600_000])
        self.assertTrue(all(took >= delay for took, delay in waited), waited)
        self.assertIn("TIMER_CANCELED", await self.history_of(handle))

    async def test_what_must_be_the_same_in_a_replay(self):
        number, word, is_later = await (await self.start(Deterministic.run)).result()
        self.assertIsInstance(number, int)
        self.assertEqual(str(uuid.UUID(word)), word)
        self.assertTrue(is_later)


class Messages(SdkCase):
    async def test_signals(self):
        handle = await self.start(Account.run, 5)
        for amount in range(1, 6):
            await handle.signal(Account.deposit, amount)
        await handle.signal("unheard of", args=[1, 2])
        await handle.signal(Account.close)
        self.assertEqual(await handle.result(), [*(f"deposit {amount}" for amount in range(1, 6)), "unheard of 2"])
        with self.assertRaises(RPCError) as caught:
            await handle.signal(Account.deposit, 1)
        self.assertEqual(caught.exception.status, RPCStatusCode.NOT_FOUND)

    async def test_signal_with_start(self):
        name = fresh("both")
        for amount in (3, 4):
            handle = await self.start(Account.run, 0, id=name, start_signal="deposit", start_signal_args=[amount])
        self.assertEqual(await eventually_equal(lambda: handle.query(Account.balance_of, "EUR"), "7 EUR"), "7 EUR")
        await handle.signal(Account.close)
        self.assertEqual(await handle.result(), ["deposit 3", "deposit 4"])

    async def test_queries_of_running_and_closed_workflows(self):
        handle = await self.start(Account.run, 12)
        self.assertEqual(await handle.query(Account.balance_of, "USD"), "12 USD")
        for asked, text in (("broken", "cannot say"), ("unknown", "unknown")):
            with self.assertRaises(WorkflowQueryFailedError) as caught:
                await handle.query(asked)
            self.assertIn(text, str(caught.exception))
        await handle.signal(Account.close)
        await handle.result()
        self.assertEqual(await handle.query(Account.balance_of, "USD"), "12 USD")

    async def test_updates(self):
        handle = await self.start(Account.run, 10)
        self.assertEqual(await handle.execute_update(Account.withdraw, 4), 6)
        with self.assertRaises(WorkflowUpdateFailedError) as caught:
            await handle.execute_update(Account.withdraw, 7)
        self.assertEqual((caught.exception.cause.type, caught.exception.cause.message), ("TooMuch", "only 6 there"))
        with self.assertRaises(WorkflowUpdateFailedError) as caught:
            await handle.execute_update(Account.lose)
        self.assertEqual(caught.exception.cause.message, "lost")
        with self.assertRaises(WorkflowUpdateFailedError):
            await handle.execute_update("no such update")

        waiting = await handle.start_update(Account.wait_for, 50, id="w", wait_for_stage=WorkflowUpdateStage.ACCEPTED)
        await handle.signal(Account.deposit, 44)
        self.assertEqual(await waiting.result(), 50)
        self.assertEqual(await handle.get_update_handle("w").result(), 50)
        # The same id is the same update: nothing is done again.
        self.assertEqual(await handle.execute_update(Account.wait_for, 9999, id="w"), 50)
        await handle.signal(Account.close)
        self.assertEqual(await handle.result(), ["withdraw 4", "deposit 44"])
        # What the validator refused, and what there is no handler for, is not in the history.
        found = await self.history_of(handle)
        self.assertEqual(found.count("WORKFLOW_EXECUTION_UPDATE_ACCEPTED"), 3)
        self.assertEqual(found.count("WORKFLOW_EXECUTION_UPDATE_COMPLETED"), 3)

    async def test_update_with_start(self):
        name = fresh("opened")
        for opening, expected in ((20, 15), (1000, 10)):  # the second finds the first
            begin = WithStartWorkflowOperation(Account.run, opening, id=name, task_queue=QUEUE,
                                               id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING)
            left = await self.client.execute_update_with_start_workflow(Account.withdraw, 5, start_workflow_operation=begin)
            self.assertEqual(left, expected)
        handle = await begin.workflow_handle()
        await handle.signal(Account.close)
        self.assertEqual(await handle.result(), ["withdraw 5", "withdraw 5"])


async def eventually_equal(probe, expected):
    async def is_equal():
        found = await probe()
        return found if found == expected else None

    return await eventually(is_equal)


class Families(SdkCase):
    async def test_children(self):
        handle = await self.start(Parent.run, "wait")
        self.assertEqual(await handle.result(), [f"{handle.id}: from inside", "child 0", "child 1", "child 2",
                                                 "ChildFailed: the child fails", "CancelledError"])
        sleeping = self.client.get_workflow_handle(f"{handle.id}/sleeping")
        described = await sleeping.describe()
        self.assertEqual(described.status, WorkflowExecutionStatus.CANCELED)
        self.assertEqual((described.parent_id, described.root_id), (handle.id, handle.id))

    async def test_what_happens_to_children_when_the_parent_closes(self):
        handle = await self.start(Parent.run, "abandon")
        self.assertEqual(await handle.result(), [])
        child = lambda name: self.client.get_workflow_handle(f"{handle.id}/{name}")
        self.assertIsInstance(await self.failure_of(child("terminated")), TerminatedError)
        self.assertIsInstance(await self.failure_of(child("cancelled")), CancelledError)
        abandoned = child("abandoned")
        self.assertEqual((await abandoned.describe()).status, WorkflowExecutionStatus.RUNNING)
        await abandoned.signal(Child.say, "alone")
        self.assertEqual(await abandoned.result(), f"{handle.id}: alone")

    async def test_continue_as_new(self):
        handle = await self.start(Chain.run, 3, [])
        runs = await handle.result()
        self.assertEqual((len(runs), len(set(runs))), (4, 4))
        self.assertEqual(runs[0], handle.first_execution_run_id)
        first = self.client.get_workflow_handle(handle.id, run_id=runs[0])
        self.assertEqual((await first.describe()).status, WorkflowExecutionStatus.CONTINUED_AS_NEW)
        history = await first.fetch_history()
        closing = history.events[-1].workflow_execution_continued_as_new_event_attributes
        self.assertEqual(closing.new_execution_run_id, runs[1])
        self.assertEqual((await self.client.get_workflow_handle(handle.id).describe()).run_id, runs[3])


class Endings(SdkCase):
    async def is_in_activity(self, handle):
        pending = (await handle.describe()).raw_description.pending_activities
        return any(each.last_heartbeat_time.seconds for each in pending)

    async def test_cancellation_reaches_the_activity_and_lets_the_workflow_clean_up(self):
        handle = await self.start(Cancelled.run)
        await eventually(lambda: self.is_in_activity(handle))
        await handle.cancel()
        cause = await self.failure_of(handle)
        self.assertEqual((cause.type, cause.message), ("Cleaned", "CancelledError, noted: cleaned up"))
        found = await self.history_of(handle)
        for kind in ("WORKFLOW_EXECUTION_CANCEL_REQUESTED", "ACTIVITY_TASK_CANCEL_REQUESTED", "ACTIVITY_TASK_CANCELED"):
            self.assertIn(kind, found)

    async def test_cancelled_terminated_and_timed_out(self):
        cancelled = await self.start(Forever.run)
        await cancelled.cancel()
        self.assertIsInstance(await self.failure_of(cancelled), CancelledError)
        self.assertEqual((await cancelled.describe()).status, WorkflowExecutionStatus.CANCELED)
        terminated = await self.start(Forever.run)
        await terminated.terminate("enough", reason="by the test")
        self.assertIn("by the test", str(await self.failure_of(terminated)))
        timed_out = await self.start(Forever.run, execution_timeout=timedelta(milliseconds=500))
        self.assertIsInstance(await self.failure_of(timed_out), TimeoutError)
        self.assertEqual((await timed_out.describe()).status, WorkflowExecutionStatus.TIMED_OUT)

    async def test_ids_are_taken_and_free_again(self):
        first = await self.start(Forever.run, id=fresh("taken"))
        with self.assertRaises(WorkflowAlreadyStartedError) as caught:
            await self.start(Forever.run, id=first.id)
        self.assertEqual(caught.exception.run_id, first.result_run_id)
        same = await self.start(Forever.run, id=first.id, id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING)
        self.assertEqual(same.result_run_id, first.result_run_id)
        other = await self.start(Forever.run, id=first.id, id_conflict_policy=WorkflowIDConflictPolicy.TERMINATE_EXISTING)
        self.assertNotEqual(other.result_run_id, first.result_run_id)
        self.assertIsInstance(await self.failure_of(first), TerminatedError)
        await other.terminate()
        with self.assertRaises(WorkflowAlreadyStartedError):
            await self.start(Forever.run, id=first.id, id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE)


class Visibility(SdkCase):
    async def test_search_attributes_and_memo(self):
        request = operator.AddSearchAttributesRequest(namespace="default", search_attributes={
            COLOR.name: enums.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
            SIZE.name: enums.IndexedValueType.INDEXED_VALUE_TYPE_INT})
        await self.client.operator_service.add_search_attributes(request)
        attributes = TypedSearchAttributes([SearchAttributePair(COLOR, "red"), SearchAttributePair(SIZE, 41)])
        memo = {"kept": "as it was", "changed": 0, "dropped": True}
        handle = await self.start(Attributes.run, search_attributes=attributes, memo=memo)

        async def is_upserted():
            described = await handle.describe()
            return described if described.typed_search_attributes.get(COLOR) == "blue" else None

        described = await eventually(is_upserted)
        self.assertEqual(described.typed_search_attributes[SIZE], 42)
        self.assertEqual(await described.memo(), {"kept": "as it was", "changed": [1, 2]})
        found = [each async for each in self.client.list_workflows("PythonColor = 'blue' AND PythonSize > 41")]
        self.assertEqual([each.id for each in found], [handle.id])
        self.assertEqual(await found[0].memo(), {"kept": "as it was", "changed": [1, 2]})
        self.assertEqual((await self.client.count_workflows("PythonColor = 'red'")).count, 0)
        await handle.signal(Attributes.close)
        self.assertEqual(await handle.result(), ["red", 41, memo, {"kept": "as it was", "changed": [1, 2]}])

    async def test_lists_and_counts(self):
        handles = [await self.start(Hello.run, str(i), 0, id=fresh("listed")) for i in range(5)]
        for handle in handles:
            await handle.result()
        query = "WorkflowId STARTS_WITH 'listed-' AND ExecutionStatus = 'Completed'"
        found = [each async for each in self.client.list_workflows(query, page_size=2)]
        self.assertEqual({each.run_id for each in found}, {handle.result_run_id for handle in handles})
        grouped = await self.client.count_workflows("WorkflowId STARTS_WITH 'listed-' GROUP BY ExecutionStatus")
        self.assertEqual([(group.count, group.group_values) for group in grouped.groups], [(5, ["Completed"])])


class Schedules(SdkCase):
    def action(self, word, **more):
        return ScheduleActionStartWorkflow(Scheduled.run, word, id=fresh("by-schedule"), task_queue=QUEUE, **more)

    async def ended_runs(self, schedule_id, count):
        query = f"TemporalScheduledById = '{schedule_id}' AND ExecutionStatus = 'Completed'"

        async def are_there():
            found = [each async for each in self.client.list_workflows(query)]
            return found if len(found) >= count else None

        found = await eventually(are_there)
        self.assertEqual(len(found), count)
        return [await self.client.get_workflow_handle(each.id, run_id=each.run_id).result() for each in found]

    async def test_the_life_of_a_schedule(self):
        own = fresh("schedule")
        calendar = ScheduleCalendarSpec(hour=[ScheduleRange(9)], minute=[ScheduleRange(30)],
                                        day_of_week=[ScheduleRange(1, 5)], comment="on workdays")
        schedule = Schedule(
            action=self.action("first", memo={"for": "the run"}),
            spec=ScheduleSpec(calendars=[calendar], cron_expressions=["0 4 * * 0"],
                              intervals=[ScheduleIntervalSpec(every=timedelta(hours=6), offset=timedelta(hours=5))],
                              skip=[ScheduleCalendarSpec(month=[ScheduleRange(12)], day_of_month=[ScheduleRange(25)],
                                                         hour=[ScheduleRange(0, 23)], minute=[ScheduleRange(0, 59)])],
                              jitter=timedelta(seconds=3), time_zone_name="Europe/Paris"),
            policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.BUFFER_ONE, catchup_window=timedelta(hours=2),
                                  pause_on_failure=True),
            state=ScheduleState(note="made by the test", limited_actions=True, remaining_actions=9))
        handle = await self.client.create_schedule(own, schedule, memo={"of": "the schedule"})
        with self.assertRaises(ScheduleAlreadyRunningError):
            await self.client.create_schedule(own, schedule)

        described = await handle.describe()
        self.assertEqual(described.id, own)
        self.assertEqual(await described.memo(), {"of": "the schedule"})
        self.assertEqual(described.schedule.policy, schedule.policy)
        self.assertEqual(described.schedule.state, schedule.state)
        spec = described.schedule.spec
        self.assertEqual((len(spec.calendars), len(spec.intervals), len(spec.skip), spec.cron_expressions), (2, 1, 1, []))
        self.assertIn("on workdays", [each.comment for each in spec.calendars])
        self.assertEqual((spec.time_zone_name, spec.jitter), ("Europe/Paris", timedelta(seconds=3)))
        self.assertEqual(described.schedule.action.workflow, "Scheduled")
        self.assertEqual(len(described.info.next_action_times), 9)
        self.assertEqual(described.info.num_actions, 0)

        async def listed():
            async for each in await self.client.list_schedules():
                if each.id == own:
                    return each

        found = await eventually(listed)
        self.assertEqual((found.schedule.action.workflow, found.schedule.state.note), ("Scheduled", "made by the test"))
        self.assertEqual(await found.memo(), {"of": "the schedule"})

        await handle.pause(note="not now")
        state = (await handle.describe()).schedule.state
        self.assertEqual((state.paused, state.note), (True, "not now"))

        await handle.trigger()  # also when paused
        self.assertEqual(await self.ended_runs(own, 1), [["first", own]])

        await handle.unpause(note="now")
        state = (await handle.describe()).schedule.state
        self.assertEqual((state.paused, state.note), (False, "now"))

        async def change(input):
            changed = input.description.schedule
            changed.action = self.action("second")
            changed.spec = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(hours=1))])
            changed.policy.overlap = ScheduleOverlapPolicy.ALLOW_ALL
            changed.state.limited_actions = False
            return ScheduleUpdate(schedule=changed)

        await handle.update(change)
        described = await handle.describe()
        spec = described.schedule.spec
        self.assertEqual(([each.every for each in spec.intervals], spec.calendars), ([timedelta(hours=1)], []))
        self.assertEqual(described.schedule.policy.pause_on_failure, True)
        self.assertTrue(all((at.minute, at.second) <= (0, 3) for at in described.info.next_action_times))

        year = datetime(2020, 1, 1, tzinfo=timezone.utc)
        begin = year + timedelta(minutes=1)
        await handle.backfill(ScheduleBackfill(start_at=begin, end_at=begin + timedelta(hours=4),
                                               overlap=ScheduleOverlapPolicy.ALLOW_ALL))
        runs = await self.ended_runs(own, 5)
        self.assertEqual(sorted(word for word, _ in runs), ["first"] + 4 * ["second"])

        async def are_counted():
            return (await handle.describe()).info.num_actions == 5

        await eventually(are_counted)
        recent = (await handle.describe()).info.recent_actions
        self.assertEqual(sorted(each.scheduled_at for each in recent)[:4], [year + timedelta(hours=i) for i in range(1, 5)])

        await handle.delete()
        with self.assertRaises(RPCError) as caught:
            await handle.describe()
        self.assertEqual(caught.exception.status, RPCStatusCode.NOT_FOUND)
        for call in (handle.trigger, handle.pause, handle.delete):
            with self.assertRaises(RPCError) as caught:
                await call()
            self.assertEqual(caught.exception.status, RPCStatusCode.NOT_FOUND)

    async def test_a_schedule_acts_by_itself_until_its_limit(self):
        schedule = Schedule(action=self.action("by itself"),
                            spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(seconds=1))]),
                            state=ScheduleState(limited_actions=True, remaining_actions=2))
        handle = await self.client.create_schedule(fresh("limited"), schedule)
        self.assertEqual(await self.ended_runs(handle.id, 2), 2 * [["by itself", handle.id]])
        info = (await handle.describe()).info
        self.assertEqual(info.num_actions, 2)
        for each in info.recent_actions:
            self.assertGreaterEqual(each.started_at, each.scheduled_at)
            self.assertTrue(re.search(r"-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", each.action.workflow_id))
        await handle.delete()

    async def test_created_with_a_backfill_and_a_trigger(self):
        year = datetime(2021, 5, 1, tzinfo=timezone.utc)
        schedule = Schedule(action=self.action("at once"), spec=ScheduleSpec(cron_expressions=["0 12 * * *"]),
                            state=ScheduleState(paused=True))
        past = ScheduleBackfill(start_at=year, end_at=year + timedelta(days=3), overlap=ScheduleOverlapPolicy.ALLOW_ALL)
        handle = await self.client.create_schedule(fresh("at-once"), schedule, trigger_immediately=True, backfill=[past])
        self.assertEqual(await self.ended_runs(handle.id, 4), 4 * [["at once", handle.id]])
        await handle.delete()


class Restarts(SdkCase):
    async def test_another_worker_goes_on(self):
        handle = await self.start(Account.run, 1)
        await handle.execute_update(Account.withdraw, 1)
        await self.worker.shutdown()
        await handle.signal(Account.deposit, 5)
        async with self.new_worker():
            self.assertEqual(await handle.query(Account.balance_of, "EUR"), "5 EUR")
            await handle.signal(Account.close)
            self.assertEqual(await handle.result(), ["withdraw 1", "deposit 5"])

    async def test_a_server_that_was_killed_goes_on(self):
        handles = [await self.start(Account.run, i) for i in range(5)]
        timer = await self.start(Timers.run, 1000)
        for handle in handles:
            await handle.signal(Account.deposit, 10)
        server = world["server"]
        server.kill()
        server.launch()
        for i, handle in enumerate(handles):
            await eventually_equal(lambda: handle.query(Account.balance_of, "EUR"), f"{i + 10} EUR")
            await handle.signal(Account.close)
            self.assertEqual(await handle.result(), ["deposit 10"])
        self.assertEqual(await timer.result(), ["first", "second", "timed out"])


class ZReplay(unittest.IsolatedAsyncioTestCase):
    async def test_every_history_fits_the_code_that_wrote_it(self):
        client = await Client.connect(world["server"].address)
        closed = set()
        async for each in client.list_workflows():
            if each.status == WorkflowExecutionStatus.RUNNING:
                await client.get_workflow_handle(each.id, run_id=each.run_id).terminate("left over")
            closed.add(each.run_id)
        self.assertEqual(world["started"] - closed, set())
        replayed = 0
        histories = client.list_workflows().map_histories()
        async with Replayer(workflows=WORKFLOWS).workflow_replay_iterator(histories) as results:
            async for result in results:
                replayed += 1
                events = result.history.events
                self.assertEqual([event.event_id for event in events], list(range(1, len(events) + 1)))
                self.assertIsNone(result.replay_failure, f"{result.history.workflow_id}: {result.replay_failure}")
        self.assertEqual(replayed, len(closed))
        print(f"replayed {replayed} histories, {len(world['started'])} of them started by a client")

    async def test_the_replayer_would_notice(self):
        client = await Client.connect(world["server"].address)
        found = [each async for each in client.list_workflows("WorkflowType = 'Hello' AND ExecutionStatus = 'Completed'")]
        history = await client.get_workflow_handle(found[0].id, run_id=found[0].run_id).fetch_history()
        (asked,) = [event for event in history.events if event.HasField("activity_task_scheduled_event_attributes")]
        asked.activity_task_scheduled_event_attributes.activity_type.name = "note"
        result = await Replayer(workflows=WORKFLOWS).replay_workflow(history, raise_on_replay_failure=False)
        self.assertIsInstance(result.replay_failure, NondeterminismError)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
