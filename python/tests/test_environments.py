"""Environments of one's own, named policies, paired differences and forgetting in the lab."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_lab import Mine, small
from test_own_policy import MyArmWise

import armwise as aw


class Again(aw.lab.Environment):
    """The clustered problem once more, from outside."""

    problem = small()
    rounds, constraint = problem.rounds, problem.constraint

    def __init__(self, seed: int) -> None:
        self.trial = self.problem.trial(seed)

    def arms(self, t: int):
        return self.trial.arms(t)

    def rewards(self, decision):
        return self.trial.pay(decision)[0]

    def expected(self, decision):
        return self.trial.pay(decision)[1]

    def best(self, t: int):
        return self.trial.best(t)


@pytest.mark.parametrize(("delay", "batch"), [(0, 1), (2, 2)])
def test_an_environment_of_ones_own_is_played_as_the_labs_problem(delay: int, batch: int) -> None:
    policies = [aw.C2UCB(alpha=0.3), aw.ArmWiseTS(v=0.2), aw.ArmWiseTS(v=0.2, gamma=0.7), Mine(v=0.2)]
    mine = aw.lab.run(Again, policies, trials=4, delay=delay, batch=batch)
    theirs = aw.lab.run(small(), policies, trials=4, delay=delay, batch=batch)
    assert mine.policies == theirs.policies
    np.testing.assert_allclose(mine.reward, theirs.reward, rtol=1e-12)
    np.testing.assert_allclose(mine.regret, theirs.regret, rtol=1e-9, atol=1e-9)
    assert np.array_equal(mine.best, theirs.best)


class Plain(aw.lab.Environment):
    """Only what is required, with names, a mask and two blocks."""

    rounds, blocks = 3, 2
    constraint = aw.Assignment(quotas=[2, 1])

    def __init__(self, seed: int) -> None:
        self.x = np.random.default_rng(seed).normal(size=(20, 3))

    def arms(self, t: int):
        names = [f"arm {row}" for row in range(20)]
        return self.x, {"ids": names, "eligible": np.arange(20) % 2 == 0}

    def rewards(self, decision):
        assert all(arm.id == f"arm {arm.row}" and arm.row % 2 == 0 for arm in decision)
        return self.x[decision.rows, 0]


def test_arms_may_come_with_ids_and_a_mask_and_regret_may_be_unknown() -> None:
    results = aw.lab.run(Plain, {"greedy": aw.Greedy(), "chance": aw.Random()}, trials=5)
    assert results.policies == ["greedy", "chance"]
    assert results.reward.shape == (2, 5, 3)
    assert results.regret is None
    assert results.best is None
    assert "regret" not in results.summary()[0]
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert results.plot().get_ylabel() == "cumulative reward"
    assert "regret" not in results.to_pandas().columns


def test_differences_are_paired() -> None:
    stats = pytest.importorskip("scipy.stats")
    results = aw.lab.run(small(), {"a": aw.C2UCB(alpha=0.3), "b": aw.Greedy(), "c": aw.Random()}, trials=12)
    totals = results.reward.sum(axis=2)
    rows = results.differences("b")
    assert [row["policy"] for row in rows] == ["a", "c"]
    assert {row["baseline"] for row in rows} == {"b"}
    for row, total in zip(rows, totals[[0, 2]], strict=True):
        difference = total - totals[1]
        test = stats.ttest_1samp(difference, 0.0)
        low, high = test.confidence_interval(0.95)
        assert row["reward"] == pytest.approx(difference.mean())
        assert row["reward_se"] == pytest.approx(difference.std(ddof=1) / math.sqrt(12))
        assert (row["reward_low"], row["reward_high"]) == pytest.approx((low, high))
        assert row["ratio"] == pytest.approx(total.mean() / totals[1].mean())
        assert row["ratio_low"] < row["ratio"] < row["ratio_high"]
    assert results.differences(1) == rows
    with pytest.raises(KeyError, match="there are 'a', 'b', 'c'"):
        results.differences("d")
    with pytest.raises(IndexError, match="counted from 0"):
        results.differences(3)
    one = aw.lab.run(small(), [aw.Greedy(), aw.Random()], trials=1).differences()
    assert one[0]["reward_se"] is one[0]["reward_low"] is one[0]["ratio_high"] is None


def test_results_go_to_polars() -> None:
    pytest.importorskip("polars")
    results = aw.lab.run(small(), [aw.C2UCB(), aw.Greedy()], trials=3)
    frame = results.to_polars()
    assert frame.columns == ["policy", "trial", "t", "reward", "regret", "clusters"]
    assert frame["reward"].to_list() == results.reward.reshape(-1).tolist()


def test_equal_policies_are_told_apart_and_forgetting_is_named() -> None:
    policies = [aw.C2UCB(alpha=0.3), aw.C2UCB(alpha=0.3), aw.C2UCB(alpha=0.3, gamma=0.3)]
    results = aw.lab.run(small(), policies, trials=2)
    name = "C2UCB(lam=1.0, alpha=0.3"
    assert results.policies == [f"{name})", f"{name}) #2", f"{name}, gamma=0.3)"]
    assert np.array_equal(results.reward[0], results.reward[1])
    assert not np.array_equal(results.reward[0], results.reward[2])


@pytest.mark.parametrize(("delay", "batch"), [(0, 1), (2, 1), (0, 3)])
def test_forgetting_in_rust_is_forgetting_in_python(delay: int, batch: int) -> None:
    policies = [MyArmWise(v=0.2, gamma=0.6), aw.ArmWiseTS(v=0.2, gamma=0.6)]
    results = aw.lab.run(small(), policies, trials=4, delay=delay, batch=batch)
    np.testing.assert_allclose(results.reward[0], results.reward[1], rtol=1e-12)
    with pytest.raises(ValueError, match="gamma"):
        aw.lab.run(small(), aw.Greedy(gamma=1.5), trials=1)


def test_a_policy_of_ones_own_keeps_what_it_has_set_whatever_its_name() -> None:
    class Curious(aw.Policy):
        def __init__(self, share: float = 0.2) -> None:
            self.share = share
            self.weight_ = 2.0 * share

        def bonus(self, at, width, draw):
            return self.weight_ * width

    results = aw.lab.run(small(), [Curious(0.2), aw.C2UCB(alpha=0.4)], trials=3)
    np.testing.assert_allclose(results.reward[0], results.reward[1], rtol=1e-12)


def test_what_is_wrong_with_an_environment_is_said() -> None:
    class Short(Plain):
        def rewards(self, decision):
            return [1.0]

    class Unlimited(aw.lab.Environment):
        pass

    class Silent(aw.lab.Environment):
        constraint = aw.TopK(1)

    with pytest.raises(ValueError, match=r"Short\.rewards gave 1 numbers for 3 chosen arms in round 1"):
        aw.lab.run(Short, aw.Greedy(), trials=1)
    with pytest.raises(TypeError, match="must have a constraint"):
        aw.lab.run(Unlimited, aw.Greedy(), trials=1)
    with pytest.raises(NotImplementedError, match="Silent must say which arms"):
        aw.lab.run(Silent, aw.Greedy(), trials=1)
    with pytest.raises(TypeError, match="the class of an environment"):
        aw.lab.run(Plain(1), aw.Greedy(), trials=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 1 trial"):
        aw.lab.run(Plain, aw.Greedy(), trials=0)
    with pytest.raises(ValueError, match="at least one policy"):
        aw.lab.run(Plain, {}, trials=1)
