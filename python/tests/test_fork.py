"""Forks: the child has none of its parent's threads, and must not wait for them, nor for their locks."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

HEAD = """
import multiprocessing, os, signal, sys, threading, time, warnings
import numpy as np, armwise as aw
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of every fork with threads
rng = np.random.default_rng(1)
X = rng.normal(size=(2_000, 11))
policy = aw.ArmWiseTS(v=0.3, blocks=3, seed=7).partial_fit(X, X[:, 0], blocks=np.arange(2_000) % 3)
sends = aw.Assignment(quotas=[200, 100, 50])

def choose(t):
    return policy.choose(X, constraint=sends, t=t).rows.tolist()

def in_child(work):
    child = os.fork()
    if child == 0:
        good = False
        try:
            good = work()
        finally:
            os._exit(0 if good else 3)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def play(script: str, seconds: float = 100.0) -> None:
    """Runs a script of its own process, which must end in time."""
    subprocess.run([sys.executable, "-c", HEAD + script], check=True, timeout=seconds)


def test_a_pool_of_forked_processes_chooses_as_its_parent() -> None:
    play("""
expected = [choose(t) for t in range(1, 51)]
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(choose, range(1, 51)) == expected
""")


def test_a_forked_process_chooses_learns_scores_and_reads_tables_as_its_parent() -> None:
    play("""
def all_of_it():
    twin = aw.ArmWiseTS(v=0.3, seed=3)
    big = np.vstack([X] * 20)
    columns = {f"x{j}": big[:, j] for j in range(11)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin.partial_fit(columns, big[:, 1])
        d = twin.choose(columns, k=500)
    twin.learn(d, d.features[:, 0])
    return twin.theta_.tolist(), d.ids.tolist(), twin.score(columns)[:9].tolist(), choose(4)
expected = all_of_it()
assert in_child(lambda: all_of_it() == expected) == 0
assert in_child(lambda: in_child(lambda: all_of_it() == expected) == 0) == 0
""")


def test_a_process_that_forked_before_it_computed_uses_its_threads() -> None:
    play("""
def many(n):
    return len(aw.Greedy().choose(rng.normal(size=(200_000, 40)), k=10)) == 10
assert in_child(lambda: many(0)) == 0
""")


def test_forks_while_other_threads_choose_and_learn() -> None:
    play("""
stop = threading.Event()
other = aw.ArmWiseTS(seed=1)
other.choose(X, k=5)
big = rng.normal(size=(20_000, 11))

def busy(work):
    while not stop.is_set():
        work()

def own(scores):
    return np.argsort(scores)[-3:]

def learn():
    other.partial_fit(big, big[:, 0])

threads = [threading.Thread(target=busy, args=(work,)) for work in (
    lambda: choose(2), learn, lambda: other.choose(X, k=100), lambda: other.choose(X, constraint=own))]
for thread in threads:
    thread.start()
expected = choose(9)
try:
    for _ in range(40):
        def check():
            before = other.count_
            other.partial_fit(big, big[:, 0])
            return choose(9) == expected and other.count_ == before + 20_000 and before % 20_000 == 0
        assert in_child(check) == 0
finally:
    stop.set()
    for thread in threads:
        thread.join()
""")


def test_an_oracle_of_your_own_may_fork() -> None:
    play("""
def own(scores):
    assert in_child(lambda: choose(3) is not None) == 0
    return [0, 1]
assert sorted(policy.choose(X, constraint=own).rows.tolist()) == [0, 1]
""")


def test_a_forked_process_hears_ctrl_c() -> None:
    play("""
choose(1)
child = os.fork()
if child == 0:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        print("ready", flush=True)
        while True:
            choose(1)
    except KeyboardInterrupt:
        os._exit(7)
    os._exit(3)
time.sleep(1.0)
os.kill(child, signal.SIGINT)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
""")
