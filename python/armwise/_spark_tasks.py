"""What runs on the executors of Spark: one row for each partition, with what was found there or why nothing was."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _armwise
from .parts import Choice, Kept

if TYPE_CHECKING:
    import pyarrow

#: What a task gives: one row.
SCHEMA = "partition int, found binary, error string"


class Task:
    """Works on a partition, and gives one row: what was found, or why nothing was."""

    def find(self, partition: int, batches: Iterator[pyarrow.RecordBatch]) -> Any:
        """What is found in a partition; it must pickle."""
        raise NotImplementedError

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = -1 if context is None else context.partitionId()
        found, error = None, None
        try:
            found = pickle.dumps(self.find(partition, batches), protocol=5)
        except (TypeError, ValueError, KeyError) as problem:
            notes = getattr(problem, "__notes__", [])
            error = "; ".join([str(problem.args[0]) if problem.args else str(problem), *notes])
        line = {
            "partition": pyarrow.array([partition], pyarrow.int32()),
            "found": pyarrow.array([found], pyarrow.binary()),
            "error": pyarrow.array([error], pyarrow.string()),
        }
        yield pyarrow.RecordBatch.from_pydict(line)


class PolicyTask(Task):
    """Gives the candidates of a partition."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice

    def find(self, partition: int, batches: Iterator[pyarrow.RecordBatch]) -> Kept:
        return self.choice.candidates(batches)


class CampaignTask(Task):
    """Gives the rows of a partition that a campaign may choose, as an Arrow stream, and what is known of the others."""

    def __init__(self, plan: str) -> None:
        self.plan = plan

    def find(self, partition: int, batches: Iterator[pyarrow.RecordBatch]) -> tuple[bytes | None, str]:
        import pyarrow

        found, counts = _armwise.campaign_candidates(self.plan, "the table", map(as_table, batches))
        if found is None:
            return None, counts
        rows = pyarrow.RecordBatchReader._import_from_c_capsule(found).read_all()
        sink = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows)
        return sink.getvalue().to_pybytes(), counts


def as_table(batch: pyarrow.RecordBatch) -> pyarrow.Table:
    import pyarrow

    return pyarrow.Table.from_batches([batch])
