"""A worker that dies in the middle of a choice: the answer is the same."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pandas as pd
from conftest import Cluster
from pyspark.sql import SparkSession

import armwise as aw
import armwise.spark as aws


def test_an_executor_killed_in_the_middle_changes_nothing(spark: SparkSession, cluster: Cluster) -> None:
    draw = np.random.default_rng(2)
    table = pd.DataFrame(draw.normal(size=(20_000, 3)), columns=["a", "b", "c"]).assign(id=range(20_000))

    def slowly(batches: Any) -> Any:
        for batch in batches:
            time.sleep(1.0)
            yield batch

    df = spark.createDataFrame(table).repartition(8)
    slow = df.mapInArrow(slowly, df.schema)
    given: dict[str, Any] = {"id": "id", "features": ["a", "b", "c"], "k": 50, "round": 4, "unique": True}
    expected = aw.ArmWiseTS(seed=3).choose(table, ids="id", features=["a", "b", "c"], k=50, t=4)
    found: list[aw.Decision] = []
    choosing = threading.Thread(target=lambda: found.append(aws.decide(aw.ArmWiseTS(seed=3), slow, **given)))
    choosing.start()
    time.sleep(3.5)
    assert choosing.is_alive(), "it was killed in the middle, not after it"
    assert cluster.kill_an_executor()
    choosing.join(120)
    assert found[0].ids.tolist() == expected.ids.tolist()
    assert found[0].scores.tobytes() == expected.scores.tobytes()
