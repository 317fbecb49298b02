"""A real cluster on this machine: a standalone master and two workers of one core each, on free ports of loopback."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

HOME = pathlib.Path(pyspark.__file__).parent


def free_port() -> int:
    with socket.socket() as ask:
        ask.bind(("127.0.0.1", 0))
        return int(ask.getsockname()[1])


def settings() -> dict[str, str]:
    return os.environ | {
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


class Cluster:
    """The processes of the cluster."""

    def __init__(self, folder: pathlib.Path, memory: str = "1200m") -> None:
        self.folder, self.memory = folder, memory
        self.port = free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self._start("Master", "--host", "127.0.0.1", "--port", str(self.port), "--webui-port", str(free_port()))
        _wait(lambda: socket.create_connection(("127.0.0.1", self.port), 1).close())
        for _ in range(2):
            self.worker()

    def _start(self, what: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = open(self.folder / f"{what}-{len(self.processes)}.log", "wb")  # noqa: SIM115
        command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{what.lower()}.{what}", *arguments]
        process = subprocess.Popen(
            command, env=settings(), stdout=log, stderr=log, cwd=self.folder, start_new_session=True
        )
        self.processes.append(process)
        return process

    def worker(self) -> subprocess.Popen[bytes]:
        work = self.folder / f"work-{len(self.processes)}"
        ports = ["--webui-port", str(free_port())]
        return self._start("Worker", "--cores", "1", "--memory", self.memory, "--work-dir", str(work), *ports, self.url)

    def executors(self) -> list[int]:
        """The processes of the executors: the children of the workers."""
        workers = ",".join(str(process.pid) for process in self.processes[1:])
        listed = subprocess.run(["pgrep", "-P", workers], capture_output=True, text=True)
        return [int(number) for number in listed.stdout.split()]

    def kill_an_executor(self) -> bool:
        """Kills an executor with -9, as a machine that is lost; true if there was one."""
        for number in self.executors():
            os.kill(number, signal.SIGKILL)
            return True
        return False

    def stop(self) -> None:
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            process.wait()


def _wait(ready: Any, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            ready()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.stop()


def session(cluster: Cluster, memory: str = "800m") -> SparkSession:
    os.environ.update(
        {name: settings()[name] for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")}
    )
    made = (
        SparkSession.builder.master(cluster.url)
        .appName("armwise")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", memory)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.executorEnv.PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("OFF")
    return made


@pytest.fixture(scope="session")
def spark(cluster: Cluster) -> Iterator[SparkSession]:
    made = session(cluster)
    yield made
    made.stop()
