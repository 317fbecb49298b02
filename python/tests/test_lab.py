"""The laboratory from Python."""

from __future__ import annotations

import math
import os
import signal
import threading
import time

import numpy as np
import pytest

import armwise as aw


def small() -> aw.lab.Problem:
    return aw.lab.clustered(angle=1.2, d=5, n=400, k=20, rounds=6)


def test_a_run_does_not_depend_on_threads_or_company() -> None:
    policies = [aw.C2UCB(alpha=0.3), aw.ArmWiseTS(v=0.2), aw.Random()]
    one = aw.lab.run(small(), policies, trials=8, threads=1)
    two = aw.lab.run(small(), policies[1], trials=8, threads=2)
    assert one.reward.shape == one.regret.shape == (3, 8, 6)
    assert np.array_equal(one.reward[1], two.reward[0])
    assert np.array_equal(one.best, two.best)
    assert (one.regret.sum(axis=2)[2] > one.regret.sum(axis=2)[1]).mean() == 1.0, "random is worse in every trial"


class Mine(aw.Policy):
    """Arm-wise Thompson sampling, once more."""

    draw = "normal"

    def __init__(self, lam: float = 1.0, v: float = 1.0, *, blocks: int = 1, seed: int = 0) -> None:
        self.lam, self.v, self.blocks, self.seed = lam, v, blocks, seed

    def bonus(self, at, width, draw):
        return self.v * draw * width


@pytest.mark.parametrize(("delay", "batch"), [(0, 1), (2, 1), (0, 3)])
def test_a_policy_of_ones_own_plays_the_same_trials(delay: int, batch: int) -> None:
    problem = small()
    results = aw.lab.run(problem, [Mine(v=0.2), aw.ArmWiseTS(v=0.2)], trials=5, delay=delay, batch=batch)
    np.testing.assert_allclose(results.reward[0], results.reward[1], rtol=1e-12)
    np.testing.assert_allclose(results.regret[0], results.regret[1], rtol=1e-9, atol=1e-12)
    assert np.array_equal(results.best, aw.lab.run(problem, aw.Random(), trials=5).best)


def test_summary_and_tables() -> None:
    results = aw.lab.run(small(), [aw.C2UCB(alpha=0.3), aw.Greedy()], trials=10)
    totals = results.regret.sum(axis=2)
    for row, total in zip(results.summary(), totals, strict=True):
        assert row["regret"] == pytest.approx(total.mean())
        assert row["regret_se"] == pytest.approx(total.std(ddof=1) / math.sqrt(10))
    pd = pytest.importorskip("pandas")
    frame = results.to_pandas()
    assert len(frame) == 2 * 10 * 6
    by_policy = frame.groupby("policy", sort=False)["reward"].sum()
    assert by_policy.tolist() == pytest.approx(results.reward.sum(axis=(1, 2)).tolist())
    pytest.importorskip("pyarrow")
    assert results.to_arrow().to_pandas().equals(pd.DataFrame(frame).astype({"policy": "str"})) or (
        results.to_arrow().num_rows == len(frame)
    )


def test_plot() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = aw.lab.run(small(), [aw.C2UCB(), aw.Greedy()], trials=3).plot()
    assert len(axes.lines) == 2
    assert axes.get_ylabel() == "cumulative regret"


@pytest.mark.parametrize("reading", ["independent", "disjoint"])
def test_promotions_are_played_by_hand_as_by_the_lab(reading: str) -> None:
    problem = aw.lab.promotions(promotions=3, k=4, n=80, rounds=3, reading=reading, generated=(500, 300, 10_000))
    results = aw.lab.run(problem, [aw.C2UCB(alpha=0.1), Mine(v=0.1), aw.ArmWiseTS(v=0.1)], trials=2)
    np.testing.assert_allclose(results.reward[1], results.reward[2])
    np.testing.assert_allclose(results.regret[1], results.regret[2], atol=1e-9)
    assert (results.regret >= -1e-9).all()


def test_ctrl_c_stops_a_long_run() -> None:
    problem = aw.lab.clustered(n=20_000, k=100, rounds=1000)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    # A program that a shell runs in the background begins with the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            aw.lab.run(problem, aw.ArmWiseTS(), trials=1000)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - start < 10.0


def test_bad_problems() -> None:
    with pytest.raises(ValueError, match="angle"):
        aw.lab.clustered(angle=3.0)
    with pytest.raises(ValueError, match="order"):
        aw.lab.clustered(order="sideways")
    with pytest.raises(FileNotFoundError):
        aw.lab.promotions("nowhere/ratings.csv")
    with pytest.raises(ValueError, match="reading"):
        aw.lab.promotions(reading="both", generated=(500, 300, 10_000))
    with pytest.raises(ValueError, match="at least"):
        aw.lab.run(small(), aw.Greedy(), trials=0)
