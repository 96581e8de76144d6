"""The workflow of mistral_test.py, in a file of its own for the sandbox of the SDK."""
from temporalio import workflow
from temporalio.exceptions import ApplicationError


@workflow.defn(name="report-workflow")
class Report:
    """Gives its input back; before that it waits for a signal, if asked to."""

    def __init__(self) -> None:
        self.notes: list = []
        self.is_released = False

    @workflow.run
    async def run(self, report: dict) -> dict:
        if report.get("fails"):
            raise ApplicationError("no report", type="NoReport")
        await workflow.wait_condition(lambda: self.is_released or not report.get("waits"))
        return {**report, "notes": self.notes} if self.notes else report

    @workflow.signal
    def release(self) -> None:
        self.is_released = True

    @workflow.query
    def notes_so_far(self) -> list:
        return self.notes

    @workflow.update
    def note(self, note: dict) -> int:
        self.notes.append(note["text"])
        return len(self.notes)
