"""The code of docs/spark.md runs as it is written."""

from __future__ import annotations

import pathlib
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import armwise as aw

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "spark.md"


def test_the_code_of_the_page_runs(
    spark: SparkSession, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(1)
    ages, spent = draw.integers(18, 90, 2_000).astype(float), draw.gamma(2.0, 50.0, 2_000)
    table = pd.DataFrame({"customer": [f"C{row}" for row in range(2_000)], "age": ages, "spent": spent})
    responses = spark.createDataFrame(
        [(f"r1-{number}", float(number % 2)) for number in range(1, 400)], ["decision", "reward"]
    )
    monkeypatch.chdir(tmp_path)
    rules = {"customer": "customer", "promotion": [{"name": "mail", "quota": 20}]}
    aw.Campaign.init("spring.armwise", pa.Table.from_pandas(table), rules=rules)
    names: dict[str, object] = {"customers": spark.createDataFrame(table), "responses": responses}
    blocks = re.findall(r"```py .*\n((?:.*\n)*?)```", PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 2
    exec(blocks[0], names)
    policy = names["policy"]
    assert isinstance(policy, aw.Policy)
    assert policy.count_ == 399
    exec(blocks[1], names)
    assert names["sends"].count() == 20  # type: ignore[attr-defined]
