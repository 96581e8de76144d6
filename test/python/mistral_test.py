"""Mistral's unmodified Python client against build/rondo: the examples of its page about schedules as they stand there
(mistral_examples.md), what that page says in words, and the other calls of its workflows.

Where the published client has not got what an example uses, the example must fail as it does, and the same
example with the smallest change must hold.
"""
import ast
import asyncio
import contextlib
import glob
import inspect
import io
import os
import re
import unittest
import uuid
from datetime import datetime, timedelta, timezone

import mistralai.client
import temporalio.api.workflowservice.v1 as service
from mistralai.client import Mistral, errors, models
from temporalio.client import Client
from temporalio.worker import Replayer, Worker

from report import Report
from rondo import ROOT, Server, quiet

DAY = timedelta(days=1)
OVERLAPS = {"SKIP": 1, "BUFFER_ONE": 2, "BUFFER_ALL": 3, "CANCEL_OTHER": 4, "TERMINATE_OTHER": 5, "ALLOW_ALL": 6}
NEVER = {"cron_expressions": ["0 0 1 1 * 2099"]}
world = {}


def setUpModule():
    quiet()
    world["server"] = Server()
    os.environ["MISTRAL_API_KEY"] = "any"
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mistral_examples.md"), encoding="utf-8") as text:
        world["examples"] = dict(re.findall(r"^## (.+?)\n\n```python\n(.*?)^```$", text.read(), re.M | re.S))
    world["left"] = set(world["examples"])


def tearDownModule():
    world["server"].close()


async def eventually(probe):
    while True:
        found = await probe()
        if found:
            return found
        await asyncio.sleep(0.05)


def fresh(name):
    return f"{name}-{uuid.uuid4()}"


