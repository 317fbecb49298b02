"""A campaign on a cluster: rounds are those that the same campaign chooses from the same table on one machine."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import armwise as aw
import armwise.spark as aws

RULES: dict[str, Any] = {
    "customer": "customer",
    "segment": "region",
    # A probability depends on everybody, and only candidates leave the cluster.
    "probabilities": "never",
    "limits": {"hold_out": 0.2, "rest": 1},
    "promotion": [{"name": "mail", "quota": 40}, {"name": "call", "quota": {"max": 20}, "eligible": "may_call"}],
}


def customers(rows: int = 2_000) -> pd.DataFrame:
    draw = np.random.default_rng(3)
    age = pd.Series(draw.integers(18, 90, rows)).astype("float64")
    age[draw.random(rows) < 0.1] = None
    return pd.DataFrame(
        {
            "customer": [f"C{row:05}" for row in range(rows)],
            "age": age,
            "income": draw.normal(3_000, 900, rows),
            "region": draw.choice(["north", "south", "åland"], rows),
            "may_call": draw.random(rows) < 0.6,
        }
    )


def test_a_campaign_goes_on_as_ever(spark: SparkSession, tmp_path: pathlib.Path) -> None:
    table = customers()
    # pandas tells a missing number by NaN, Spark and Arrow by null.
    rows = pa.Table.from_pandas(table, preserve_index=False)
    far, alone = str(tmp_path / "far.armwise"), str(tmp_path / "alone.armwise")
    aw.Campaign.init(alone, rows, rules=RULES)
    pathlib.Path(far).write_bytes(pathlib.Path(alone).read_bytes())
    df = spark.createDataFrame(rows).repartition(6)
    for week in (1, 2, 3):
        sends = aws.choose(campaign=far, df=df, key=f"week-{week}")
        expected = aw.Campaign.open(alone).choose(rows, key=f"week-{week}")
        left = pa.Table.from_pylist([row.asDict() for row in sends.collect()]).sort_by("decision").to_pylist()
        assert left == expected.sends.to_arrow().sort_by("decision").to_pylist()
        answers = [{"decision": row["decision"], "reward": float(hash(row["decision"][-4:]) % 3)} for row in left]
        for path in (far, alone):
            aw.Campaign.open(path).learn(pa.Table.from_pylist(answers))
    status = [aw.Campaign.open(path).status() for path in (far, alone)]
    assert status[0]["model"] == status[1]["model"]
    assert (
        [r["customers"] for r in status[0]["rounds"]] == [len(table)] * 3
        if "customers" in status[0]["rounds"][0]
        else True
    )
    assert aw.Campaign.open(far).verify()
    # The same request again is the same round, whatever the order of the rows.
    again = aws.choose(campaign=far, df=df.orderBy("income"), key="week-3")
    assert sorted(row["decision"] for row in again.collect()) == sorted(row["decision"] for row in left)
    assert len(aw.Campaign.open(far).status()["rounds"]) == 3


def test_bad_tables_are_the_same_errors_and_write_nothing(spark: SparkSession, tmp_path: pathlib.Path) -> None:
    rows = pa.Table.from_pandas(customers(500), preserve_index=False)
    path = tmp_path / "c.armwise"
    aw.Campaign.init(str(path), rows, rules=RULES)
    before = aw.Campaign.open(str(path)).status()
    df = spark.createDataFrame(rows).repartition(3)
    one = f.col("customer") == "C00077"
    for bad, text in [
        (
            df.withColumn("income", f.when(one, float("inf")).otherwise(f.col("income"))),
            r"partition \d+: .*row \d+.*income",
        ),
        (df.withColumn("income", f.lit("much")), r"partition \d+: .*income"),
        (df.drop("age"), "no column 'age'"),
        (df.union(df.where(one)), "'C00077' appears in 2 rows"),
        (df.withColumn("customer", f.when(~one, f.col("customer"))), "an id is missing"),
        (df.where("false"), "no rows"),
    ]:
        with pytest.raises(aw.InputError, match=text):
            aws.choose(campaign=str(path), df=bad)
    assert aw.Campaign.open(str(path)).status() == before
    with pytest.raises(TypeError, match="its own rules"):
        aws.choose(campaign=str(path), df=df, k=3)
