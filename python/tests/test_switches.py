"""Who shares a draw, parameters that choose themselves, one arm after another, slates; and the numbers of others."""

from __future__ import annotations

import copy
import math
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import armwise as aw

RNG = np.random.default_rng(3)
X = RNG.normal(size=(200, 4)) / 2
THETA = np.array([0.8, -0.3, 0.2, 0.1])
REWARDS = X @ THETA + 0.3 * RNG.normal(size=200)


def evidence(x: np.ndarray, r: np.ndarray, lam: float) -> float:
    """log p(r | lambda) with the noise integrated out, from the n x n matrix."""
    n, a0, b0 = len(r), 0.5, 0.5 * np.mean(r**2)
    k = np.eye(n) + x @ x.T / lam
    half = 0.5 * r @ np.linalg.solve(k, r)
    constant = math.lgamma(a0 + n / 2) - math.lgamma(a0) + a0 * math.log(b0) - n / 2 * math.log(2 * math.pi)
    return float(constant - 0.5 * np.linalg.slogdet(k)[1] - (a0 + n / 2) * math.log(b0 + half))


def test_lambda_is_the_one_with_the_largest_evidence() -> None:
    policy = aw.ArmWiseTS(lam="auto", v="auto").partial_fit(X, REWARDS)
    grid = np.mean(np.sum(X**2, axis=1)) * 10.0 ** np.arange(-3, 1.01, 0.25)
    best = grid[np.argmax([evidence(X, REWARDS, lam) for lam in grid])]
    auto = policy.auto_
    assert auto is not None
    assert auto["lambda"] == pytest.approx(best, rel=1e-9)
    residual = REWARDS @ REWARDS - REWARDS @ X @ np.linalg.solve(best * np.eye(4) + X.T @ X, X.T @ REWARDS)
    sigma = math.sqrt((0.5 * np.mean(REWARDS**2) + 0.5 * residual) / (0.5 + 100))
    assert auto["sigma"] == pytest.approx(sigma, rel=1e-8)
    assert (auto["v"], auto["freedom"]) == (0.25 * auto["sigma"], 201.0)


def test_with_known_noise_the_evidence_is_that_of_scikit_learn() -> None:
    """BayesianRidge maximises the evidence over lambda and sigma^2, with a density of its own."""
    from sklearn.linear_model import BayesianRidge

    ridge = BayesianRidge(fit_intercept=False, alpha_1=0, alpha_2=0, lambda_1=0, lambda_2=0, tol=1e-12, max_iter=10_000)
    ridge.fit(X, REWARDS)
    best = ridge.lambda_ / ridge.alpha_
    # Gaussian instead of Student: the mean that follows from lambda is the same.
    policy = aw.Greedy(lam=best).partial_fit(X, REWARDS)
    assert policy.theta_ == pytest.approx(ridge.coef_, rel=1e-8)
    noise = 1 / ridge.alpha_
    k = noise * (np.eye(200) + X @ X.T / best)
    log = -0.5 * (REWARDS @ np.linalg.solve(k, REWARDS) + np.linalg.slogdet(k)[1] + 200 * math.log(2 * math.pi))
    ridge_score = BayesianRidge(
        fit_intercept=False,
        alpha_1=0,
        alpha_2=0,
        lambda_1=0,
        lambda_2=0,
        tol=1e-12,
        max_iter=10_000,
        compute_score=True,
    ).fit(X, REWARDS)
    assert log == pytest.approx(ridge_score.scores_[-1], rel=1e-8)
    near = [evidence(X, REWARDS, lam) for lam in (best / 30, best, best * 30)]
    assert near[1] > max(near[0], near[2])


def test_the_noise_is_that_of_bayesianbandits() -> None:
    bandits = pytest.importorskip("bayesianbandits")
    lam, a0, b0 = 0.7, 0.5, 0.5 * float(np.mean(REWARDS**2))
    other = bandits.NormalInverseGammaRegressor(mu=0.0, lam=lam, a=a0, b=b0)
    other.fit(X, REWARDS)
    auto = aw.ArmWiseTS(lam=lam, noise="estimated").partial_fit(X, REWARDS).auto_
    assert auto is not None
    assert aw.Greedy(lam=lam).partial_fit(X, REWARDS).theta_ == pytest.approx(np.ravel(other.coef_), rel=1e-8)
    assert auto["sigma"] == pytest.approx(math.sqrt(float(other.b_) / float(other.a_)), rel=1e-8)
    assert auto["freedom"] == pytest.approx(2 * float(other.a_))


