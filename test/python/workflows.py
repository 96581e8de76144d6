"""The workflows and activities of temporal_test.py. The replayer runs the same code against every history."""
import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, List, Optional, Sequence

from temporalio import activity, workflow
from temporalio.common import RawValue, RetryPolicy, SearchAttributeKey
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError, ChildWorkflowError, FailureError

SECOND = timedelta(seconds=1)
QUICK = RetryPolicy(initial_interval=timedelta(milliseconds=50), backoff_coefficient=1.0)
COLOR = SearchAttributeKey.for_keyword("PythonColor")
SIZE = SearchAttributeKey.for_int("PythonSize")


@dataclass
class Greeting:
    text: str
    attempt: int


@activity.defn
async def greet(name: str, fails: int) -> Greeting:
    """Succeeds when it has failed as often as it should."""
    attempt = activity.info().attempt
    if attempt <= fails:
        raise ApplicationError(f"attempt {attempt} fails", attempt, type="NotYet")
    return Greeting(f"Hello, {name}!", attempt)


@activity.defn
async def refuse(reason: str) -> None:
    raise ApplicationError(reason, {"why": reason}, type="Refused", non_retryable=True)


@activity.defn
async def count_up(limit: int) -> List[int]:
    """Counts in heartbeats; the first attempt ends in the middle, and the next goes on from there."""
    reached = list(activity.info().heartbeat_details)
    start = reached[0] if reached else 0
    seen = []
    for number in range(start + 1, limit + 1):
        seen.append(number)
        activity.heartbeat(number)
        if activity.info().attempt == 1 and number == limit // 2:
            raise ApplicationError("in the middle")
    return seen


@activity.defn
async def hang() -> str:
    """Beats until it is told to stop."""
    try:
        while True:
            activity.heartbeat()
            await asyncio.sleep(0.05)
    except asyncio.CancelledError:
        activity.heartbeat("was told")
        raise


@activity.defn
async def answer_later() -> str:
    activity.raise_complete_async()


@activity.defn
async def note(text: str) -> str:
    return f"noted: {text}"


ACTIVITIES = [greet, refuse, count_up, hang, answer_later, note]


@workflow.defn
class Hello:
    @workflow.run
    async def run(self, name: str, fails: int) -> Greeting:
        return await workflow.execute_activity(greet, args=[name, fails], start_to_close_timeout=60 * SECOND,
                                               retry_policy=QUICK)


@workflow.defn
class Failures:
    @workflow.run
    async def run(self, how: str) -> str:
        if how == "activity":
            await workflow.execute_activity(refuse, "no such order", start_to_close_timeout=60 * SECOND)
        if how == "exhausted":
            await workflow.execute_activity(
                greet, args=["nobody", 9], start_to_close_timeout=60 * SECOND,
                retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=20), maximum_attempts=3))
        if how == "timeout":
            await workflow.execute_activity(answer_later, start_to_close_timeout=timedelta(milliseconds=300),
                                            retry_policy=RetryPolicy(maximum_attempts=1))
        raise ApplicationError("itself", 7, type="Own")


@workflow.defn
class Counting:
    @workflow.run
    async def run(self, limit: int) -> List[int]:
        return await workflow.execute_activity(count_up, limit, start_to_close_timeout=60 * SECOND,
                                               heartbeat_timeout=30 * SECOND, retry_policy=QUICK)


@workflow.defn
class Later:
    @workflow.run
    async def run(self) -> str:
        return await workflow.execute_activity(answer_later, activity_id="later", start_to_close_timeout=60 * SECOND)


@workflow.defn
class Timers:
    """Three timers at once, one of which is cancelled, and a condition that nobody fulfils."""

    @workflow.run
    async def run(self, delay_ms: int) -> List[str]:
        delay = delay_ms / 1000
        order: List[str] = []

        async def fire(name: str, seconds: float) -> None:
            await workflow.sleep(seconds)
            order.append(name)

        long = asyncio.create_task(fire("never", 3600))
        await asyncio.gather(fire("second", 2 * delay), fire("first", delay))
        long.cancel()
        try:
            await workflow.wait_condition(lambda: "never" in order, timeout=delay)
        except asyncio.TimeoutError:
            order.append("timed out")
        return order


@workflow.defn
class Account:
    """Signals, queries and updates, until it is closed."""

    @workflow.init
    def __init__(self, opening: int) -> None:
        self.balance = opening
        self.log: List[str] = []
        self.is_closed = False

    @workflow.run
    async def run(self, opening: int) -> List[str]:
        await workflow.wait_condition(lambda: self.is_closed and workflow.all_handlers_finished())
        return self.log

    @workflow.signal
    def deposit(self, amount: int) -> None:
        self.balance += amount
        self.log.append(f"deposit {amount}")

    @workflow.signal
    async def close(self) -> None:
        self.is_closed = True

    @workflow.signal(dynamic=True)
    def other(self, name: str, args: Sequence[RawValue]) -> None:
        self.log.append(f"{name} {len(args)}")

    @workflow.query
    def balance_of(self, currency: str) -> str:
        return f"{self.balance} {currency}"

    @workflow.query
    def broken(self) -> str:
        raise RuntimeError("cannot say")

    @workflow.update
    async def withdraw(self, amount: int) -> int:
        await workflow.execute_activity(note, f"withdraw {amount}", start_to_close_timeout=60 * SECOND)
        self.balance -= amount
        self.log.append(f"withdraw {amount}")
        return self.balance

    @withdraw.validator
    def check_withdraw(self, amount: int) -> None:
        if amount > self.balance:
            raise ApplicationError(f"only {self.balance} there", type="TooMuch")

    @workflow.update
    async def lose(self) -> None:
        raise ApplicationError("lost", type="Lost")

    @workflow.update
    async def wait_for(self, balance: int) -> int:
        await workflow.wait_condition(lambda: self.balance >= balance)
        return self.balance


