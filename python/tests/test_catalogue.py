"""A catalogue gives the decisions of the same arms without it, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import every_policy, state
from test_own_policy import MyArmWise

import armwise as aw

N, D, K = 3_000, 12, 30


def rows(seed: int = 1, dtype: str = "float64") -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(N, D)).astype(dtype)


def same(one: aw.Decision, two: aw.Decision) -> bool:
    return one == two and one.to_json() == two.to_json() and one.rows.tolist() == two.rows.tolist()


@pytest.mark.parametrize("policy", [*every_policy(seed=3), MyArmWise(v=0.3, seed=3)], ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rounds_are_those_without_a_catalogue(policy: aw.Policy, dtype: str) -> None:
    x = rows(dtype=dtype)
    ids = np.random.default_rng(2).permutation(10 * N)[:N]
    items, plain, listed = aw.Catalogue(x, ids=ids), policy._fresh(), policy._fresh()
    rng = np.random.default_rng(4)
    for _ in range(5):
        eligible = rng.uniform(size=N) < 0.9
        one = plain.choose(x, k=K, ids=ids, eligible=eligible)
        two = listed.choose(items, k=K, eligible=eligible)
        assert same(one, two)
        assert np.array_equal(ids[two.rows], two.ids)
        rewards = x[one.rows, 0] + rng.normal(size=K)
        plain.learn(one, rewards)
        listed.learn(two, rewards)
    assert state(plain) == state(listed)
    assert np.array_equal(plain.score(x, ids=ids), listed.score(items))


def test_names_columns_and_other_constraints() -> None:
    x = rows()[:200]
    names = [f"item {row}" for row in range(200)]
    cost = np.random.default_rng(5).uniform(1, 3, size=200)
    items = aw.Catalogue(x, ids=names)
    constraint = aw.Assignment(quotas=aw.Quota(max=20), cost="price", budget=25.0)
    one = aw.C2UCB().choose(x, ids=names, constraint=constraint, columns={"price": cost})
    two = aw.C2UCB().choose(items, constraint=constraint, columns={"price": cost})
    assert same(one, two)
    assert [names[row] for row in two.rows] == two.ids.tolist()


def test_a_catalogue_owns_its_features() -> None:
    x = rows()
    items = aw.Catalogue(x)
    expected = aw.C2UCB().choose(x.copy(), k=K)
    x[:] = 0.0
    assert same(aw.C2UCB().choose(items, k=K), expected)


def test_a_catalogue_of_a_table() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"sku": ["a", "b", "c"], "x": [1.0, 2.0, 3.0], "y": [0.0, 1.0, 0.0]})
    items = aw.Catalogue(frame, ids="sku", features=["x", "y"])
    assert (len(items), items.n_features_in_) == (3, 2)
    assert aw.C2UCB().choose(items, k=1).ids.tolist() == ["c"]


def test_what_does_not_fit_is_said() -> None:
    items = aw.Catalogue(np.eye(3))
    policy = aw.Greedy()
    with pytest.raises(TypeError, match="give them to Catalogue"):
        policy.choose(items, k=1, ids=[1, 2, 3])
    with pytest.raises(TypeError, match="as arrays"):
        policy.choose(items, k=1, eligible="open")
    with pytest.raises(ValueError, match="eligible flags"):
        policy.choose(items, k=1, eligible=[True, False])
    with pytest.raises(ValueError, match="ids must be unique"):
        aw.Catalogue(np.eye(2), ids=[7, 7])
    with pytest.raises(ValueError, match="row 1"):
        aw.Catalogue([[1.0], [np.nan]])
    policy.choose(items, k=1)
    with pytest.raises(ValueError, match="features"):
        policy.choose(aw.Catalogue(np.eye(2)), k=1)