@pytest.mark.parametrize(
    "scope", ["own", "shared", {"mixed": 0.5}, {"best-of": 3}, {"best-of": {"k": 20}}, {"group": "region"}]
)
def test_scopes_choose_and_survive_copies(scope: object, tmp_path: object) -> None:
    region = np.array(["north", "south", "east", "west"] * 50)
    policy = aw.ArmWiseTS(v=0.5, scope=scope, seed=4)  # type: ignore[arg-type]
    columns = {"region": region} if scope == {"group": "region"} else None
    decision = policy.choose(X, k=20, columns=columns)
    draws = {}
    for arm in decision:
        draws.setdefault(region[arm.row], set()).add(arm.draw)
    if scope == "shared":
        assert len({arm.draw for arm in decision}) == 1
    if scope == {"group": "region"}:
        assert all(len(drawn) == 1 for drawn in draws.values())
        other = np.flip(region)  # other codes, the same names: the draws stay with the names
        again = aw.ArmWiseTS(v=0.5, scope=scope, seed=4).choose(X, k=20, columns={"region": other})  # type: ignore[arg-type]
        for arm in again:
            assert arm.draw in draws.get(other[arm.row], {arm.draw})
    for twin in (clone(policy), copy.deepcopy(policy)):
        assert twin.get_params() == policy.get_params()
    path = tmp_path / "p.json"  # type: ignore[operator]
    policy.save(path)
    assert aw.load(path).get_params() == policy.get_params()
    for twin in (aw.load(path), copy.copy(policy)):
        assert twin.choose(X, k=20, columns=columns, t=1).to_json() == decision.to_json()


def test_bad_switches_are_refused() -> None:
    for bad in ("mine", {"mixed": 2.0}, {"best-of": 0}, {"group": ""}, 3):
        with pytest.raises((ValueError, TypeError)):
            aw.ArmWiseTS(scope=bad)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="auto"):
        aw.ArmWiseTS(v="often")
    with pytest.raises(ValueError, match="auto"):
        aw.PC2UCB(c="auto")  # type: ignore[arg-type]
    region = np.array(["a", "b"] * 100)
    policy = aw.ArmWiseTS(scope={"group": "region"})
    with pytest.raises(KeyError, match="region"):
        policy.choose(X, k=3)
    quotas = aw.Quotas(k=5, groups=[aw.Group("region", value="a", max=3)])
    with pytest.raises(TypeError, match="both"):
        policy.choose(X, constraint=quotas, columns={"region": region})


def test_parameters_that_choose_themselves_are_parameters() -> None:
    policy = aw.PC2UCB(lam="auto", alpha="auto")
    assert clone(policy).get_params()["lam"] == "auto"
    assert aw.C2UCB().choose(X, k=3).auto is None
    decision = policy.choose(X, k=3)
    assert decision.auto == {"lambda": 1.0, "sigma": 1.0, "alpha": 0.7}
    policy.learn(decision, [1.0, 0.5, 0.2])
    assert policy.auto_ is not None
    assert policy.auto_["freedom"] == 4.0
    assert aw.Decision.from_json(decision.to_json()).auto == decision.auto


def test_one_arm_after_another_leaves_a_cluster() -> None:
    x = np.repeat(np.eye(4), 10, axis=0)
    turns = aw.HallucinatedC2UCB(alpha=1.0).choose(x, k=4)
    assert sorted(np.argmax(turns.features, axis=1).tolist()) == [0, 1, 2, 3]
    plain = aw.C2UCB(alpha=1.0).choose(x, k=4)
    assert np.argmax(plain.features, axis=1).tolist() == [0, 0, 0, 0]
    diverse = aw.HallucinatedC2UCB(alpha=0.0, diversity=1.0).choose(x, k=4)
    assert sorted(np.argmax(diverse.features, axis=1).tolist()) == [0, 1, 2, 3]


def test_own_draws_and_sets_without_substitutes_are_warned_of() -> None:
    sets = aw.Explicit([[0, 1], [2, 3]])
    with pytest.warns(UserWarning, match="best-of"):
        aw.ArmWiseTS().choose(X, constraint=sets)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aw.ArmWiseTS(scope="shared").choose(X, constraint=sets)
        aw.PC2UCB().choose(X, constraint=sets)
        aw.ArmWiseTS().choose(X, k=3)


def test_slates() -> None:
    policy = aw.Greedy(lam=1.0)
    slate = policy.choose(np.eye(4), k=3, ids=["a", "b", "c", "d"])
    rewards = slate.up_to_click(1, shown=[2, 0, 1])
    assert [rewards[(slate.ids[2], 0)], rewards[(slate.ids[0], 0)]] == [0.0, 1.0]
    assert len(rewards) == 2
    policy.learn(slate, rewards)
    assert policy.count_ == 2
    assert len(slate.up_to_click(None)) == 3
    with pytest.raises(IndexError):
        slate.up_to_click(3)
    seen = slate.examined([1.0, 0.5, 0.25])
    assert np.allclose(seen.features, slate.features * np.array([[1.0], [0.5], [0.25]]))
    for bad in ([1.0, 0.5], [1.0, 0.0, 0.5], [1.0, 1.5, 0.5]):
        with pytest.raises(ValueError, match="probabilit"):
            slate.examined(bad)
