"""Spark Connect: a client without a JVM of its own, in a process of its own."""

from __future__ import annotations

import pathlib
import subprocess
import sys

from conftest import HOME, free_port, settings

CLIENT = """
import sys
import armwise as aw, armwise.spark as aws
import numpy as np, pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
assert "connect" in type(spark).__module__, type(spark)
draw = np.random.default_rng(2)
table = pd.DataFrame(draw.normal(size=(2_000, 3)), columns=["a", "b", "c"]).assign(id=range(2_000))
constraint = aw.Assignment(quotas=[30, 20])
df = spark.createDataFrame(table).repartition(3)
far, alone = aw.ArmWiseTS(seed=3, blocks=2), aw.ArmWiseTS(seed=3, blocks=2)
sends = aws.choose(far, df, id="id", features=["a", "b", "c"], constraint=constraint)
d = alone.choose(table, ids="id", features=["a", "b", "c"], constraint=constraint)
assert sorted(zip(d.ids.tolist(), d.scores.tolist())) == sorted((r["id"], r["score"]) for r in sends.collect())
far = aws.learn(far, sends.withColumn("reward", f.lit(1.0)))
alone.learn(d, np.ones(len(d)))
assert far._text() == alone._text()
try:
    aws.decide(far, df.withColumn("a", f.lit("x")), id="id", features=["a", "b", "c"], constraint=constraint)
except ValueError as error:
    assert "partition" in str(error), error
else:
    raise AssertionError("a column of strings is no feature")
print("the same over Spark Connect")
"""


def test_spark_connect_gives_the_same(tmp_path: pathlib.Path) -> None:
    port = free_port()
    command = [
        str(HOME / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[1]"),
        *(
            "--conf",
            f"spark.connect.grpc.binding.port={port}",
            "--conf",
            "spark.connect.grpc.binding.address=127.0.0.1",
        ),
        *("--conf", "spark.ui.enabled=false", "--conf", "spark.driver.memory=900m", "spark-internal"),
    ]
    with open(tmp_path / "server.log", "wb") as log:
        server = subprocess.Popen(command, env=settings(), stdout=log, stderr=log, cwd=tmp_path, start_new_session=True)
        try:
            _wait_for(port)
            client = subprocess.run(
                [sys.executable, "-c", CLIENT, f"sc://127.0.0.1:{port}"],
                capture_output=True,
                text=True,
                timeout=240,
                env=settings(),
                cwd=tmp_path,
            )
        finally:
            server.terminate()
            server.wait(30)
    assert client.returncode == 0, client.stderr + (tmp_path / "server.log").read_text()[-2000:]
    assert "the same over Spark Connect" in client.stdout


def _wait_for(port: int) -> None:
    import socket

    from conftest import _wait

    _wait(lambda: socket.create_connection(("127.0.0.1", port), 1).close(), 90)
