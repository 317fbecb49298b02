"""Choosing, learning, and what a policy can be asked."""

from __future__ import annotations

import copy
import json
import os
import pickle
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, every_policy, state, trained

import armwise as aw
from armwise import _armwise

POLICIES = pytest.mark.parametrize("policy", every_policy(seed=11), ids=lambda policy: policy.name)


@POLICIES
def test_a_decision_carries_what_it_says(policy: aw.Policy) -> None:
    trained(policy)
    x = np.random.default_rng(2).normal(size=(50, 5))
    ids = np.arange(50)[::-1] * 7 + 3
    expected = policy.score(x, ids=ids)
    d = policy.choose(x, k=8, ids=ids)
    assert len(d) == len(d.rows) == 8
    assert d.ids.tolist() == ids[d.rows].tolist()
    assert np.array_equal(d.features, x[d.rows])
    assert np.array_equal(d.scores, expected[d.rows])
    assert np.array_equal(np.sort(d.scores)[::-1], d.scores)
    assert d.scores.min() >= np.delete(expected, d.rows).max()
    np.testing.assert_allclose(d.means, x[d.rows] @ policy.theta_, rtol=1e-9, atol=1e-12)
    assert d.objective == pytest.approx(d.scores.sum())


def test_theta_and_stderr_agree_with_ridge_regression() -> None:
    rng = np.random.default_rng(3)
    x, r = rng.normal(size=(200, 6)), rng.normal(size=200)
    w = rng.uniform(0.0, 3.0, size=200)
    policy = aw.Greedy(lam=0.5).partial_fit(x[:120], r[:120]).partial_fit(x[120:], r[120:])
    v = 0.5 * np.eye(6) + x.T @ x
    np.testing.assert_allclose(policy.theta_, np.linalg.solve(v, x.T @ r), rtol=1e-10)
    np.testing.assert_allclose(policy.stderr_, np.sqrt(np.diag(np.linalg.inv(v))), rtol=1e-10)
    weighted = aw.Greedy(lam=0.5).partial_fit(x, r, sample_weight=w)
    v = 0.5 * np.eye(6) + (w[:, None] * x).T @ x
    np.testing.assert_allclose(weighted.theta_, np.linalg.solve(v, x.T @ (w * r)), rtol=1e-10)


def test_blocks_are_models_of_their_own() -> None:
    rng = np.random.default_rng(4)
    x, r, block = rng.normal(size=(90, 3)), rng.normal(size=90), rng.integers(0, 3, size=90)
    policy = aw.C2UCB(blocks=3).partial_fit(x, r, blocks=block)
    assert policy.theta_.shape == policy.stderr_.shape == (3, 3)
    for j in range(3):
        alone = aw.C2UCB().partial_fit(x[block == j], r[block == j])
        assert np.array_equal(policy.theta_[j], alone.theta_)
    assert policy.score(x).shape == (90, 3)


@pytest.mark.parametrize("named", [False, True])
def test_rewards_come_late_in_parts_and_once(named: bool) -> None:
    x = np.random.default_rng(5).normal(size=(30, 4))
    ids = [f"c{row}" for row in range(30)] if named else list(range(100, 130))
    at_once, in_parts = aw.C2UCB(), aw.C2UCB()
    d = at_once.choose(x, k=5, ids=ids)
    late = in_parts.choose(x, k=5, ids=ids)
    rewards = [0.5, 1.0, 0.0, -1.0, 2.0]
    at_once.learn(d, rewards)
    in_parts.choose(x, k=5, ids=ids)
    by_id = dict(zip(late.ids.tolist(), rewards, strict=True))
    for part in (late.ids[:2], late.ids[2:]):
        in_parts.learn(late, {key: by_id[key] for key in part.tolist()})
    assert np.array_equal(at_once.theta_, in_parts.theta_)
    before = state(in_parts)
    with pytest.raises(ValueError, match="already has reward"):
        in_parts.learn(late, {late.ids[0]: 1.0})
    with pytest.raises(KeyError, match="not chosen"):
        in_parts.learn(late, {"nobody" if named else 5: 1.0})
    assert state(in_parts) == before
    in_parts.correct(late, {late.ids[0]: 3.0})
    in_parts.unlearn(late, [late.ids[0]])
    assert in_parts.count_ == 4


def test_an_arm_in_several_blocks_is_named_with_its_block() -> None:
    policy = aw.C2UCB(blocks=2)
    d = policy.choose(np.eye(2), constraint=aw.Assignment(quotas=1, per_row=2))
    assert d.ids.tolist() == [0, 0]
    with pytest.raises(ValueError, match="several blocks"):
        policy.learn(d, {0: 1.0})
    policy.learn(d, {(0, 1): 1.0})
    np.testing.assert_allclose(policy.theta_, [[0.0, 0.0], [0.5, 0.0]])
    single = policy.choose(np.eye(2), constraint=aw.Assignment(quotas=[1, 0]))
    policy.learn(single, {single.ids[0]: 1.0})