@workflow.defn
class Child:
    def __init__(self) -> None:
        self.word: Optional[str] = None

    @workflow.run
    async def run(self, what: str) -> str:
        if what == "fail":
            raise ApplicationError("the child fails", type="ChildFailed")
        if what == "wait":
            await workflow.wait_condition(lambda: self.word is not None)
            return f"{workflow.info().parent.workflow_id if workflow.info().parent else None}: {self.word}"
        if what == "sleep":
            await workflow.sleep(3600)
        return f"child {what}"

    @workflow.signal
    def say(self, word: str) -> None:
        self.word = word


@workflow.defn
class Parent:
    @workflow.run
    async def run(self, how: str) -> List[str]:
        own = workflow.info().workflow_id
        if how == "abandon":
            await workflow.start_child_workflow(Child.run, "wait", id=f"{own}/abandoned",
                                                parent_close_policy=workflow.ParentClosePolicy.ABANDON)
            await workflow.start_child_workflow(Child.run, "sleep", id=f"{own}/terminated",
                                                parent_close_policy=workflow.ParentClosePolicy.TERMINATE)
            await workflow.start_child_workflow(Child.run, "sleep", id=f"{own}/cancelled",
                                                parent_close_policy=workflow.ParentClosePolicy.REQUEST_CANCEL)
            return []
        told = await workflow.start_child_workflow(Child.run, "wait", id=f"{own}/told")
        await told.signal(Child.say, "from inside")
        results = [await told]
        results += await asyncio.gather(*[workflow.execute_child_workflow(Child.run, str(i)) for i in range(3)])
        try:
            await workflow.execute_child_workflow(Child.run, "fail")
        except ChildWorkflowError as error:
            results.append(f"{error.cause.type}: {error.cause.message}")
        sleeping = await workflow.start_child_workflow(Child.run, "sleep", id=f"{own}/sleeping")
        sleeping.cancel()
        try:
            await sleeping
        except (ChildWorkflowError, CancelledError) as error:
            results.append(type(error.cause or error).__name__)
        return results


@workflow.defn
class Chain:
    """Continues as new until nothing is left."""

    @workflow.run
    async def run(self, left: int, runs: List[str]) -> List[str]:
        runs = runs + [workflow.info().run_id]
        if left > 0:
            workflow.continue_as_new(args=[left - 1, runs])
        return runs


@workflow.defn
class Cancelled:
    """Hangs in an activity, and when it is cancelled cleans up with another one."""

    @workflow.run
    async def run(self) -> str:
        try:
            return await workflow.execute_activity(
                hang, start_to_close_timeout=600 * SECOND, heartbeat_timeout=30 * SECOND,
                cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED)
        except ActivityError as error:
            cause = type(error.cause).__name__
            cleaned = await asyncio.shield(
                workflow.execute_activity(note, "cleaned up", start_to_close_timeout=60 * SECOND))
            raise ApplicationError(f"{cause}, {cleaned}", type="Cleaned", non_retryable=True)


@workflow.defn
class Forever:
    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: False)


@workflow.defn
class Attributes:
    """Changes what it was started with."""

    def __init__(self) -> None:
        self.is_closed = False

    @workflow.run
    async def run(self) -> List[Any]:
        attributes = workflow.info().typed_search_attributes
        before = [attributes[COLOR], attributes[SIZE], dict(workflow.memo())]
        workflow.upsert_search_attributes([COLOR.value_set("blue"), SIZE.value_set(attributes[SIZE] + 1)])
        workflow.upsert_memo({"changed": [1, 2], "dropped": None})
        await workflow.wait_condition(lambda: self.is_closed)
        return [*before, dict(workflow.memo())]

    @workflow.signal
    def close(self) -> None:
        self.is_closed = True


@workflow.defn
class Local:
    """Local activities: one that is retried, one that fails, several at once."""

    @workflow.run
    async def run(self) -> List[Any]:
        first = await workflow.execute_local_activity(greet, args=["Local", 2], start_to_close_timeout=60 * SECOND,
                                                      retry_policy=QUICK)
        results: List[Any] = [first.text, first.attempt]
        results += await asyncio.gather(*[
            workflow.execute_local_activity(note, str(i), start_to_close_timeout=60 * SECOND) for i in range(3)])
        try:
            await workflow.execute_local_activity(refuse, "locally", start_to_close_timeout=60 * SECOND)
        except FailureError as error:  # of the activity, or what the activity raised
            results.append((error.cause or error).message)
        return results


@workflow.defn
class Deterministic:
    """What must be the same in a replay: time, random numbers, ids, patches."""

    @workflow.run
    async def run(self) -> List[Any]:
        before = workflow.now()
        await workflow.sleep(0.01)
        if workflow.patched("better"):
            await workflow.execute_local_activity(note, "patched", start_to_close_timeout=60 * SECOND)
        workflow.deprecate_patch("oldest")
        return [workflow.random().randint(0, 10**9), str(workflow.uuid4()), workflow.now() > before]


@workflow.defn
class Scheduled:
    @workflow.run
    async def run(self, word: str) -> List[Any]:
        by = workflow.info().typed_search_attributes
        return [word, by.get(SearchAttributeKey.for_keyword("TemporalScheduledById"))]


WORKFLOWS = [Hello, Failures, Counting, Later, Timers, Account, Child, Parent, Chain, Cancelled, Forever, Attributes,
             Local, Deterministic, Scheduled]
