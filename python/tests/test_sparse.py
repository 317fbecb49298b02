"""Sparse features give the bits of the same features as a dense array, and never exist as one."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from conftest import every_policy, state
from test_own_policy import MyArmWise

import armwise as aw

sparse = pytest.importorskip("scipy.sparse")

# More rows than a part of 2^22 numbers holds.
N, D = 9_000, 700


def matrix(n: int = N, d: int = D, dtype: str = "float64", seed: int = 1):
    rng = np.random.default_rng(seed)
    made = sparse.random_array((n, d), density=0.02, rng=rng, data_sampler=lambda size: rng.normal(size=size))
    return made.tocsr().astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_several_parts_give_the_bits_of_the_whole(dtype: str) -> None:
    x = matrix(dtype=dtype)
    dense, rng = x.toarray(), np.random.default_rng(2)
    ids = rng.permutation(10 * N)[:N]
    eligible = rng.uniform(size=N) < 0.8
    one, two = aw.ArmWiseTS(v=0.3, seed=5), aw.ArmWiseTS(v=0.3, seed=5)
    rewards = rng.normal(size=N)
    one.partial_fit(dense, rewards)
    two.partial_fit(x, rewards)
    assert state(one) == state(two)
    d, e = one.choose(dense, k=40, ids=ids, eligible=eligible), two.choose(x, k=40, ids=ids, eligible=eligible)
    assert d == e
    assert d.to_json() == e.to_json()
    assert np.array_equal(one.score(dense, ids=ids), two.score(x, ids=ids))


@pytest.mark.parametrize("policy", every_policy(seed=3, blocks=2), ids=lambda p: p.name)
def test_every_policy_with_quotas_weights_and_blocks(policy: aw.Policy) -> None:
    x = matrix(n=400, d=30)
    rng = np.random.default_rng(3)
    given = {"sample_weight": rng.uniform(size=400), "blocks": np.arange(400) % 2}
    one, two = policy._fresh(), policy._fresh()
    rewards = rng.normal(size=400)
    one.partial_fit(x.toarray(), rewards, **given)
    two.partial_fit(x, rewards, **given)
    assert state(one) == state(two)
    constraint = aw.Assignment(quotas=[20, 10])
    d, e = one.choose(x.toarray(), constraint=constraint), two.choose(x, constraint=constraint)
    assert (d.rows.tolist(), d.blocks.tolist()) == (e.rows.tolist(), e.blocks.tolist())
    assert d.scores.tobytes() == e.scores.tobytes()


@pytest.mark.parametrize("form", ["csc", "coo", "lil", "dok", "bsr"])
def test_other_forms_and_integers_are_taken(form: str) -> None:
    x = (matrix(n=60, d=8) * 10).astype(np.int64)
    assert aw.C2UCB().choose(x.asformat(form), k=5) == aw.C2UCB().choose(x.toarray(), k=5)
    old = sparse.csr_matrix(x)
    assert aw.C2UCB().choose(old, k=5) == aw.C2UCB().choose(x.toarray(), k=5)


def test_numbers_that_are_stored_twice_are_added_up() -> None:
    twice = sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    assert aw.Greedy().partial_fit(twice, [1.0, 1.0]).theta_.tolist() == [0.3, 4.0 / 17.0]


def test_constraints_with_columns_and_oracles_of_ones_own() -> None:
    x = matrix(n=300, d=20)
    groups = {"region": np.arange(300) % 3}
    limits = aw.Quotas(k=30, groups=[aw.Group("region", value=1, max=5)])
    for constraint in (limits, lambda scores: np.argsort(-scores)[:7]):
        d = aw.C2UCB().choose(x, constraint=constraint, columns=groups)
        e = aw.C2UCB().choose(x.toarray(), constraint=constraint, columns=groups)
        assert (d.rows.tolist(), d.objective) == (e.rows.tolist(), e.objective)


def test_the_dense_matrix_is_never_made() -> None:
    n, d = 60_000, 1_000  # 480 MB if it were dense
    x = matrix(n=n, d=d)
    resource = pytest.importorskip("resource")
    policy = aw.Greedy()
    tracemalloc.start()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    policy.partial_fit(x[:2_000], np.zeros(2_000))
    policy.choose(x, k=10)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    python = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert grown < 250_000, f"{grown} KB"
    assert python < 50_000_000


def test_what_is_wrong_is_said_and_changes_nothing() -> None:
    x = matrix()
    bad = x.copy()
    bad.data[bad.indptr[8_500]] = np.nan
    column = int(bad.indices[bad.indptr[8_500]])
    policy = aw.Greedy().partial_fit(x[:10], np.ones(10))
    before = state(policy)
    with pytest.raises(ValueError, match="row 8500") as caught:
        policy.partial_fit(bad, np.ones(N))
    assert (caught.value.row, caught.value.column) == (8_500, column)
    assert state(policy) == before
    with pytest.raises(ValueError, match="row 8500"):
        policy.choose(bad, k=5)
    with pytest.raises(ValueError, match="rewards: expected 9000, found 3"):
        policy.partial_fit(x, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="features"):
        policy.choose(matrix(d=5, n=30), k=5)
    with pytest.raises(TypeError, match=r"X\.toarray\(\)"):
        MyArmWise().choose(x, k=5)
    with pytest.raises(TypeError, match="must be numbers"):
        policy.choose(x.astype(np.complex128), k=5)
    torn = sparse.csr_array((np.ones(2), np.array([0, 9]), np.array([0, 1, 2])), shape=(2, 10))
    torn.indices[1] = 10
    with pytest.raises(ValueError, match="not a valid CSR"):
        aw.Greedy().choose(torn, k=1)
    with pytest.raises(TypeError, match="not a table"):
        policy.choose(x, k=5, features=["a"])
