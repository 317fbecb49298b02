"""What Python costs beside Rust: time, memory, and threads that work at once."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import armwise as aw

ROOT = Path(__file__).parents[2]


MEMORY = """
import resource, tracemalloc
import numpy as np, armwise as aw
policy = aw.ArmWiseTS(seed=1)
policy.learn(policy.choose(np.eye(51, dtype=np.float32), k=5), np.ones(5))
X = np.ones((1_000_000, 51), dtype=np.float32)
X[:, 0] = np.arange(1_000_000) % 97
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
tracemalloc.start()
policy.choose(X, k=100)
traced = tracemalloc.get_traced_memory()[1]
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * 1024 / X.nbytes, traced / X.nbytes)
"""


def test_features_are_not_copied() -> None:
    """X itself and all that a choice needs stay under 1.3 times X, at 1e6 arms of 51 features in float32."""
    printed = subprocess.run([sys.executable, "-c", MEMORY], check=True, capture_output=True, text=True).stdout
    more, traced = (float(number) for number in printed.split())
    assert 1.0 + more < 1.3, f"peak memory grew by {more:.3f} of X"
    assert traced < 0.05, f"Python's own allocations were {traced:.3f} of X"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_the_interpreter_is_free_while_a_choice_runs() -> None:
    """A thread that only counts goes on counting while another chooses; with the lock held it would stand still."""
    policy = aw.ArmWiseTS(seed=1)
    x = np.random.default_rng(1).normal(size=(400_000, 51))
    policy.choose(x[:100], k=5)
    ticks, stop = [], threading.Event()

    def count() -> None:
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    start = time.perf_counter()
    policy.choose(x, k=100_000)
    end = time.perf_counter()
    stop.set()
    counter.join()
    inside = [tick for tick in ticks if start < tick < end]
    assert len(inside) > 5
    assert max(np.diff([start, *inside, end])) < 0.5 * (end - start)


TIMING = pytest.mark.skipif("ARMWISE_TIMING" not in os.environ, reason="needs an idle machine: set ARMWISE_TIMING")


BESIDE = """
import json, statistics, subprocess, sys, time
import numpy as np, armwise as aw
storage, program, folder = sys.argv[1:]
rng = np.random.default_rng(1)
x = rng.uniform(-0.2, 0.2, size=(20_000, 51)).astype(np.float32 if storage == "f32" else np.float64)
seen, rewards = rng.uniform(-0.2, 0.2, size=(500, 51)), rng.normal(size=500)
files = {"x": x, "seen": seen, "rewards": rewards}
for name, values in files.items():
    values.astype(np.float64).tofile(f"{folder}/{name}")
policy = aw.ArmWiseTS(v=0.1, seed=1).partial_fit(seen, rewards)
rust = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def ask(what):
    rust.stdin.write(json.dumps(what) + "\\n")
    rust.stdin.flush()
    return json.loads(rust.stdout.readline())

ask({"load": {"n": 20_000, "d": 51, "storage": storage, "blocks": 1, "threads": 0,
              "algorithm": json.loads(policy._spec()), **{name: f"{folder}/{name}" for name in files}}})
theirs, ours = [], []
for turn in range(15):
    answer = ask({"choose": {"t": 40 * turn + 1, "constraint": {"kind": "top-k", "k": 200}, "runs": 40}})
    theirs += answer["runs"][13:]
    for run in range(40):
        decision = None  # freeing the last one is no part of the call
        start = time.perf_counter()
        decision = policy.choose(x, k=200, t=40 * turn + 1 + run)
        if run >= 13:
            ours.append(time.perf_counter() - start)
    assert [row for row, _ in answer["chosen"]] == decision.rows.tolist()
rust.stdin.close()
print(1e3 * statistics.median(theirs), 1e3 * statistics.median(ours))
"""


@TIMING
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("storage", ["f32", "f64"])
def test_choosing_costs_at_most_a_tenth_more_than_in_rust(storage: str, threads: int, tmp_path: Path) -> None:
    """20,000 arms of 51 features, the same choices; turns of 40 calls of either side, of which the first third is not
    counted, and medians. Both are called from outside of the library's pool, as a program does."""
    build = ["cargo", "build", "--release", "--locked", "--quiet", "--workspace", "--example", "choose_beside"]
    subprocess.run(build, cwd=ROOT, check=True)
    command = [sys.executable, "-c", BESIDE, storage, ROOT / "target/release/examples/choose_beside", tmp_path]
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    rust, python = (float(number) for number in printed.split())
    print(f"{storage}, threads {threads}: rust {rust:.3f} ms, python {python:.3f} ms, ratio {python / rust:.3f}")
    assert python <= 1.1 * rust


@TIMING
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_two_threads_choose_more_than_one() -> None:
    """1,000 arms are one task of the library, so that a single caller keeps one processor busy and two callers two."""
    policy = aw.ArmWiseTS(seed=1)
    x = np.random.default_rng(1).normal(size=(1_000, 151))
    policy.choose(x, k=10)

    def work() -> None:
        for _ in range(200):
            policy.choose(x, k=10, t=1)

    def timed(count: int) -> float:
        workers = [threading.Thread(target=work) for _ in range(count)]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return time.perf_counter() - start

    timed(1)
    gain = 2 * min(timed(1) for _ in range(5)) / min(timed(2) for _ in range(5))
    print(f"two threads do {gain:.2f} times the work of one")
    assert gain > 1.5


def test_reading_a_table_needs_one_copy() -> None:
    pa = pytest.importorskip("pyarrow")
    columns = {f"f{j}": np.random.default_rng(j).normal(size=200_000).astype(np.float32) for j in range(20)}
    table = pa.table(columns)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    aw.C2UCB().choose(table, k=5)
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert more < 2.0 * table.nbytes
