"""Probabilities through Python are those of the library, in the shapes that Python expects."""

from __future__ import annotations

import json

import numpy as np
import pytest

import armwise as aw


def arms(n: int = 60, d: int = 3) -> np.ndarray:
    return np.random.default_rng(5).normal(size=(n, d))


def trained(policy: aw.Policy) -> aw.Policy:
    X = arms()
    return policy.partial_fit(X[:20], X[:20, 0])


def test_the_probabilities_of_all_arms_add_up_to_k() -> None:
    policy = trained(aw.ArmWiseTS(v=0.5))
    found = policy.inclusion(arms(), k=7)
    assert found.method == "exact"
    assert found.standard_errors is None
    assert found.replicates == 0
    assert found.probabilities.shape == (60,)
    assert len(found) == 60
    assert found.probabilities.sum() == pytest.approx(7.0, rel=1e-9)
    assert policy.t_ == trained(aw.ArmWiseTS(v=0.5)).t_, "no round is used up"


def test_a_decision_has_the_probabilities_that_inclusion_gives() -> None:
    policy = trained(aw.ArmWiseTS(v=0.5))
    found = policy.inclusion(arms(), k=7, t=3)
    plain = policy.choose(arms(), k=7, t=3)
    assert plain.method is None
    assert np.isnan(plain.probability).all()
    assert "probability" not in plain.to_json()
    assert "probability" not in plain.to_pandas().columns
    d = policy.choose(arms(), k=7, t=3, probabilities=True)
    assert d.method == "exact"
    assert d.rows.tolist() == plain.rows.tolist()
    np.testing.assert_array_equal(d.probability, found.probabilities[d.rows])
    assert [arm.probability for arm in d] == d.probability.tolist()
    back = aw.Decision.from_json(d.to_json())
    np.testing.assert_array_equal(back.probability, d.probability)
    assert d.to_pandas()["probability"].tolist() == d.probability.tolist()
    for mean, width, pi in zip(d.means, d.widths, d.probability, strict=True):
        assert found.probability(mean, width) == pytest.approx(pi, abs=1e-12)
    assert json.loads(json.dumps(found.laws))[0]["limit"] == "k"


def test_blocks_and_constraints_and_catalogues() -> None:
    policy = aw.ArmWiseTS(v=0.5, blocks=2)
    found = policy.inclusion(arms(), constraint=aw.Assignment(quotas=[5, 3]), replicates=64)
    assert found.method == "critical-value"
    assert found.replicates == 64
    assert found.probabilities.shape == (60, 2)
    assert found.standard_errors is not None
    assert found.standard_errors.shape == (60, 2)
    assert found.probabilities.sum() == pytest.approx(8.0, abs=1.5)
    one = trained(aw.ArmWiseTS(v=0.5))
    whole = one.inclusion(arms(), k=7)
    listed = one.inclusion(aw.Catalogue(arms()), k=7)
    np.testing.assert_array_equal(whole.probabilities, listed.probabilities)
    may = np.arange(60) % 2 == 0
    half = one.inclusion(arms(), k=7, eligible=may)
    assert (half.probabilities[~may] == 0).all()


def test_what_shares_a_draw_is_counted_and_what_draws_nothing_is_certain() -> None:
    shared = trained(aw.RoundWiseTS(v=0.5)).inclusion(arms(), k=7, replicates=50)
    assert (shared.method, shared.replicates) == ("counted", 50)
    certain = trained(aw.C2UCB(alpha=0.5)).inclusion(arms(), k=7)
    assert certain.method == "degenerate"
    assert sorted(set(certain.probabilities.tolist())) == [0.0, 1.0]
    own = trained(aw.ArmWiseTS(v=0.5)).inclusion(
        arms(), constraint=lambda scores: np.argsort(-scores)[:7], replicates=50
    )
    assert own.method == "counted"
    assert own.probabilities.sum() == pytest.approx(7.0)


def test_bad_requests_are_refused() -> None:
    policy = trained(aw.ArmWiseTS(v=0.5))
    with pytest.raises(ValueError, match="replicates"):
        policy.inclusion(arms(), k=7, replicates=0)
    with pytest.raises(aw.InfeasibleError):
        policy.inclusion(arms(), k=61)
