"""A large table on a small cluster: two workers of one core each, beside one process of two threads and a bare read.

    python bench/spark_scale.py [ROWS]        20 million unless given; `make spark-scale`

The table has 51 features in single precision and is chosen from for ten promotions. It is written to target/spark/scale
once. All times are of one run, each thing once after the page cache is warm. "A bare read" is a `mapInArrow` that counts
the rows of the same columns and nothing else. The memory of an executor is its peak (VmHWM) with its Python workers.
"""

from __future__ import annotations

import json
import logging
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python" / "spark_tests"))

import armwise as aw  # noqa: E402
import armwise.spark as aws  # noqa: E402
import conftest  # noqa: E402
from armwise import parts  # noqa: E402

D, BLOCKS, FILES = 51, 10, 16
FEATURES = [f"x{column}" for column in range(D)]


def write_table(folder: pathlib.Path, rows: int) -> None:
    if (folder / "ready").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    each = rows // FILES
    for number in range(FILES):
        draw = np.random.default_rng(number)
        with pq.ParquetWriter(folder / f"part-{number:03}.parquet", schema()) as writer:
            for first in range(0, each, 250_000):
                count = min(250_000, each - first)
                start = number * each + first
                columns = [
                    pa.array(np.arange(start, start + count)),
                    *(pa.array(draw.standard_normal(count, np.float32)) for _ in FEATURES),
                ]
                writer.write_table(pa.table(columns, schema=schema()))
    (folder / "ready").touch()


def schema() -> pa.Schema:
    return pa.schema([("customer", pa.int64()), *((name, pa.float32()) for name in FEATURES)])


def policy() -> aw.Policy:
    draw = np.random.default_rng(1)
    made = aw.ArmWiseTS(blocks=BLOCKS, seed=7)
    x = pa.table(list(draw.standard_normal((D, 5_000), np.float32)), names=FEATURES)
    return made.partial_fit(x, draw.random(5_000), blocks=draw.integers(0, BLOCKS, 5_000), features=FEATURES)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.monotonic()
    made = work()
    return time.monotonic() - began, made


def counting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"rows": pa.array([sum(batch.num_rows for batch in batches)], pa.int64())})


def peaks(cluster: conftest.Cluster) -> list[int]:
    """The peak memory of each executor with its Python workers, in MB."""
    every = []
    for executor in cluster.executors():
        family, total = [str(executor)], 0
        while family:
            number = family.pop()
            status = pathlib.Path(f"/proc/{number}/status").read_text()
            total += int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
            children = subprocess.run(["pgrep", "-P", number], capture_output=True, text=True)
            family += children.stdout.split()
        every.append(total // 1024)
    return every


def alone(folder: pathlib.Path, constraint: aw.Assignment, floors: Any = None) -> aw.Decision:
    """One process of two threads, which reads the same files in batches."""
    choice = parts.Choice.of(policy(), ids="customer", features=FEATURES, constraint=constraint, t=1)
    files = sorted(folder.glob("*.parquet"))
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    sample = pa.concat_tables([pq.ParquetFile(file).read_row_group(0).slice(0, aws.SAMPLE // FILES) for file in files])
    choice = choice.guess(sample, sample.num_rows / rows)

    def batches() -> Iterator[pa.RecordBatch]:
        for file in files:
            yield from pq.ParquetFile(file).iter_batches(1 << 16)

    decision = None
    while decision is None:
        decision, choice = choice.decide([choice.candidates(batches())])
    return decision


def main() -> None:
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 20_000_000
    folder = ROOT / "target" / "spark" / f"scale-{rows}"
    write_table(folder, rows)
    constraint = aw.Assignment(quotas=[rows // 2_000] * BLOCKS)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("armwise.spark").setLevel(logging.INFO)
    aw.set_threads(2)
    one, expected = timed(lambda: alone(folder, constraint))
    with tempfile.TemporaryDirectory() as scratch:
        cluster = conftest.Cluster(pathlib.Path(scratch), memory="3g")
        try:
            spark = conftest.session(cluster, memory="1500m")
            df = spark.read.parquet(str(folder))
            df.mapInArrow(counting, "rows bigint").collect()
            read, counted = timed(lambda: df.mapInArrow(counting, "rows bigint").collect())
            assert sum(row["rows"] for row in counted) == len(range(rows // FILES)) * FILES
            given: dict[str, Any] = {"id": "customer", "features": FEATURES, "constraint": constraint, "round": 1}
            chosen, found = timed(lambda: aws.decide(policy(), df, unique=True, **given))
            checked, _ = timed(lambda: aws.decide(policy(), df, **given))
            memory = peaks(cluster)
            spark.stop()
        finally:
            cluster.stop()
    assert found.ids.tolist() == expected.ids.tolist() and found.scores.tobytes() == expected.scores.tobytes()
    print(
        json.dumps(
            {
                "rows": rows,
                "features": D,
                "promotions": BLOCKS,
                "sends": len(found),
                "seconds_one_process_two_threads": round(one, 1),
                "seconds_bare_read": round(read, 1),
                "seconds_choose": round(chosen, 1),
                "seconds_choose_with_duplicates_searched": round(checked, 1),
                "choose_to_bare_read": round(chosen / read, 2),
                "executor_peak_mb": memory,
                "driver_peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