def test_merging_is_learning_both() -> None:
    rng = np.random.default_rng(6)
    x, r = rng.integers(-3, 4, size=(60, 4)).astype(float), rng.integers(-3, 4, size=60).astype(float)
    whole = aw.Greedy().partial_fit(x, r)
    left, right = aw.Greedy().partial_fit(x[:20], r[:20]), aw.Greedy().partial_fit(x[20:], r[20:])
    assert np.array_equal(left.merge(right).theta_, whole.theta_)
    with pytest.raises(ValueError, match="dim"):
        left.merge(aw.Greedy().partial_fit([[1.0]], [1.0]))


@POLICIES
def test_copies_pickles_and_files_are_the_same_to_the_bit(policy: aw.Policy, tmp_path) -> None:
    trained(policy)
    policy.save(tmp_path / "p.json")
    x = np.random.default_rng(7).normal(size=(40, 5))
    twins = [pickle.loads(pickle.dumps(policy)), copy.copy(policy), copy.deepcopy(policy)]
    twins.append(aw.load(tmp_path / "p.json"))
    expected, count = policy.choose(x, k=5), policy.count_
    for twin in twins:
        assert twin.get_params() == policy.get_params()
        assert repr(twin) == repr(policy)
        assert state(twin) == state(policy)
        assert twin.choose(x, k=5) == expected
        twin.learn(expected, np.ones(5))
    assert policy.count_ == count, "a copy that learns leaves the original alone"
    assert pickle.loads(pickle.dumps(expected)) == expected


@POLICIES
def test_a_policy_that_knows_nothing_can_be_copied_too(policy: aw.Policy) -> None:
    fresh = type(policy)(**policy.get_params())
    twin = pickle.loads(pickle.dumps(fresh))
    assert twin.choose(np.eye(4), k=2) == fresh.choose(np.eye(4), k=2)
    with pytest.raises(AttributeError, match="not seen any features"):
        type(policy)().theta_  # noqa: B018


def test_parameters_may_change_and_what_was_learned_stays() -> None:
    policy = trained(aw.ArmWiseTS(v=0.3, seed=1))
    theta, count = policy.theta_, policy.count_
    policy.set_params(v=0.0, lam=0.7)
    x = np.random.default_rng(8).normal(size=(20, 5))
    greedy = trained(aw.ArmWiseTS(v=0.3, seed=1))
    greedy.v, greedy.lam = 0.0, 0.7
    assert np.array_equal(policy.score(x), greedy.score(x))
    np.testing.assert_allclose(policy.score(x), x @ policy.theta_, rtol=1e-12)
    assert policy.count_ == count
    assert not np.array_equal(policy.theta_, theta), "lambda is not in the sums"
    with pytest.raises(ValueError, match="v = -1"):
        policy.set_params(v=-1.0)
    assert policy.v == 0.0
    with pytest.raises(ValueError, match="no parameter"):
        policy.set_params(alpha=1.0)
    policy.blocks = 2
    with pytest.raises(ValueError, match="blocks and gamma"):
        policy.score(x)


@POLICIES
def test_scikit_learn_can_clone_it(policy: aw.Policy) -> None:
    sklearn = pytest.importorskip("sklearn.base")
    trained(policy)
    twin = sklearn.clone(policy)
    assert type(twin) is type(policy)
    assert twin.get_params() == policy.get_params()
    assert twin.count_ == 0
    assert twin.t_ == 1


def test_threads_choose_at_once_each_its_own_round() -> None:
    policy = trained(aw.ArmWiseTS(seed=2), n=200)
    x = np.random.default_rng(9).normal(size=(2000, 5))
    expected = {t: policy.choose(x, k=5, t=t) for t in range(10, 50)}
    policy.t_ = 10
    found: list[aw.Decision] = []

    def work() -> None:
        for _ in range(10):
            found.append(policy.choose(x, k=5))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert {d.t: d for d in found} == expected


def test_learning_while_another_thread_chooses() -> None:
    policy = trained(aw.C2UCB(), n=200)
    x = np.random.default_rng(10).normal(size=(5000, 5))
    stop = threading.Event()

    def choose() -> None:
        while not stop.is_set():
            policy.choose(x, k=5)

    worker = threading.Thread(target=choose)
    worker.start()
    before = policy.count_
    for _ in range(20):
        d = policy.choose(x, k=5)
        policy.learn(d, np.ones(5))
    stop.set()
    worker.join()
    assert policy.count_ == before + 100


def test_gamma_forgets_with_every_round() -> None:
    policy = aw.Greedy(gamma=0.5)
    for t, reward in ((1, 8.0), (2, 2.0)):
        policy.learn(policy.choose([[1.0]], k=1, t=t), [reward])
    # G = 0.5 + 1, b = 0.5 * 8 + 2
    np.testing.assert_allclose(policy.theta_, [6.0 / 2.5])


