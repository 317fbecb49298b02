"""Decisions and models on a cluster of two workers against one machine, to the bit."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import armwise as aw
import armwise.spark as aws

N, D = 3_000, 4
FEATURES = [f"x{column}" for column in range(D)]


def customers(rows: int = N, seed: int = 1) -> pd.DataFrame:
    """Half of the customers are copies of each other, so that scores tie."""
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(rows, D))
    x[: rows // 2] = x[0]
    made = pd.DataFrame(dict(zip(FEATURES, x.T, strict=True)))
    made["customer"] = draw.permutation(10 * rows)[:rows]
    made["name"] = [f"Käthe-{number}" for number in made["customer"]]
    made["cost"] = draw.integers(1, 5, rows).astype(float)
    made["region"] = draw.choice(["north", "south", "åland"], rows)
    made["zone"] = (made["region"] == "north") * 2.0 + draw.integers(0, 2, rows)
    made["may"] = draw.random(rows) < 0.8
    made["may_a"], made["may_b"] = draw.random(rows) < 0.7, draw.random(rows) < 0.7
    return made


def learned(blocks: int, ties: str = "by-id", policy: Any = aw.ArmWiseTS) -> aw.Policy:
    made = policy(blocks=blocks, seed=11, ties=ties)
    draw = np.random.default_rng(5)
    x = pd.DataFrame(draw.normal(size=(200, D)), columns=FEATURES)
    return made.partial_fit(x, draw.normal(size=200), blocks=draw.integers(0, blocks, 200))  # type: ignore[no-any-return]


def same(found: aw.Decision, expected: aw.Decision) -> None:
    assert found.ids.tolist() == expected.ids.tolist()
    for name in ("blocks", "scores", "means", "widths", "draws", "features"):
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name
    assert (found.objective, found.status, found.t) == (expected.objective, expected.status, expected.t)


def spread(spark: SparkSession, table: pd.DataFrame, partitions: int) -> DataFrame:
    return spark.createDataFrame(table).repartition(partitions)


CASES: dict[str, tuple[int, dict[str, Any]]] = {
    "the best": (1, {"k": 40}),
    "the best of the eligible": (1, {"k": 40, "eligible": "may"}),
    "assignment": (2, {"constraint": aw.Assignment(quotas=[30, 20])}),
    "assignment, eligible by block": (
        2,
        {"constraint": aw.Assignment(quotas=[30, 20]), "eligible": ["may_a", "may_b"]},
    ),
    "assignment with a budget": (2, {"constraint": aw.Assignment(quotas=[30, 20], cost="cost", budget=90)}),
    "quotas by a name": (1, {"constraint": aw.Quotas(k=40, groups=[aw.Group("region", value="åland", min=20)])}),
    "quotas by number": (1, {"constraint": aw.Quotas(k=40, groups=[aw.Group("zone", max=12)]), "eligible": "may"}),
    "budget": (1, {"constraint": aw.Budget(cost="cost", budget=60, k=40)}),
    "linear": (1, {"constraint": aw.Linear([aw.LinearRow(every=1, hi=9), aw.LinearRow(column="cost", hi=20)])}),
}


@pytest.mark.parametrize("case", CASES)
def test_every_constraint_is_decided_as_on_one_machine(spark: SparkSession, case: str) -> None:
    blocks, given = CASES[case]
    table = customers(300 if case == "linear" else N)
    flags = given.get("eligible")
    alone = given | ({"eligible": table[flags].to_numpy()} if isinstance(flags, list) else {})
    expected = learned(blocks).choose(table, ids="customer", features=FEATURES, t=12, **alone)
    found = aws.decide(learned(blocks), spread(spark, table, 7), id="customer", features=FEATURES, round=12, **given)
    same(found, expected)


@pytest.mark.parametrize("ties", ["by-id", "random"])
@pytest.mark.parametrize("partitions", [1, 64])
@pytest.mark.parametrize("ids", ["customer", "name"])
def test_partitions_order_and_ids_change_nothing(spark: SparkSession, ties: str, partitions: int, ids: str) -> None:
    table = customers()
    # Greedy scores tie; half of the rows are equal.
    expected = learned(2, ties, aw.Greedy).choose(
        table, ids=ids, features=FEATURES, constraint=aw.Assignment(quotas=[30, 20]), t=3
    )
    mixed = table.sample(frac=1.0, random_state=4)
    found = aws.decide(
        learned(2, ties, aw.Greedy),
        spread(spark, mixed, partitions),
        id=ids,
        features=FEATURES,
        constraint=aw.Assignment(quotas=[30, 20]),
        round=3,
    )
    same(found, expected)


def test_a_guess_from_a_sample_prunes_and_a_wrong_one_costs_a_second_pass(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = customers(20_000)
    table.loc[: len(table) // 2, FEATURES] = np.random.default_rng(9).normal(size=(len(table) // 2 + 1, D))
    expected = learned(1).choose(table, k=100, ids="customer", features=FEATURES, t=5)
    monkeypatch.setattr(aws, "SAMPLE", 2_000)
    caplog.set_level(logging.INFO, logger="armwise.spark")
    df = spread(spark, table, 4)
    same(aws.decide(learned(1), df, id="customer", features=FEATURES, k=100, round=5), expected)
    told = [record.getMessage() for record in caplog.records]
    assert any("a sample of" in text for text in told)
    candidates = next(int(text.split()[5]) for text in told if "candidates" in text)
    assert candidates < 1_000, "without the guess, four partitions give at least 400 and up to 8,000"

    guess = aws.Choice.guess
    monkeypatch.setattr(aws.Choice, "guess", lambda choice, sample, share: guess(choice, sample, share / 50))
    caplog.clear()
    same(aws.decide(learned(1), df, id="customer", features=FEATURES, k=100, round=5), expected)
    assert any("once more" in record.getMessage() for record in caplog.records)


def test_what_is_learned_is_the_model_of_one_machine_to_the_bit(spark: SparkSession) -> None:
    table, constraint = customers(), aw.Assignment(quotas=[30, 20])
    alone, far = learned(2), learned(2)
    df = spread(spark, table, 5)
    for t in (12, 13):
        sends = aws.choose(far, df, id="name", features=FEATURES, constraint=constraint, round=t).cache()
        assert sends.columns[:4] == ["decision", "round", "name", "block"]
        paid = sends.select("decision", (f.abs(f.hash("decision")) % 7).cast("double").alias("reward"))
        rewards = {row["decision"]: row["reward"] for row in paid.collect()}
        decision = alone.choose(table, ids="name", features=FEATURES, constraint=constraint, t=t)
        numbers = range(1, len(decision) + 1)
        # Half of the rewards come now, the others later: each half in the order of the decisions.
        for half in (0, 1):
            answered = paid.where(f.substring_index("decision", "-", -1).cast("int") % 2 == half)
            far = aws.learn(far, sends.join(answered, "decision", "left").repartition(9))
            some = [number for number in numbers if number % 2 == half]
            keys = [(decision.ids[number - 1], int(decision.blocks[number - 1])) for number in some]
            alone.learn(decision, {key: rewards[f"r{t}-{number}"] for key, number in zip(keys, some, strict=True)})
    assert far._text() == alone._text()


def test_features_in_one_column_of_arrays(spark: SparkSession) -> None:
    table = customers()
    df = spark.createDataFrame(table).select("customer", f.array(*FEATURES).alias("x")).repartition(3)
    x = table[FEATURES].to_numpy()
    expected = aw.ArmWiseTS(seed=2).choose(x, k=9, ids=table["customer"])
    same(aws.decide(aw.ArmWiseTS(seed=2), df, id="customer", features="x", k=9), expected)
    short = df.withColumn(
        "x", f.when(f.col("customer") == int(table["customer"][7]), f.array(f.lit(1.0))).otherwise(f.col("x"))
    )
    with pytest.raises(ValueError, match="of 1 numbers, expected 4"):
        aws.decide(aw.ArmWiseTS(seed=2), short, id="customer", features="x", k=9)


def test_bad_tables_are_refused_with_their_place(spark: SparkSession) -> None:
    table = customers(500)
    given: dict[str, Any] = {"id": "customer", "features": FEATURES, "k": 5}

    def refused(table: DataFrame, error: type[Exception], text: str, **other: Any) -> None:
        policy = learned(1)
        with pytest.raises(error, match=text):
            aws.choose(policy, table, **(given | other))
        assert policy.t_ == learned(1).t_, "nothing has happened"

    df = spread(spark, table, 3)
    at = int(table["customer"][77])
    refused(
        df.withColumn("x2", f.when(f.col("customer") == at, float("nan")).otherwise(f.col("x2"))),
        ValueError,
        r"partition \d+: .*column 2",
    )
    refused(
        df.withColumn("x2", f.when(f.col("customer") == at, None).otherwise(f.col("x2"))),
        ValueError,
        r"partition \d+: .*row \d+, column 2",
    )
    refused(df.union(df.where(f.col("customer") == at)), ValueError, f"id {at} appears in 2 rows")
    refused(
        df.withColumn("customer", f.when(f.col("customer") == at, None).otherwise(f.col("customer"))),
        ValueError,
        "an id is missing",
    )
    refused(df.withColumn("x1", f.col("x1").cast("string")), ValueError, r'partition \d+: column "x1" is of type Utf8')
    refused(df, KeyError, "no column 'age'", features=["age", *FEATURES[1:]])
    refused(df, ValueError, "k|501", k=501)
    refused(df.withColumn("customer", -f.col("customer") - 1), ValueError, "must not be negative")
    refused(df.where("false"), ValueError, "no rows")
    with pytest.raises(TypeError, match="sees all arms at once"):
        aws.decide(learned(1), df, id="customer", features=FEATURES, constraint=lambda scores: [0])


def test_responses_that_make_no_sense_are_refused(spark: SparkSession) -> None:
    sends = aws.choose(learned(1), spread(spark, customers(), 2), id="customer", features=FEATURES, k=5, round=2)
    paid = sends.withColumn("reward", f.lit(1.0)).cache()
    with pytest.raises(ValueError, match=r"'r2-\d' appears twice"):
        aws.learn(learned(1), paid.union(paid.where("decision = 'r2-3'")))
    with pytest.raises(ValueError, match="as choose wrote it"):
        aws.learn(learned(1), paid.withColumn("decision", f.lit("r1-1")))
    policy = aws.learn(learned(1), paid)
    with pytest.raises(ValueError, match="already"):
        aws.learn(policy, paid)
    assert aws.learn(policy, paid.withColumn("reward", f.lit(None).cast("double")))._text() == policy._text()