class MistralCase(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        server = world["server"]
        self.client = Mistral(server_url=server.url)
        self.temporal = await Client.connect(server.address)
        await self.work_on("production")

    async def work_on(self, queue):
        worker = await Worker(self.temporal, task_queue=queue, workflows=[Report]).__aenter__()
        self.addAsyncCleanup(worker.__aexit__, None, None, None)

        async def is_known():
            return [each for each in self.client.workflows.deployments.list_deployments().deployments if each.name == queue]

        await eventually(is_known)

    @property
    def schedules(self):
        return self.client.workflows.schedules

    async def example(self, heading, *changes):
        """Runs an example with the server's address in Mistral(), and what the page said before it. -> its names, its output"""
        world["left"].discard(heading)
        text = world["examples"][heading].replace("Mistral()", f"Mistral(server_url={world['server'].url!r})")
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        names = {"models": models, "client": self.client}
        code = compile(text, heading, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            done = eval(code, names)
            if inspect.isawaitable(done):
                await done
        return names, output.getvalue()

    async def cannot_hold(self, heading, error, text):
        with self.assertRaises(error) as caught:
            await self.example(heading)
        self.assertIn(text, str(caught.exception))

    def create(self, schedule, **more):
        """Makes a schedule for the time of the test. -> its id"""
        request = {"workflow_identifier": "report-workflow", "deployment_name": "production", **more}
        made = self.schedules.schedule_workflow(schedule=schedule, **request).schedule_id

        def remove():
            with contextlib.suppress(errors.SDKError):
                self.schedules.unschedule_workflow(schedule_id=made)

        self.addCleanup(remove)
        return made

    def definition(self, **more):
        return models.ScheduleDefinition(input={}, **more)

    def shown(self, schedule_id):
        return self.schedules.get_schedule(schedule_id=schedule_id)

    def times(self, schedule_id):
        found = [each.scheduled_at for each in self.shown(schedule_id).future_executions]
        self.assertTrue(found)
        return found

    async def matching(self, schedule_id, start, end):
        """All times of a schedule in a range, both ends included, which need not be in the future."""
        request = service.ListScheduleMatchingTimesRequest(namespace="default", schedule_id=schedule_id)
        request.start_time.FromDatetime(start - timedelta(seconds=1))
        request.end_time.FromDatetime(end)
        answer = await self.temporal.workflow_service.list_schedule_matching_times(request)
        return [each.ToDatetime(timezone.utc) for each in answer.start_time]

    async def ended_runs(self, schedule_id, count):
        async def are_there():
            query = f"TemporalScheduledById = '{schedule_id}' AND ExecutionStatus != 'Running'"
            found = [each async for each in self.temporal.list_workflows(query)]
            return found if len(found) >= count else None

        found = await eventually(are_there)
        self.assertEqual(len(found), count)
        return found

    def refused(self, status, text, call, **request):
        with self.assertRaises(errors.SDKError) as caught:
            call(**request)
        self.assertEqual(caught.exception.status_code, status)
        self.assertRegex(caught.exception.body, text)


class Specifications(MistralCase):
    async def test_creating_a_schedule(self):
        await self.cannot_hold("Creating a schedule", TypeError, "can't be used in 'await' expression")
        (made,) = self.schedules.get_schedules().result.schedules  # the call itself was done
        names, output = await self.example("Creating a schedule", ("schedule_workflow(", "schedule_workflow_async("))
        self.assertEqual(output.strip(), names["response"].schedule_id)
        for schedule_id in (made.schedule_id, names["response"].schedule_id):
            seen = self.shown(schedule_id)
            self.assertEqual((seen.workflow_name, seen.deployment_name, seen.input, seen.paused),
                             ("report-workflow", "production", {"report_type": "daily"}, False))
            times = self.times(schedule_id)
            self.assertEqual((len(times), {(at.hour, at.minute, at.second) for at in times}), (10, {(9, 0, 0)}))
            self.assertEqual({after - before for before, after in zip(times, times[1:])}, {DAY})
            self.schedules.trigger_schedule(schedule_id=schedule_id)
            (run,) = await self.ended_runs(schedule_id, 1)
            self.assertEqual(await self.temporal.get_workflow_handle(run.id).result(), {"report_type": "daily"})
            self.schedules.unschedule_workflow(schedule_id=schedule_id)

    async def test_ranges(self):
        cases = [(models.ScheduleRange(start=9), [9]), (models.ScheduleRange(start=1, end=5), [1, 2, 3, 4, 5]),
                 (models.ScheduleRange(start=0, end=59, step=15), [0, 15, 30, 45])]
        day = datetime(2030, 1, 1, tzinfo=timezone.utc)
        for given, minutes in cases:
            own = self.create(self.definition(calendars=[models.ScheduleCalendar(minute=[given])]))
            found = await self.matching(own, day, day + DAY - timedelta(seconds=1))
            self.assertEqual([(at.hour, at.minute, at.second) for at in found], [(0, minute, 0) for minute in minutes])

    async def test_fields_and_their_ranges(self):
        bounds = {"second": (0, 59), "minute": (0, 59), "hour": (0, 23), "day_of_month": (1, 31), "month": (1, 12),
                  "day_of_week": (0, 6)}
        for field, (first, last) in bounds.items():
            calendar = lambda value: models.ScheduleCalendar(**{field: [models.ScheduleRange(start=value)]})
            for value in (first, last):
                self.create(self.definition(calendars=[calendar(value)]))
            # -1 and 7 are no days of the week either: in calendars only 0 is Sunday.
            for value in (first - 1, last + 1):
                with self.assertRaises(errors.HTTPValidationError):
                    self.create(self.definition(calendars=[calendar(value)]))
        sundays = self.create(self.definition(calendars=[models.ScheduleCalendar(
            year=[models.ScheduleRange(start=2030)], day_of_week=[models.ScheduleRange(start=0)])]))
        times = await self.matching(sundays, datetime(2029, 12, 1, tzinfo=timezone.utc), datetime(2031, 2, 1, tzinfo=timezone.utc))
        self.assertEqual(({at.isoweekday() for at in times}, {at.year for at in times}, len(times)), ({7}, {2030}, 52))

    async def test_calendars(self):
        names, _ = await self.example("Calendars")
        times = self.times(self.create(names["schedule"]))
        self.assertEqual({(at.hour, at.minute, at.second) for at in times}, {(9, 30, 0)})
        workdays = [times[0] + i * DAY for i in range(20) if (times[0] + i * DAY).isoweekday() <= 5]
        self.assertEqual(times, workdays[:10])

    async def test_intervals(self):
        names, _ = await self.example("Intervals")
        own = self.create(names["schedule"])
        day = datetime(2030, 1, 1, tzinfo=timezone.utc)
        whole_day = (day, day + DAY - timedelta(seconds=1))
        found = await self.matching(own, *whole_day)
        self.assertEqual([f"{at:%H:%M}" for at in found], ["00:30", "04:30", "08:30", "12:30", "16:30", "20:30"])
        plain = self.create(self.definition(intervals=[models.ScheduleInterval(every="PT4H")]))
        self.assertEqual([f"{at:%H:%M}" for at in await self.matching(plain, *whole_day)][:3], ["00:00", "04:00", "08:00"])
        spans = {"PT30M": 0.5, "PT1H": 1, "PT4H": 4, "P1D": 24, "PT2H30M": 2.5}
        for written, hours in spans.items():
            times = self.times(self.create(self.definition(intervals=[models.ScheduleInterval(every=written)])))
            self.assertEqual(times[1] - times[0], timedelta(hours=hours))

    async def test_cron_expressions(self):
        names, _ = await self.example("Cron expressions")
        own = self.create(names["schedule"])
        times = self.times(own)
        self.assertEqual({(at.hour, at.minute, at.isoweekday()) for at in times}, {(9, 0, day) for day in range(1, 6)})
        self.assertEqual(self.shown(own).cron_expressions, ["0 9 * * 1-5"])
        spec = (await self.temporal.get_schedule_handle(own).describe()).schedule.spec
        self.assertEqual((len(spec.calendars), spec.cron_expressions), (1, []))  # converted to calendars

    async def test_specifications_are_merged(self):
        own = self.create(self.definition(
            cron_expressions=["0 1 * * *"], intervals=[models.ScheduleInterval(every="P1D", offset="PT2H")],
            calendars=[models.ScheduleCalendar(hour=[models.ScheduleRange(start=3)])]))
        self.assertEqual({f"{at:%H:%M}" for at in self.times(own)}, {"01:00", "02:00", "03:00"})

    async def test_bounding_and_skipping(self):
        names, _ = await self.example("Bounding and skipping")
        own = self.create(names["schedule"])
        first, last = (datetime(2026, month, day, 9, 30, tzinfo=timezone.utc) for month, day in ((1, 1), (12, 31)))
        days = [first + i * DAY for i in range(365) if (first + i * DAY).strftime("%m-%d") != "12-25"]
        self.assertEqual(days[-1], last)
        self.assertEqual(await self.matching(own, first - 30 * DAY, last + 30 * DAY), days)
        seen = self.shown(own)
        self.assertEqual((seen.start_at, seen.end_at), (first, last))
        now = datetime.now(timezone.utc)
        self.assertEqual(set(each.scheduled_at for each in seen.future_executions) - set(days), set())
        self.assertEqual(bool(seen.future_executions), now < last)

    async def test_time_zones(self):
        own = self.create(self.definition(cron_expressions=["0 9 * * *"], time_zone_name="Europe/Paris"))
        for month, hour in ((1, 8), (7, 7)):
            day = datetime(2030, month, 10, tzinfo=timezone.utc)
            self.assertEqual([at.hour for at in await self.matching(own, day, day + DAY)], [hour])


class Policies(MistralCase):
    async def test_overlap(self):
        await self.cannot_hold("Overlap policy", AttributeError, "BUFFER_ONE")
        names, _ = await self.example("Overlap policy", ("models.ScheduleOverlapPolicy.BUFFER_ONE", "2"))
        own = self.create(names["schedule"])
        self.assertEqual((self.shown(own).policy.overlap, self.shown(own).input), (2, {"source": "postgres"}))
        self.assertEqual({f"{at:%H:%M}" for at in self.times(own)} - {f"{hour:02}:00" for hour in range(8, 19)}, set())
        for name, value in OVERLAPS.items():
            policy = models.SchedulePolicy(overlap=value)
            own = self.create(self.definition(policy=policy, **NEVER))
            self.assertEqual((await self.temporal.get_schedule_handle(own).describe()).schedule.policy.overlap.name, name)
        self.assertEqual(self.shown(self.create(self.definition(**NEVER))).policy.overlap, OVERLAPS["SKIP"])

    async def test_catchup_window(self):
        names, _ = await self.example("Catchup window")
        own = self.create(self.definition(policy=names["policy"], **NEVER))
        self.assertEqual(self.shown(own).policy.catchup_window_seconds, 86400)
        self.assertEqual((await self.temporal.get_schedule_handle(own).describe()).schedule.policy.catchup_window, DAY)
        self.assertEqual(self.shown(self.create(self.definition(**NEVER))).policy.catchup_window_seconds, 31536000)

    async def test_pause_on_failure(self):
        names, _ = await self.example("Pause on failure")
        own = self.create(models.ScheduleDefinition(input={"fails": True}, policy=names["policy"], **NEVER))
        self.schedules.trigger_schedule(schedule_id=own)

        async def is_paused():
            return self.shown(own).paused

        await eventually(is_paused)
        self.schedules.resume_schedule(schedule_id=own)
        self.assertFalse(self.shown(own).paused)

    async def test_jitter(self):
        names, _ = await self.example("Jitter")
        own = self.create(names["schedule"])
        delays = {timedelta(minutes=at.minute, seconds=at.second, microseconds=at.microsecond) for at in self.times(own)}
        self.assertTrue(all(delay < timedelta(minutes=5) for delay in delays), delays)
        self.assertGreater(len(delays), 1)
        # Never as far as the next time.
        own = self.create(self.definition(intervals=[models.ScheduleInterval(every="PT10S")], jitter="PT1H"))
        nominal = [int(at.timestamp()) // 10 for at in self.times(own)]
        self.assertEqual(nominal, list(range(nominal[0], nominal[0] + 10)))

    async def test_max_executions(self):
        names, _ = await self.example("Max executions")
        own = self.create(names["schedule"])
        self.assertEqual(self.shown(own).remaining_executions, 4)
        times = self.times(own)
        self.assertEqual([(at.isoweekday(), at.hour, at.minute) for at in times], 4 * [(1, 9, 0)])
        self.assertEqual(times[3] - times[0], timedelta(weeks=3))
        own = self.create(self.definition(intervals=[models.ScheduleInterval(every="PT1S")], max_executions=2))
        await self.ended_runs(own, 2)
        self.assertEqual((self.shown(own).remaining_executions, self.shown(own).future_executions), (0, []))
        self.assertIsNone(self.shown(self.create(self.definition(**NEVER))).remaining_executions)


class Managing(MistralCase):
    def create_yours(self, **more):
        daily = models.ScheduleDefinition(input={"report_type": "daily"}, calendars=[models.ScheduleCalendar(
            hour=[models.ScheduleRange(start=9)])], policy=models.SchedulePolicy(overlap=3), **more)
        return self.create(daily, schedule_id="your-schedule-id")

    async def test_listing(self):
        self.create_yours()
        await self.cannot_hold("Listing schedules", AttributeError, "schedules")
        _, output = await self.example("Listing schedules", ("response.schedules", "response.result.schedules"))
        self.assertEqual(output, "your-schedule-id report-workflow\n")

    async def test_getting(self):
        self.create_yours()
        names, output = await self.example("Getting a schedule")
        self.assertEqual((names["schedule"].paused, len(names["schedule"].future_executions)), (False, 10))
        self.assertTrue(output.startswith("False [ScheduleFutureExecution(scheduled_at="))

    async def test_updating(self):
        own = self.create_yours(jitter="PT1S")
        before = self.shown(own)
        await self.example("Updating a schedule")
        after = self.shown(own)
        self.assertEqual({at.hour for at in self.times(own)}, {10})
        unset = lambda seen: {**seen.model_dump(), "calendars": None, "future_executions": None}
        self.assertEqual(unset(after), unset(before))
        self.assertNotEqual(after.calendars, before.calendars)

    async def test_pausing_and_resuming(self):
        self.create_yours()
        text = world["examples"]["Pausing and resuming"]
        pause, _ = text.split("# Resume")
        await self.example("Pausing and resuming", (text, pause))
        seen = self.shown("your-schedule-id")
        self.assertEqual((seen.paused, seen.note), (True, "Paused for maintenance"))
        await self.example("Pausing and resuming")
        seen = self.shown("your-schedule-id")
        self.assertEqual((seen.paused, seen.note), (False, "Maintenance complete"))

    async def test_deleting(self):
        self.create_yours()
        await self.example("Deleting a schedule")
        self.refused(404, "not found", self.schedules.get_schedule, schedule_id="your-schedule-id")

    async def test_triggering(self):
        definition = models.ScheduleDefinition(input={"waits": True}, **NEVER)
        own = self.create(definition, schedule_id="your-schedule-id")
        recent = lambda: self.shown(own).recent_executions

        async def is_running(count):
            return len(recent()) == count

        self.schedules.trigger_schedule(schedule_id=own)
        await eventually(lambda: is_running(1))
        self.schedules.trigger_schedule(schedule_id=own)  # dropped: the policy is SKIP, and a run is active

        async def is_skipped():
            return (await self.temporal.get_schedule_handle(own).describe()).info.num_actions_skipped_overlap == 1

        await eventually(is_skipped)
        self.assertEqual(len(recent()), 1)
        await self.cannot_hold("Triggering a run manually", AttributeError, "'Schedules' object has no attribute 'trigger'")
        await self.example("Triggering a run manually", (".trigger(", ".trigger_schedule("),
                           ("models.ScheduleOverlapPolicy.ALLOW_ALL", "6"))
        await eventually(lambda: is_running(2))
        for each in recent():
            self.client.workflows.executions.signal_workflow_execution(execution_id=each.execution_id, name="release")
        await self.ended_runs(own, 2)

    async def test_schedules_of_the_decorator(self):
        await self.cannot_hold("Deprecated: decorator-based schedules", ModuleNotFoundError, "mistralai.workflows")

    async def test_deployments(self):
        # Left out, it is the only one there is; with two it must be named.
        definition = self.definition(**NEVER)
        own = self.create(definition, deployment_name=None)
        self.assertEqual(self.shown(own).deployment_name, "production")
        await self.work_on("staging")
        execute = self.client.workflows.execute_workflow_async
        for queue in ("production", "staging"):
            await execute(workflow_identifier="report-workflow", deployment_name=queue, input={}, wait_for_result=True)
        self.refused(409, "production.*staging|staging.*production", self.create, schedule=definition, deployment_name=None)
        self.assertEqual(self.shown(self.create(definition, deployment_name="staging")).deployment_name, "staging")
        # A registration is named by the workflow and the deployment.
        (registration,) = [each for each in self.client.workflows.get_workflow_registrations(
            workflow_name="report-workflow").workflow_registrations if each.task_queue == "staging"]
        made = self.schedules.schedule_workflow(schedule=definition, workflow_registration_id=registration.id).schedule_id
        self.assertEqual(self.shown(made).deployment_name, "staging")
        self.schedules.unschedule_workflow(schedule_id=made)


class OtherCalls(MistralCase):
    async def test_executions(self):
        workflows, executions = self.client.workflows, self.client.workflows.executions
        name = fresh("execution")
        started = await workflows.execute_workflow_async(
            workflow_identifier="report-workflow", execution_id=name, deployment_name="production", input={"waits": True},
            traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        self.assertEqual((started.execution_id, started.status), (name, "RUNNING"))
        answer = await executions.update_workflow_execution_async(execution_id=name, name="note", input={"text": "first"})
        self.assertEqual(answer.result, 1)
        answer = await executions.query_workflow_execution_async(execution_id=name, name="notes_so_far")
        self.assertEqual(answer.result, ["first"])
        self.assertEqual(executions.get_workflow_execution(execution_id=name).status, "RUNNING")
        self.assertEqual(executions.signal_workflow_execution(execution_id=name, name="release").message, "Signal accepted")
        ended = await workflows.wait_for_workflow_completion_async(name, polling_interval=1)
        self.assertEqual(ended.result, {"waits": True, "notes": ["first"]})
        history = await self.temporal.get_workflow_handle(name).fetch_history()
        header = history.events[0].workflow_execution_started_event_attributes.header.fields
        self.assertEqual(header["traceparent"].data, b'"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"')
        shown = executions.get_workflow_execution_history(execution_id=name)
        self.assertEqual(len(shown["events"]), len(history.events))
        with executions.stream(execution_id=name) as stream:
            kinds = [event.data.data.event_type for event in stream]
        self.assertEqual((kinds[0], kinds[-1]), ("WORKFLOW_EXECUTION_STARTED", "WORKFLOW_EXECUTION_COMPLETED"))
        runs = workflows.runs.list_runs(search=name).result.executions
        self.assertEqual([each.execution_id for each in runs], [name])
        self.assertEqual(workflows.runs.get_run(run_id=runs[0].run_id).execution_id, name)
        result = await workflows.execute_workflow_and_wait_async(
            "report-workflow", input={"n": 1}, deployment_name="production", use_api_sync=True)
        self.assertEqual(result, {"n": 1})
        with self.assertRaises(errors.SDKError) as caught:
            await workflows.execute_workflow_async(workflow_identifier="report-workflow", deployment_name="production",
                                                   input={"fails": True}, wait_for_result=True)
        self.assertEqual(caught.exception.status_code, 424)

    async def test_ending_executions(self):
        workflows, executions = self.client.workflows, self.client.workflows.executions
        names = [fresh("ending") for _ in range(4)]
        for name in names:
            await workflows.execute_workflow_async(workflow_identifier="report-workflow", execution_id=name,
                                                   deployment_name="production", input={"waits": True})
        executions.cancel_workflow_execution(execution_id=names[0])
        executions.terminate_workflow_execution(execution_id=names[1])
        executions.batch_cancel_workflow_executions(execution_ids=[names[2]])
        answer = executions.batch_terminate_workflow_executions(execution_ids=[names[3], "nobody"])
        self.assertEqual({name: each.status for name, each in answer.results.items()},
                         {names[3]: "success", "nobody": "failure"})

        async def have_ended():
            found = [executions.get_workflow_execution(execution_id=name).status for name in names]
            return found if "RUNNING" not in found else None

        self.assertEqual(await eventually(have_ended), ["CANCELED", "TERMINATED", "CANCELED", "TERMINATED"])
        executions.reset_workflow(execution_id=names[1], event_id=4)
        self.assertEqual(executions.get_workflow_execution(execution_id=names[1]).status, "RUNNING")
        executions.terminate_workflow_execution(execution_id=names[1])

    async def test_workflows_and_deployments(self):
        workflows = self.client.workflows
        await workflows.execute_workflow_async(workflow_identifier="report-workflow", deployment_name="production", input={},
                                               wait_for_result=True)
        found = workflows.get_workflows().result.workflows
        self.assertEqual([each.name for each in found], ["report-workflow"])
        self.assertEqual(workflows.get_workflow(workflow_identifier="report-workflow").workflow.name, "report-workflow")
        self.assertEqual(workflows.get_workflow_registrations(workflow_name="report").workflow_registrations, [])
        self.assertEqual(workflows.get_workflow_registration(
            workflow_registration_id="report-workflow@production").workflow_registration.task_queue, "production")
        deployment = workflows.deployments.get_deployment(name="production")
        self.assertEqual((deployment.name, deployment.is_active), ("production", True))
        self.assertTrue(workflows.deployments.list_deployment_workers(name="production").workers)
        self.assertIn("production", [each.name for each in workflows.deployments.list_deployments().deployments])
        self.assertGreaterEqual(workflows.metrics.get_workflow_metrics(workflow_name="report-workflow").execution_count.value, 1)
        for filter in ({"owner": "me"}, {"repository_url": "x"}, {"dockerfile_path": "x"}):
            with self.assertRaises(errors.HTTPValidationError) as caught:
                workflows.deployments.list_deployments(**filter)
            self.assertEqual([each.type for each in caught.exception.data.detail], ["unsupported"])

    async def test_what_has_no_counterpart_says_so(self):
        workflows, deployments = self.client.workflows, self.client.workflows.deployments
        self.refused(501, "addWorkflowTags", workflows.add_workflow_tags, workflow_identifier="report-workflow", tags=["a"])
        self.refused(501, "getDeploymentArchive", deployments.get_deployment_archive, name="production")
        self.refused(501, "unhardenDeployment", deployments.unharden_deployment, deployment_id=str(uuid.uuid4()))
        self.refused(501, "archiveWorkflow", workflows.archive_workflow, workflow_identifier="report-workflow")

    async def test_every_call_of_the_client_has_its_row(self):
        shape = lambda path: re.sub(r"\{\w+\}", "{}", path.partition("#")[0])
        with open(os.path.join(ROOT, "src", "mistral", "routes.def"), encoding="utf-8") as routes:
            rows = re.findall(r'^ROUTE\(\w+, +(\w+), +"([^"]+)"', routes.read(), re.M)
        calls = set()
        for path in glob.glob(os.path.join(os.path.dirname(mistralai.client.__file__), "*.py")):
            with open(path, encoding="utf-8") as text:
                calls |= set(re.findall(r'method="(\w+)",\s+path="(/v1/workflows[^"]*)"', text.read()))
        self.assertGreater(len(calls), 50)
        self.assertEqual({(verb, shape(path)) for verb, path in rows}, {(verb, shape(path)) for verb, path in calls})


class ZAfterwards(unittest.IsolatedAsyncioTestCase):
    async def test_every_example_was_run(self):
        self.assertEqual(world["left"], set())
        self.assertEqual(len(world["examples"]), 17)

    async def test_every_history_fits_the_code_that_wrote_it(self):
        client = await Client.connect(world["server"].address)
        replayed = 0
        histories = client.list_workflows().map_histories()
        async with Replayer(workflows=[Report]).workflow_replay_iterator(histories) as results:
            async for result in results:
                replayed += 1
                self.assertIsNone(result.replay_failure, f"{result.history.workflow_id}: {result.replay_failure}")
        self.assertGreater(replayed, 10)
        print(f"replayed {replayed} histories")


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