def test_gamma_is_chosen_by_evidence(tmp_path: Path) -> None:
    """A world that turns round after round 8: nothing is forgotten before, and something after; files keep it."""
    policy = aw.Greedy(gamma="auto")
    assert "gamma='auto'" in repr(policy)
    rng = np.random.default_rng(5)
    for t in range(1, 17):
        d = policy.choose(rng.normal(size=(40, 3)), k=20, t=t)
        theta = np.array([1.0, 0.5, 0.0]) if t <= 8 else np.array([-1.0, 0.5, 0.0])
        policy.learn(d, d.features @ theta + 0.1 * rng.normal(size=20))
        assert d.auto is not None
        if t <= 8:
            assert d.auto["gamma"] == 1.0
    now = policy.choose(np.eye(3), k=1).auto
    assert now is not None
    assert now["gamma"] < 1.0
    assert policy.theta_[0] < -0.9
    policy.save(tmp_path / "policy.json")
    loaded = aw.load(tmp_path / "policy.json")
    assert loaded.gamma == "auto"
    np.testing.assert_array_equal(loaded.theta_, policy.theta_)
    with pytest.raises(ValueError, match='or "auto"'):
        aw.Greedy(gamma=2.0)
    run = aw.lab.run(aw.lab.clustered(angle=1.0, d=3, n=40, k=5, rounds=4), aw.Greedy(gamma="auto"), trials=2)
    assert "gamma='auto'" in str(list(run.policies))


def test_the_bookkeeping_of_old_rounds_can_be_closed() -> None:
    policy = aw.Greedy()
    d = policy.choose(np.eye(2), k=1)
    policy.close_before(2)
    with pytest.raises(ValueError, match="closed"):
        policy.learn(d, [1.0])


def test_the_algorithms_are_those_of_the_library() -> None:
    assert list(aw.ALGORITHMS) == _armwise.ALGORITHMS
    for name, policy in aw.ALGORITHMS.items():
        assert policy.name == name
        assert getattr(aw, policy.__name__) is policy
        assert policy.__name__ in aw.__all__


def test_an_unknown_name_is_never_another_algorithm(tmp_path) -> None:
    for name in ("ucb", "C2UCB", "", "own "):
        with pytest.raises(ValueError, match="is unknown; it must be one of"):
            _armwise.check_algorithm(json.dumps({"name": name}))
        path = tmp_path / "p.json"
        aw.C2UCB().partial_fit([[1.0]], [1.0]).save(path)
        path.write_text(path.read_text().replace('"c2ucb"', json.dumps(name)))
        with pytest.raises(ValueError, match="is unknown; it must be one of"):
            aw.load(path)


def test_a_file_of_format_1_loads_and_says_what_it_lacks(tmp_path) -> None:
    old = aw.load(ROOT / "crates/armwise/tests/data/learner-format-1.json")
    assert old.rr_ == [None, None, None]
    old.save(tmp_path / "p.json")
    assert aw.load(tmp_path / "p.json").rr_ == [None, None, None]
    new = aw.Greedy().partial_fit([[1.0], [2.0]], [3.0, -1.0])
    assert new.rr_ == [10.0]
    assert aw.Greedy(blocks=2).rr_ == [0.0, 0.0]


def test_a_long_partial_fit_has_the_bits_of_short_ones() -> None:
    x, r = np.random.default_rng(8).standard_normal((9_000, 60)), np.linspace(-1.0, 1.0, 9_000)
    weights = np.linspace(0.5, 2.0, 9_000)
    for weight in (None, weights):
        for dtype in (np.float64, np.float32):
            whole, parts = aw.Greedy(), aw.Greedy()
            whole.partial_fit(x.astype(dtype), r, weight)
            for i in range(0, 9_000, 300):
                part = None if weight is None else weight[i : i + 300]
                parts.partial_fit(x[i : i + 300].astype(dtype), r[i : i + 300], part)
            assert whole.theta_.tobytes() == parts.theta_.tobytes()
            assert whole.count_ == 9_000


def test_a_bad_row_at_the_end_of_a_long_partial_fit_leaves_the_policy_as_it_was() -> None:
    policy = aw.Greedy().partial_fit(np.eye(60), np.ones(60))
    before = policy.theta_.tobytes()
    x = np.ones((9_000, 60))
    x[8_999, 7] = np.nan
    with pytest.raises(ValueError, match=r"8999.*7"):
        policy.partial_fit(x, np.ones(9_000))
    assert policy.theta_.tobytes() == before
    assert policy.count_ == 60


def test_ctrl_c_stops_a_long_partial_fit_and_nothing_is_learned() -> None:
    # Long enough for any machine: 40,000 million multiplications.
    x, r = np.ones((20_000, 2_000), dtype=np.float32), np.ones(20_000)
    policy = aw.Greedy().partial_fit(x[:1], r[:1])
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    # A program that a shell runs in the background begins with the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            policy.partial_fit(x, r)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - start < 10.0
    assert policy.count_ == 1
