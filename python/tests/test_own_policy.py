"""Policies written in Python: the same scores as the library's where they are the same policy."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from conftest import state

import armwise as aw


class MyArmWise(aw.Policy):
    draw = "normal"

    def __init__(self, lam: float = 1.0, v: float = 1.0, *, blocks: int = 1, seed: int = 0, gamma: float = 1.0) -> None:
        self.lam, self.v, self.blocks, self.seed, self.gamma = lam, v, blocks, seed, gamma

    def bonus(self, at: aw.Context, width: np.ndarray, draw: np.ndarray) -> np.ndarray:
        return self.v * draw * width


class MyRoundWise(aw.Policy):
    def __init__(self, lam: float = 1.0, v: float = 1.0, *, blocks: int = 1, seed: int = 0, gamma: float = 1.0) -> None:
        self.lam, self.v, self.blocks, self.seed, self.gamma = lam, v, blocks, seed, gamma

    def direction(self, at: aw.Context) -> np.ndarray:
        return at.sample(self.v)


@pytest.mark.parametrize(("mine", "theirs"), [(MyArmWise, aw.ArmWiseTS), (MyRoundWise, aw.RoundWiseTS)])
@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_the_same_policy_in_python_and_in_rust(mine, theirs, blocks: int, gamma: float) -> None:
    rng = np.random.default_rng(1)
    mine, theirs = (made(lam=0.5, v=0.3, blocks=blocks, seed=4, gamma=gamma) for made in (mine, theirs))
    constraint = aw.Assignment(quotas=[4] * blocks)
    for t in (1, 2, 5, 6):
        x = rng.normal(size=(80, 6))
        d, e = (policy.choose(x, constraint=constraint, t=t, ids=np.arange(80) + 5) for policy in (mine, theirs))
        assert d.rows.tolist() == e.rows.tolist()
        np.testing.assert_allclose(d.scores, e.scores, rtol=1e-12)
        np.testing.assert_allclose(d.widths, e.widths, rtol=1e-12)
        assert np.array_equal(d.draws, e.draws, equal_nan=True)
        np.testing.assert_allclose(mine.score(x, t=9), theirs.score(x, t=9), rtol=1e-12)
        rewards = rng.normal(size=len(d))
        mine.learn(d, rewards)
        theirs.learn(e, rewards)
    np.testing.assert_allclose(mine.theta_, theirs.theta_, rtol=1e-12)


def test_it_is_saved_pickled_and_cloned(tmp_path) -> None:
    clone = pytest.importorskip("sklearn.base").clone
    policy = MyArmWise(v=0.4, seed=6)
    x = np.random.default_rng(2).normal(size=(30, 3))
    policy.learn(policy.choose(x, k=4), [1.0, 0.0, 1.0, 0.0])
    policy.save(tmp_path / "own.json")
    with pytest.raises(ValueError, match="of your own"):
        aw.load(tmp_path / "own.json")
    again = MyArmWise(v=0.4, seed=6).restore(tmp_path / "own.json")
    assert state(again) == state(policy)
    expected = policy.choose(x, k=4)
    assert again.choose(x, k=4) == expected
    assert clone(policy).get_params() == policy.get_params()
    twin = pickle.loads(pickle.dumps(again))
    assert state(twin) == state(policy)


def test_what_it_does_wrong_is_said() -> None:
    class Short(MyArmWise):
        def bonus(self, at, width, draw):
            return width[:-1]

    class Nan(MyArmWise):
        def bonus(self, at, width, draw):
            return np.where(np.arange(len(width)) == 2, np.nan, 0.0)

    class Raises(MyArmWise):
        def direction(self, at):
            raise LookupError("where?")

    x = np.eye(4)
    with pytest.raises(ValueError, match="bonus"):
        Short().choose(x, k=1)
    with pytest.raises(ValueError, match="score of row 2"):
        Nan().choose(x, k=1)
    with pytest.raises(LookupError, match="where"):
        Raises().choose(x, k=1)
    with pytest.raises(TypeError, match=r"derive it from armwise\.Policy"):

        class Wrong(aw.C2UCB):
            def bonus(self, at, width, draw):
                return width

    with pytest.raises(ValueError, match="lambda = -1"):
        MyArmWise(lam=-1.0).choose(x, k=1)
